// Tested by tests/contract/claim_test.cc.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "api_sim/objects/schema.h"
#include "api_sim/rules/kind_rules.h"
#include "base/text.h"

namespace galen::api_sim {
namespace {

constexpr std::string_view kImmutable = "field is immutable";

void CheckTaint(const Json& taint, const std::string& path, Faults& faults) {
  const std::string& effect = taint["effect"].AsString();
  if (taint["key"].AsString().empty()) faults.push_back(RequiredFault(Under(path, "key")));
  if (effect.empty()) {
    faults.push_back(RequiredFault(Under(path, "effect")));
    // "None" only informs. Node taints also have PreferNoSchedule, device taints do not.
  } else if (effect != "NoSchedule" && effect != "NoExecute" && effect != "None") {
    faults.push_back(
        NotSupportedFault(Under(path, "effect"), effect, {"NoExecute", "NoSchedule", "None"}));
  }
}

// One entry of spec.devices.requests.
void CheckRequest(const Json& request, const std::string& path, Faults& faults) {
  const std::string& name = request["name"].AsString();
  if (name.empty()) {
    faults.push_back(RequiredFault(Under(path, "name")));
  } else if (!IsDnsLabel(name)) {
    faults.push_back(InvalidFault(Under(path, "name"), name, "must be a DNS label (RFC 1123)"));
  }
  // Both members or neither is a fault, with upstream's two messages.
  const bool exactly = request.Has("exactly");
  if (exactly == !request["firstAvailable"].items().empty()) {
    faults.push_back(exactly ? InvalidFault(path, request,
                                            "exactly one of `exactly` or `firstAvailable` is "
                                            "required, but multiple fields are set")
                             : RequiredFault(path,
                                             "exactly one of `exactly` or `firstAvailable` is "
                                             "required"));
  }
  const auto check_class = [&faults](const Json& part, const std::string& at) {
    if (part["deviceClassName"].AsString().empty()) {
      faults.push_back(RequiredFault(Under(at, "deviceClassName")));
    }
    const std::string& mode = part["allocationMode"].AsString();
    if (mode != "All" && mode != "ExactCount") {
      faults.push_back(NotSupportedFault(Under(at, "allocationMode"), mode, {"All", "ExactCount"}));
    }
  };
  if (exactly) check_class(request["exactly"], Under(path, "exactly"));
  const Json& choices = request["firstAvailable"];
  for (std::size_t i = 0; i < choices.items().size(); ++i) {
    check_class(choices[i], ItemOf(Under(path, "firstAvailable"), i));
  }
}

void StampTaint(Json& taint, WallTime now) {
  if (taint.is_object() && !taint.Has("timeAdded")) taint["timeAdded"] = FormatRfc3339(now);
}

// status.devices may name only allocated devices.
void CheckDeviceStatuses(const Json& status, Faults& faults) {
  const auto id_of = [](const Json& device) {
    return fmt::format("{}/{}/{}/{}", device["driver"].AsString(), device["pool"].AsString(),
                       device["device"].AsString(), device["shareID"].AsString());
  };
  // A device may be allocated several times with different shareIDs (KEP-5075), so the shareID is
  // part of a device's identity.
  std::set<std::string> allocated;
  for (const Json& result : status["allocation"]["devices"]["results"].items()) {
    allocated.insert(id_of(result));
  }
  for (std::size_t i = 0; i < status["devices"].items().size(); ++i) {
    if (allocated.contains(id_of(status["devices"][i]))) continue;
    faults.push_back(InvalidFault(ItemOf("status.devices", i), status["devices"][i],
                                  "must be an allocated device in the claim"));
  }
}

}  // namespace

void StampRuleTaint(Json& rule, WallTime now) {
  if (std::as_const(rule)["spec"].Has("taint")) StampTaint(rule["spec"]["taint"], now);
}

void StampSliceTaints(Json& slice, WallTime now) {
  if (!std::as_const(slice)["spec"].Has("devices")) return;
  for (Json& device : slice["spec"]["devices"].MutableItems()) {
    if (!device.Has("taints")) continue;
    for (Json& taint : device["taints"].MutableItems()) StampTaint(taint, now);
  }
}

void FillRequestCounts(Json& claim_spec) {
  const auto fill = [](Json& part) {
    const std::string& mode = std::as_const(part)["allocationMode"].AsString();
    if (mode == "ExactCount" && !part.Has("count")) part["count"] = 1;
  };
  if (!claim_spec.is_object()) claim_spec = Json::MakeObject({});
  if (!std::as_const(claim_spec)["devices"].Has("requests")) return;
  for (Json& request : claim_spec["devices"]["requests"].MutableItems()) {
    if (request.Has("exactly")) fill(request["exactly"]);
    if (!request.Has("firstAvailable")) continue;
    for (Json& choice : request["firstAvailable"].MutableItems()) fill(choice);
  }
}

Faults CheckClaimSpec(const Json& spec, const std::string& path) {
  Faults faults;
  const std::string at = Under(path, "devices.requests");
  const Json& requests = spec["devices"]["requests"];
  if (requests.items().size() > kRequestsMax) {
    faults.push_back(TooManyFault(at, requests.items().size(), kRequestsMax));
  }
  std::set<std::string> names;
  for (std::size_t i = 0; i < requests.items().size(); ++i) {
    CheckRequest(requests[i], ItemOf(at, i), faults);
    if (!names.insert(requests[i]["name"].AsString()).second) {
      faults.push_back(DuplicateFault(Under(ItemOf(at, i), "name"), requests[i]["name"]));
    }
  }
  return faults;
}

Faults CheckClaimChange(const Json& before, const Json& after) {
  Faults faults;
  if (before["spec"] != after["spec"]) {
    faults.push_back(InvalidFault("spec", after["spec"], kImmutable));
  }
  const Json& old = before["status"]["allocation"];
  const Json& now = after["status"]["allocation"];
  // Setting and removing an allocation is the scheduler's and the claim controller's work; both are
  // allowed.
  if (!old.is_null() && !now.is_null() && old != now) {
    faults.push_back(InvalidFault("status.allocation", now, kImmutable));
  }
  const std::size_t reserved = after["status"]["reservedFor"].items().size();
  if (reserved > kReservedForMax) {
    faults.push_back(TooManyFault("status.reservedFor", reserved, kReservedForMax));
  }
  if (reserved > 0 && now.is_null()) {
    faults.push_back(
        ForbiddenFault("status.reservedFor", "may not be specified when `allocated` is not set"));
  }
  if (before["status"]["devices"] != after["status"]["devices"]) {
    CheckDeviceStatuses(after["status"], faults);
  }
  return faults;
}

Faults CheckSlice(const Json& slice) {
  Faults faults;
  const Json& spec = slice["spec"];
  if (spec["driver"].AsString().empty()) faults.push_back(RequiredFault("spec.driver"));
  if (spec["pool"]["name"].AsString().empty()) faults.push_back(RequiredFault("spec.pool.name"));
  if (spec["pool"]["resourceSliceCount"].AsInt() < 1) {
    faults.push_back(InvalidFault("spec.pool.resourceSliceCount",
                                  spec["pool"]["resourceSliceCount"], "must be greater than zero"));
  }
  // Exactly one member says who can use the devices: a node, a selector, all nodes, or each device.
  const int places = int{spec.Has("nodeName")} + int{spec.Has("nodeSelector")} +
                     int{spec["allNodes"].AsBool()} + int{spec["perDeviceNodeSelection"].AsBool()};
  if (places != 1) {
    faults.push_back(InvalidFault("spec", Json::MakeObject({}),
                                  "exactly one of `nodeName`, `nodeSelector`, `allNodes`, "
                                  "`perDeviceNodeSelection` is required"));
  }
  const Json& devices = spec["devices"];
  const bool tainted = std::any_of(devices.items().begin(), devices.items().end(), [](auto& d) {
    return d.Has("taints") || d.Has("consumesCounters");
  });
  const std::size_t most = tainted ? kTaintedDevicesPerSliceMax : kDevicesPerSliceMax;
  if (devices.items().size() > most) {
    faults.push_back(TooManyFault("spec.devices", devices.items().size(), most));
  }
  std::set<std::string> names;
  for (std::size_t i = 0; i < devices.items().size(); ++i) {
    const std::string path = ItemOf("spec.devices", i);
    const std::string& name = devices[i]["name"].AsString();
    if (!IsDnsLabel(name)) {
      faults.push_back(InvalidFault(Under(path, "name"), name, "must be a DNS label (RFC 1123)"));
    }
    if (!names.insert(name).second) faults.push_back(DuplicateFault(Under(path, "name"), name));
    for (std::size_t t = 0; t < devices[i]["taints"].items().size(); ++t) {
      CheckTaint(devices[i]["taints"][t], ItemOf(Under(path, "taints"), t), faults);
    }
  }
  return faults;
}

Faults CheckSliceChange(const Json& before, const Json& after) {
  Faults faults;
  const Json& old = before["spec"];
  const Json& now = after["spec"];
  if (old["driver"] != now["driver"]) {
    faults.push_back(InvalidFault("spec.driver", now["driver"], kImmutable));
  }
  if (old["pool"]["name"] != now["pool"]["name"]) {
    faults.push_back(InvalidFault("spec.pool.name", now["pool"]["name"], kImmutable));
  }
  if (old["nodeName"] != now["nodeName"]) {
    faults.push_back(InvalidFault("spec.nodeName", now["nodeName"], kImmutable));
  }
  return faults;
}

Faults CheckTaintRule(const Json& rule) {
  Faults faults;
  CheckTaint(rule["spec"]["taint"], "spec.taint", faults);
  return faults;
}

}  // namespace galen::api_sim
