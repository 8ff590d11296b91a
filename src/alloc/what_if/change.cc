#include "alloc/what_if/change.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace galen::alloc {
namespace {

constexpr const char* kQuarantineKey = "galen.dev/quarantine";

DeviceId IdOf(const TaintRule& rule) {
  return {rule.driver.value_or(""), rule.pool.value_or(""), rule.device.value_or("")};
}

// A pool's name may hold slashes; a driver's and a device's cannot.
StatusOr<Change> ParseQuarantine(std::string_view value) {
  const std::size_t first = value.find('/');
  const std::size_t last = value.rfind('/');
  if (first == std::string_view::npos || first == last) {
    return InvalidArgument("'{}' is no device: write DRIVER/POOL/DEVICE", value);
  }
  const DeviceId id{std::string(value.substr(0, first)),
                    std::string(value.substr(first + 1, last - first - 1)),
                    std::string(value.substr(last + 1))};
  RETURN_IF_ERROR(Validate(id));
  return Change(Quarantine{.rule = {.name = "what-if",
                                    .has_selector = true,
                                    .driver = id.driver,
                                    .pool = id.pool,
                                    .device = id.device,
                                    .taint = {.key = kQuarantineKey,
                                              .value = "",
                                              .effect = TaintEffect::kNoExecute,
                                              .added = std::nullopt}}});
}

StatusOr<Change> ParseDelete(std::string_view value) {
  const std::size_t slash = value.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == value.size()) {
    return InvalidArgument("'{}' is no Pod: write NAMESPACE/NAME", value);
  }
  return Change(DeletePod{
      .pod = {std::string(value.substr(0, slash)), std::string(value.substr(slash + 1))}});
}

class Applier {
 public:
  explicit Applier(const Picture& picture) : changed_{.picture = picture, .victims = {}} {}

  Status operator()(const Quarantine& quarantine) {
    const auto& slices = changed_.picture.slices;
    const bool known = std::any_of(slices.begin(), slices.end(), [&](const ResourceSlice& slice) {
      return SelectsFrom(quarantine.rule, slice) &&
             std::any_of(slice.devices.begin(), slice.devices.end(), [&](const Device& device) {
               return device.name == quarantine.rule.device;
             });
    });
    if (!known) {
      return NotFound("no ResourceSlice has the device {}", ToString(IdOf(quarantine.rule)));
    }
    changed_.picture.rules.push_back(quarantine.rule);
    MakeVictims([&](const AllocatedDevice& device) {
      return device.id == IdOf(quarantine.rule) &&
             std::none_of(device.tolerations.begin(), device.tolerations.end(),
                          [&](const DeviceToleration& one) {
                            return Tolerates(one, quarantine.rule.taint);
                          });
    });
    return OkStatus();
  }

  Status operator()(const Drain& drain) {
    NodeState* node = NodeNamed(drain.node);
    if (node == nullptr) return NotFound("there is no node {}", drain.node);
    node->cordoned = true;
    const std::set<DeviceId> local = DevicesOf(drain.node);
    MakeVictims([&](const AllocatedDevice& device) { return local.contains(device.id); });
    return OkStatus();
  }

  Status operator()(const DeletePod& gone) {
    bool found = false;
    for (HeldClaim& held : changed_.picture.held) {
      if (std::erase(held.pods, gone.pod) == 0) continue;
      found = true;
      // Claims that nobody uses any more give their devices back.
      if (held.pods.empty()) held.allocation.devices.clear();
    }
    if (!found) {
      return NotFound("no claim with devices is reserved for Pod {}", ToString(gone.pod));
    }
    return OkStatus();
  }

  Status operator()(const AddNode& added) {
    const NodeState* like = NodeNamed(added.like);
    if (like == nullptr) return NotFound("there is no node {}", added.like);
    NodeState copy = *like;
    const std::string suffix = FreeSuffix(added.like);
    copy.node.name = added.like + suffix;
    const auto hostname = copy.node.labels.find("kubernetes.io/hostname");
    if (hostname != copy.node.labels.end()) hostname->second = copy.node.name;
    copy.ready = true;
    copy.cordoned = false;
    const std::vector<ResourceSlice> slices = changed_.picture.slices;
    for (const ResourceSlice& slice : slices) {
      if (slice.nodes.node != added.like) continue;
      ResourceSlice more = slice;
      more.name += suffix;
      more.pool += suffix;
      more.nodes.node = copy.node.name;
      changed_.picture.slices.push_back(std::move(more));
    }
    changed_.picture.nodes.push_back(std::move(copy));
    return OkStatus();
  }

  Changed Take() && { return std::move(changed_); }

 private:
  NodeState* NodeNamed(const std::string& name) {
    auto& nodes = changed_.picture.nodes;
    const auto found = std::find_if(nodes.begin(), nodes.end(),
                                    [&](const NodeState& node) { return node.node.name == name; });
    return found == nodes.end() ? nullptr : &*found;
  }
  // What makes a name that no node has yet.
  std::string FreeSuffix(const std::string& node) {
    std::string suffix = "-more";
    for (int number = 2; NodeNamed(node + suffix) != nullptr; ++number) {
      suffix = fmt::format("-more-{}", number);
    }
    return suffix;
  }
  std::set<DeviceId> DevicesOf(const std::string& node) const {
    std::set<DeviceId> devices;
    for (const ResourceSlice& slice : changed_.picture.slices) {
      for (const Device& device : slice.devices) {
        if (slice.nodes.node == node || device.nodes.node == node) {
          devices.insert({slice.driver, slice.pool, device.name});
        }
      }
    }
    return devices;
  }
  template <typename Loses>
  void MakeVictims(Loses loses) {
    for (std::size_t i = 0; i < changed_.picture.held.size(); ++i) {
      const auto& devices = changed_.picture.held[i].allocation.devices;
      const bool known =
          std::find(changed_.victims.begin(), changed_.victims.end(), i) != changed_.victims.end();
      if (!known && std::any_of(devices.begin(), devices.end(), loses)) {
        changed_.victims.push_back(i);
      }
    }
  }

  Changed changed_;
};

}  // namespace

StatusOr<Change> ParseChange(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view what = text.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1);
  if (!value.empty()) {
    if (what == "quarantine") return ParseQuarantine(value);
    if (what == "delete") return ParseDelete(value);
    if (what == "drain") return Change(Drain{.node = std::string(value)});
    if (what == "add-node") return Change(AddNode{.like = std::string(value)});
  }
  return InvalidArgument(
      "'{}' is no change: write quarantine=DRIVER/POOL/DEVICE, drain=NODE, delete=NAMESPACE/POD or "
      "add-node=NODE",
      text);
}

std::string ToString(const Change& change) {
  struct Text {
    std::string operator()(const Quarantine& quarantine) const {
      return fmt::format("device {} is quarantined", ToString(IdOf(quarantine.rule)));
    }
    std::string operator()(const Drain& drain) const {
      return fmt::format("node {} is drained", drain.node);
    }
    std::string operator()(const DeletePod& gone) const {
      return fmt::format("Pod {} is deleted", ToString(gone.pod));
    }
    std::string operator()(const AddNode& added) const {
      return fmt::format("a node like {} is added", added.like);
    }
  };
  return std::visit(Text(), change);
}

StatusOr<Changed> Apply(const std::vector<Change>& changes, const Picture& picture) {
  Applier applier(picture);
  for (const Change& change : changes) RETURN_IF_ERROR(std::visit(applier, change));
  return std::move(applier).Take();
}

}  // namespace galen::alloc
