// A kubelet's answer about its Pods by the Pod resources API (v1.PodResourcesLister, List): which
// devices of device plugins, and which of claims, each container has. Values, read within bounds.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "agent/holdings/claim_index.h"
#include "base/status.h"
#include "model/claim.h"

namespace galen::agent {

// A Pod without any device is left out.
struct PodResources {
  // A device that a device plugin gave to a container.
  struct PluginDevice {
    std::string container;
    DeviceId device;  // of the node that was read for
    auto operator<=>(const PluginDevice&) const = default;
  };
  // A device that a container has by a claim.
  struct ClaimDevice {
    ObjectKey claim;
    DeviceId device;
    std::string share_id;
    auto operator<=>(const ClaimDevice&) const = default;
  };
  ObjectKey pod;  // the API gives no UID
  std::vector<PluginDevice> plugin_devices;
  // In order, each once.
  std::vector<ClaimDevice> claim_devices;
  bool operator==(const PodResources&) const = default;
};

// All that one answer says, and how much of it could not be used.
struct PodResourcesAnswer {
  // Pods of an answer that are read; further ones are left out. A kubelet runs 110 by default.
  static constexpr std::size_t kPodsMax = 4096;

  std::vector<PodResources> pods;
  // What could not be used in one place.
  struct Fault {
    std::string where;  // "Pod default/a, container main, resource nvidia.com/gpu"
    std::string why;    // of the first there
  };
  // Further faults are only counted.
  static constexpr std::size_t kFaultsMax = 64;

  // How many Pods and devices were left out, for a bound or an invalid name, and where, each place
  // once.
  std::size_t left_out = 0;
  std::vector<Fault> faults;
};

// A ListPodResourcesResponse; of a Pod at most ClaimIndex::kDevicesPerPodMax devices of each kind.
// InvalidArgument for bytes that are no such message. Pure.
StatusOr<PodResourcesAnswer> DecodePodResources(std::string_view response, const std::string& node);

}  // namespace galen::agent
