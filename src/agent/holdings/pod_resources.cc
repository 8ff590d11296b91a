#include "agent/holdings/pod_resources.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "model/plugin_resource.h"
#include "protos/podresources/v1/podresources.pb.h"
#include "rpc/typed.h"

namespace galen::agent {
namespace {

// Kubernetes' names are no longer (a DNS subdomain), and a share's is a UID.
constexpr std::size_t kShareIdBytesMax = 63;
// An invalid name is shown in messages up to this length.
constexpr std::size_t kNameShownBytesMax = 80;

// Reads one answer; what cannot be used is counted and never an error: one plugin with odd names
// must not hide all other devices.
class Reader {
 public:
  Reader(const std::string& node, PodResourcesAnswer& answer) : node_(node), answer_(answer) {}

  void Read(const ::v1::PodResources& said) {
    PodResources pod{.pod = {said.namespace_(), said.name()}};
    if (!IsDnsLabel(pod.pod.ns) || !IsDnsSubdomain(pod.pod.name)) {
      return LeaveOut("Pod \"" + Shown(said.namespace_(), kNameShownBytesMax) + "/" +
                          Shown(said.name(), kNameShownBytesMax) + "\"",
                      "it is no valid namespace and name of a Pod");
    }
    for (const ::v1::ContainerResources& container : said.containers()) {
      for (const auto& devices : container.devices()) ReadDevices(container.name(), devices, pod);
      for (const auto& claim : container.dynamic_resources()) {
        ReadClaim(container.name(), claim, pod);
      }
    }
    std::ranges::sort(pod.claim_devices);
    const auto twice = std::ranges::unique(pod.claim_devices);
    pod.claim_devices.erase(twice.begin(), twice.end());
    if (pod.plugin_devices.empty() && pod.claim_devices.empty()) return;
    if (answer_.pods.size() >= PodResourcesAnswer::kPodsMax) {
      return LeaveOut("the answer",
                      "there are more than " + Counted(PodResourcesAnswer::kPodsMax, "Pod"));
    }
    answer_.pods.push_back(std::move(pod));
  }

 private:
  void ReadDevices(const std::string& container, const ::v1::ContainerDevices& said,
                   PodResources& pod) {
    for (int i = 0; i < said.device_ids_size(); ++i) {
      if (pod.plugin_devices.size() >= ClaimIndex::kDevicesPerPodMax) {
        const auto rest = static_cast<std::size_t>(said.device_ids_size() - i);
        return LeaveOut(Where(pod, container, "resource", said.resource_name()),
                        "the Pod has too many devices", rest);
      }
      const DeviceId id{said.resource_name(), node_, said.device_ids(i)};
      // A name without a domain would be a driver's; a plugin's resource has one.
      const Status valid = IsPluginResource(id.driver)
                               ? Validate(id)
                               : InvalidArgument("resource \"{}\" has no domain",
                                                 Shown(id.driver, kNameShownBytesMax));
      if (!valid.ok() || !IsDnsLabel(container)) {
        LeaveOut(Where(pod, container, "resource", id.driver),
                 valid.ok() ? "the container's name is not valid" : valid.message());
      } else {
        pod.plugin_devices.push_back({container, id});
      }
    }
  }

  void ReadClaim(const std::string& container, const ::v1::DynamicResource& said,
                 PodResources& pod) {
    const ObjectKey claim{said.claim_namespace(), said.claim_name()};
    const auto leave_out = [&](const std::string& why) {
      LeaveOut(Where(pod, container, "claim", claim.name), why);
    };
    for (const ::v1::ClaimResource& resource : said.claim_resources()) {
      const DeviceId id{resource.driver_name(), resource.pool_name(), resource.device_name()};
      // A plugin's resource name would pass as a device's driver, but no driver is named like that.
      const Status valid = IsPluginResource(id.driver)
                               ? InvalidArgument("driver \"{}\" is no valid driver name",
                                                 Shown(id.driver, kNameShownBytesMax))
                               : Validate(id);
      if (!valid.ok() || !IsDnsLabel(claim.ns) || !IsDnsSubdomain(claim.name) ||
          resource.share_id().size() > kShareIdBytesMax) {
        leave_out(valid.ok() ? "the claim's name or share id is not valid" : valid.message());
      } else if (pod.claim_devices.size() >= ClaimIndex::kDevicesPerPodMax) {
        leave_out("the Pod has too many devices by claims");
      } else {
        pod.claim_devices.push_back({claim, id, resource.share_id()});
      }
    }
  }

  // Names from the kubelet may contain anything here.
  static std::string Where(const PodResources& pod, const std::string& container,
                           const std::string& kind, const std::string& name) {
    return "Pod " + ToString(pod.pod) + ", container " + Shown(container, kNameShownBytesMax) +
           ", " + kind + " " + Shown(name, kNameShownBytesMax);
  }

  void LeaveOut(const std::string& where, const std::string& why, std::size_t count = 1) {
    answer_.left_out += count;
    if (answer_.faults.size() >= PodResourcesAnswer::kFaultsMax) return;
    const bool known =
        std::ranges::count(answer_.faults, where, &PodResourcesAnswer::Fault::where) > 0;
    if (!known) answer_.faults.push_back({where, why});
  }

  const std::string& node_;
  PodResourcesAnswer& answer_;
};

}  // namespace

StatusOr<PodResourcesAnswer> DecodePodResources(std::string_view response,
                                                const std::string& node) {
  ASSIGN_OR_RETURN(const auto said, rpc::Decode<::v1::ListPodResourcesResponse>(response));
  PodResourcesAnswer answer;
  Reader reader(node, answer);
  for (const ::v1::PodResources& pod : said.pod_resources()) reader.Read(pod);
  return answer;
}

}  // namespace galen::agent
