#include "sdk/inventory.h"

#include <fmt/format.h>

#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "sdk/quantity.h"

namespace galen::sdk {
namespace {

// A person reads no more; the first ones show what is wrong.
constexpr std::size_t kFaultsShownMax = 20;

// In the C locale, which nothing here changes, these are ASCII's letters and digits, as in
// Kubernetes.
bool IsNameStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool IsNamePart(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// [domain/]identifier: a C identifier of at most 32 characters below a DNS subdomain of at most 63
// (QualifiedName of resource.k8s.io/v1).
bool IsQualifiedName(std::string_view name) {
  const std::size_t slash = name.find('/');
  std::string_view id = name;
  if (slash != std::string_view::npos) {
    if (slash > 63 || !IsDnsSubdomain(name.substr(0, slash))) return false;
    id = name.substr(slash + 1);
  }
  if (id.empty() || id.size() > 32 || !IsNameStart(id.front())) return false;
  return std::all_of(id.begin(), id.end(), IsNamePart);
}

// Like a label's name and value: letters, digits, "-", "_", ".", both ends alphanumeric, at
// most 63.
bool IsLabelPart(std::string_view text) {
  const auto alphanumeric = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  if (text.empty() || text.size() > 63) return false;
  if (!alphanumeric(text.front()) || !alphanumeric(text.back())) return false;
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return alphanumeric(c) || c == '-' || c == '_' || c == '.'; });
}

bool IsTaintKey(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return IsLabelPart(key);
  return IsDnsSubdomain(key.substr(0, slash)) && IsLabelPart(key.substr(slash + 1));
}

// Numbers and booleans have no bound of this kind.
std::size_t TextSize(const Attribute& attribute) {
  if (const auto* text = std::get_if<std::string>(&attribute)) return text->size();
  if (const auto* version = std::get_if<VersionAttribute>(&attribute)) return version->text.size();
  return 0;
}

// Collects faults; those beyond the limit are only counted.
class Faults {
 public:
  template <typename... Args>
  void Add(fmt::format_string<Args...> format, Args&&... args) {
    if (++count_ > kFaultsShownMax) return;
    if (!text_.empty()) text_ += "; ";
    text_ += fmt::format(format, std::forward<Args>(args)...);
  }
  Status Result() const {
    if (count_ == 0) return OkStatus();
    if (count_ <= kFaultsShownMax) return InvalidArgument("{}", text_);
    return InvalidArgument("{}; and {} more faults", text_, count_ - kFaultsShownMax);
  }

 private:
  std::size_t count_ = 0;
  std::string text_;
};

void CheckTaints(const Device& device, Faults& faults) {
  if (device.taints.size() > kTaintsMax) {
    faults.Add("device {}: {} taints, at most {} are allowed", device.name, device.taints.size(),
               kTaintsMax);
  }
  if (device.offered == Device::Offered::kWhereTaintsCount && device.taints.empty()) {
    faults.Add("device {}: is to be offered only where taints are kept, but has no taints",
               device.name);
  }
  for (const Taint& taint : device.taints) {
    if (!IsTaintKey(taint.key)) {
      faults.Add("device {}: taint key \"{}\" is not of the form example.com/name", device.name,
                 Printable(taint.key));
    }
    if (!IsTaintValue(taint.value)) {
      faults.Add("device {}: taint value \"{}\" is no label value", device.name,
                 Printable(taint.value));
    }
  }
}

void CheckAttributes(const Device& device, Faults& faults) {
  for (const auto& [name, value] : device.attributes) {
    if (!IsQualifiedName(name)) {
      faults.Add("device {}: attribute \"{}\" is no name like \"model\" or \"example.com/model\"",
                 device.name, Printable(name));
    }
    if (TextSize(value) > kAttributeTextMax) {
      faults.Add("device {}: attribute {} has {} bytes, at most {} are allowed", device.name, name,
                 TextSize(value), kAttributeTextMax);
    }
  }
  for (const auto& [name, quantity] : device.capacity) {
    if (!IsQualifiedName(name)) {
      faults.Add("device {}: capacity \"{}\" is no name like \"memory\"", device.name,
                 Printable(name));
    }
    if (!IsQuantity(quantity)) {
      faults.Add("device {}: capacity {} is \"{}\", which is no quantity like 16Gi", device.name,
                 name, Printable(CutText(quantity, kAttributeTextMax)));
    }
  }
  const std::size_t both = device.attributes.size() + device.capacity.size();
  if (both > kAttributesAndCapacitiesMax) {
    faults.Add("device {}: {} attributes and capacities, at most {} are allowed", device.name, both,
               kAttributesAndCapacitiesMax);
  }
}

kube::AttributeValue ToValue(const Attribute& attribute) {
  if (const auto* flag = std::get_if<bool>(&attribute)) return *flag;
  if (const auto* number = std::get_if<std::int64_t>(&attribute)) return *number;
  if (const auto* text = std::get_if<std::string>(&attribute)) return *text;
  return kube::Version{std::get<VersionAttribute>(attribute).text};
}

DeviceTaint ToTaint(const Taint& taint) {
  const bool evicts = taint.effect == Taint::Effect::kNoExecute;
  return {.key = taint.key,
          .value = taint.value,
          .effect = evicts ? TaintEffect::kNoExecute : TaintEffect::kNoSchedule,
          .added = std::nullopt};
}

}  // namespace

bool IsTaintValue(std::string_view value) { return value.empty() || IsLabelPart(value); }

Status ValidateInventory(const Inventory& inventory) {
  Faults faults;
  if (inventory.size() > kDevicesMax) {
    faults.Add("{} devices, at most {} are allowed", inventory.size(), kDevicesMax);
  }
  std::set<std::string_view> names;
  for (const Device& device : inventory) {
    if (!IsDnsLabel(device.name)) {
      faults.Add("device name \"{}\" is no DNS label (a-z, 0-9, \"-\", at most 63)",
                 Printable(CutText(device.name, 80)));
      // Only for valid names: an invalid one that is listed twice is one fault.
    } else if (!names.insert(device.name).second) {
      faults.Add("device {} is listed twice", device.name);
    }
    CheckAttributes(device, faults);
    CheckTaints(device, faults);
  }
  return Annotate(faults.Result(), "inventory");
}

kube::SliceDevice ToSliceDevice(const Device& device) {
  kube::SliceDevice out{.name = device.name,
                        .attributes = {},
                        .capacity = device.capacity,
                        .taints = {},
                        .allow_multiple_allocations = device.allow_multiple_allocations};
  for (const auto& [name, value] : device.attributes) out.attributes.emplace(name, ToValue(value));
  for (const Taint& taint : device.taints) out.taints.push_back(ToTaint(taint));
  return out;
}

}  // namespace galen::sdk
