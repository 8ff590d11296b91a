#include "doctor/expectations.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>

#include "base/data/yaml.h"
#include "base/text.h"

namespace galen::doctor {
namespace {

// OK when a row has no other members than these.
Status CheckMembers(const Json& row, std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : row.members()) {
    if (std::ranges::find(known, name) != known.end()) continue;
    return InvalidArgument("'{}' is none of {}", Shown(name), fmt::join(known, ", "));
  }
  return OkStatus();
}

// Texts of a list; numbers such as 1.10 would lose digits, so they are refused.
StatusOr<std::vector<std::string>> Texts(const Json& row, const char* name) {
  RETURN_IF_ERROR(CheckList(row, name));
  std::vector<std::string> texts;
  for (const Json& item : row[name].items()) {
    if (item.AsString().empty()) {
      return InvalidArgument("{} has an item that is no text: put it in quotes", name);
    }
    texts.push_back(item.AsString());
  }
  return texts;
}

// "10de:2330".
bool IsPciKind(std::string_view text) {
  if (text.size() != 9 || text[4] != ':') return false;
  return std::ranges::all_of(
      text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == ':'; });
}

StatusOr<ExpectedDevices> ReadDevices(const Json& row) {
  RETURN_IF_ERROR(CheckMembers(row, {"model", "driver", "pci", "addresses", "count"}));
  ExpectedDevices devices{.model = row["model"].AsString(),
                          .driver = row["driver"].AsString(),
                          .pci = row["pci"].AsString(),
                          .count = row["count"].AsInt()};
  ASSIGN_OR_RETURN(devices.addresses, Texts(row, "addresses"));
  if (devices.model.empty() == devices.pci.empty()) {
    return InvalidArgument("needs one of model and pci");
  }
  if (!devices.pci.empty() && !IsPciKind(devices.pci)) {
    return InvalidArgument("pci is not like \"10de:2330\", in small letters");
  }
  if (devices.count < 1) return InvalidArgument("needs count, 1 or more");
  return devices;
}

StatusOr<ExpectedFirmware> ReadFirmware(const Json& row) {
  RETURN_IF_ERROR(CheckMembers(row, {"files", "driver", "attribute", "versions"}));
  ExpectedFirmware firmware{.files = row["files"].AsString(),
                            .driver = row["driver"].AsString(),
                            .attribute = row["attribute"].AsString()};
  ASSIGN_OR_RETURN(firmware.versions, Texts(row, "versions"));
  if (firmware.files.empty() == firmware.attribute.empty()) {
    return InvalidArgument("needs one of files and attribute");
  }
  if (!firmware.attribute.empty() && firmware.driver.empty()) {
    return InvalidArgument("needs driver beside attribute");
  }
  if (firmware.files.starts_with('/') || firmware.files.find("..") != std::string::npos) {
    return InvalidArgument("files is not a path below /sys like class/nvme/nvme*/firmware_rev");
  }
  if (firmware.versions.empty()) return InvalidArgument("needs versions, a list of texts");
  return firmware;
}

template <typename T, typename Read>
Status ReadRows(const Json& document, const char* list, Read read, std::vector<T>& rows) {
  RETURN_IF_ERROR(CheckList(document, list));
  for (const Json& row : document[list].items()) {
    if (rows.size() >= kExpectationsMax) {
      return InvalidArgument("{} has more than {} rows", list, kExpectationsMax);
    }
    StatusOr<T> one = read(row);
    if (!one.ok()) return Annotate(one.status(), "{}[{}]", list, rows.size());
    rows.push_back(*std::move(one));
  }
  return OkStatus();
}

}  // namespace

Status CheckList(const Json& row, const char* name) {
  if (!row.Has(name) || row[name].is_array()) return OkStatus();
  return InvalidArgument("{} is no list: begin each of its items with \"- \"", name);
}

StatusOr<Expectations> ReadExpectations(std::string_view text) {
  if (text.size() > kExpectationBytesMax) {
    return InvalidArgument("is larger than {} bytes", kExpectationBytesMax);
  }
  ASSIGN_OR_RETURN(const Json document, ParseYaml(text));
  RETURN_IF_ERROR(CheckMembers(document, {"devices", "firmware"}));
  Expectations expectations;
  RETURN_IF_ERROR(ReadRows(document, "devices", ReadDevices, expectations.devices));
  RETURN_IF_ERROR(ReadRows(document, "firmware", ReadFirmware, expectations.firmware));
  if (expectations.devices.empty() && expectations.firmware.empty()) {
    return InvalidArgument("expects nothing: it has neither devices nor firmware");
  }
  return expectations;
}

}  // namespace galen::doctor
