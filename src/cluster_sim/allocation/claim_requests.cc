#include "cluster_sim/allocation/claim_requests.h"

#include "base/text.h"

namespace galen::cluster_sim {
namespace {

// Enough to recognise an expression; the whole may be 10 KiB.
constexpr std::size_t kExpressionShownMax = 80;

// Removes `token` and the spaces after it from the front; false when something else is there.
bool Skip(std::string_view& text, std::string_view token) {
  if (!text.starts_with(token)) return false;
  text = Trimmed(text.substr(token.size()));
  return true;
}

// Adds the driver of each selector in `selectors`.
Status AddDrivers(const Json& selectors, std::vector<std::string>& drivers) {
  for (const Json& selector : selectors.items()) {
    ASSIGN_OR_RETURN(std::string driver, SelectedDriver(selector["cel"]["expression"].AsString()));
    drivers.push_back(std::move(driver));
  }
  return OkStatus();
}

StatusOr<DeviceWish> ReadWish(const std::string& name, const Json& wish,
                              const std::map<ObjectKey, Json>& classes) {
  const std::string& class_name = wish["deviceClassName"].AsString();
  const auto device_class = classes.find({"", class_name});
  if (device_class == classes.end()) {
    return FailedPrecondition("request {}: there is no DeviceClass {}", name, class_name);
  }
  // Refused rather than ignored: a claim that asks for capacity could get devices that lack it.
  if (!wish["capacity"].is_null()) {
    return InvalidArgument("request {}: galen-sim's scheduler does not allocate by capacity", name);
  }
  DeviceWish read{.request = name,
                  .device_class = class_name,
                  .drivers = {},
                  .all = wish["allocationMode"].AsString() == "All",
                  .count = wish["count"].AsInt(1),
                  .admin_access = wish["adminAccess"].AsBool(),
                  .tolerations = ReadTolerations(wish["tolerations"]),
                  .class_config = device_class->second["spec"]["config"]};
  // Selectors of class and request hold together; two that name different drivers fit no device.
  RETURN_IF_ERROR(Annotate(AddDrivers(device_class->second["spec"]["selectors"], read.drivers),
                           "device class {}", class_name));
  RETURN_IF_ERROR(Annotate(AddDrivers(wish["selectors"], read.drivers), "request {}", name));
  return read;
}

StatusOr<DeviceRequest> ReadRequest(const Json& request, const std::map<ObjectKey, Json>& classes) {
  DeviceRequest read{.name = request["name"].AsString(), .wishes = {}};
  if (request["exactly"].is_object()) {
    ASSIGN_OR_RETURN(DeviceWish wish, ReadWish(read.name, request["exactly"], classes));
    read.wishes.push_back(std::move(wish));
  }
  for (const Json& alternative : request["firstAvailable"].items()) {
    // How results and Pods' containers name an alternative (KEP-4816).
    const std::string name = read.name + "/" + alternative["name"].AsString();
    ASSIGN_OR_RETURN(DeviceWish wish, ReadWish(name, alternative, classes));
    read.wishes.push_back(std::move(wish));
  }
  if (read.wishes.empty()) {
    return InvalidArgument("request {}: has neither exactly nor firstAvailable", read.name);
  }
  return read;
}

}  // namespace

StatusOr<std::string> SelectedDriver(std::string_view expression) {
  // The one error for every unsupported expression.
  const Status refused = InvalidArgument(
      "galen-sim's scheduler does not allocate by the CEL expression \"{}\": it supports only "
      "device.driver == \"name\"",
      Printable(CutText(expression, kExpressionShownMax)));
  std::string_view rest = Trimmed(expression);
  // CEL allows spaces between any two of these.
  if (!Skip(rest, "device") || !Skip(rest, ".") || !Skip(rest, "driver") || !Skip(rest, "==")) {
    return refused;
  }
  if (rest.size() < 2 || (rest.front() != '"' && rest.front() != '\'')) return refused;
  if (rest.back() != rest.front()) return refused;
  const std::string_view name = rest.substr(1, rest.size() - 2);
  // A driver's name is a DNS subdomain, so nothing in it can end the string early.
  if (!IsDnsSubdomain(name)) return refused;
  return std::string(name);
}

StatusOr<ClaimRequests> ReadClaimRequests(const Json& claim,
                                          const std::map<ObjectKey, Json>& classes) {
  const Json& devices = claim["spec"]["devices"];
  if (!devices["constraints"].items().empty()) {
    return InvalidArgument("galen-sim's scheduler does not allocate by constraints");
  }
  ClaimRequests read{.requests = {}, .config = devices["config"]};
  for (const Json& request : devices["requests"].items()) {
    ASSIGN_OR_RETURN(DeviceRequest one, ReadRequest(request, classes));
    read.requests.push_back(std::move(one));
  }
  return read;
}

}  // namespace galen::cluster_sim
