#include "agent/manager/pod_resources_service.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/text.h"
#include "protos/podresources/v1/podresources.pb.h"
#include "rpc/typed.h"

namespace galen::agent {

struct PodResourcesService::Wire {
  // A kubelet lists the containers that run side by side.
  static bool IsListed(const kube::Container& container) {
    return container.kind == kube::Container::Kind::kMain ||
           container.kind == kube::Container::Kind::kSidecar;
  }

  static void PutDevice(const HeldDevice& held, ::v1::DynamicResource& out) {
    ::v1::ClaimResource& resource = *out.add_claim_resources();
    resource.set_driver_name(held.device.driver);
    resource.set_pool_name(held.device.pool);
    resource.set_device_name(held.device.device);
    if (!held.share_id.empty()) resource.set_share_id(held.share_id);
    // Without a CDI id its name is the device's.
    if (held.resource_id != ToString(held.device)) {
      resource.add_cdi_devices()->set_name(held.resource_id);
    }
  }

  static void Put(const Parts& parts, const kube::Pod& pod, ::v1::PodResources& out) {
    out.set_name(pod.meta.key.name);
    out.set_namespace_(pod.meta.key.ns);
    for (const kube::Container& container : pod.containers) {
      if (!IsListed(container)) continue;
      ::v1::ContainerResources& listed = *out.add_containers();
      listed.set_name(container.name);
      std::map<std::string, ::v1::DynamicResource*> claims;
      for (const HeldDevice& held : parts.claims.DevicesOf(pod.meta.key)) {
        const bool used = std::ranges::any_of(held.uses, [&](const ContainerUse& use) {
          return use.container == container.name && use.kind == container.kind;
        });
        if (!used) continue;
        ::v1::DynamicResource*& claim = claims[held.claim];
        if (claim == nullptr) claim = listed.add_dynamic_resources();
        claim->set_claim_name(held.claim);
        claim->set_claim_namespace(pod.meta.key.ns);
        PutDevice(held, *claim);
      }
    }
  }

  // `left_out`: how many Pods did not fit.
  static ::v1::ListPodResourcesResponse List(const Parts& parts, std::size_t& left_out) {
    ::v1::ListPodResourcesResponse response;
    std::size_t bytes = 0;
    parts.view.ForEachPod([&](const kube::Pod& pod) {
      if (HasEnded(pod)) return;
      ::v1::PodResources listed;
      Put(parts, pod, listed);
      // The head of a field: its number takes a byte, its length at most five.
      constexpr std::size_t kHeadBytesMax = 6;
      const std::size_t more = listed.ByteSizeLong() + kHeadBytesMax;
      const bool full = static_cast<std::size_t>(response.pod_resources_size()) >= kPodsMax;
      if (full || bytes + more > parts.bytes_max) {
        ++left_out;
        return;
      }
      bytes += more;
      *response.add_pod_resources() = std::move(listed);
    });
    return response;
  }

  static StatusOr<::v1::GetPodResourcesResponse> Get(const Parts& parts,
                                                     const ::v1::GetPodResourcesRequest& request) {
    const kube::Pod* pod = parts.view.FindPod({request.pod_namespace(), request.pod_name()});
    if (pod == nullptr || HasEnded(*pod)) {
      return NotFound("no Pod {} runs in namespace {} on this node", Shown(request.pod_name(), 80),
                      Shown(request.pod_namespace(), 80));
    }
    ::v1::GetPodResourcesResponse response;
    Put(parts, *pod, *response.mutable_pod_resources());
    return response;
  }
};

PodResourcesService::PodResourcesService(Parts parts, rpc::Dispatcher& dispatcher) : parts_(parts) {
  const std::string service = "/v1.PodResourcesLister/";
  rpc::AddUnary<::v1::ListPodResourcesRequest, ::v1::ListPodResourcesResponse>(
      dispatcher, service + "List", [this](const auto&, const auto&, auto reply) {
        std::size_t left_out = 0;
        ::v1::ListPodResourcesResponse response = Wire::List(parts_, left_out);
        NoteLeftOut(left_out);
        reply(std::move(response));
      });
  rpc::AddUnary<::v1::GetPodResourcesRequest, ::v1::GetPodResourcesResponse>(
      dispatcher, service + "Get",
      [this](const auto& request, const auto&, auto reply) { reply(Wire::Get(parts_, request)); });
  rpc::AddUnary<::v1::AllocatableResourcesRequest, ::v1::AllocatableResourcesResponse>(
      dispatcher, service + "GetAllocatableResources",
      [](const auto&, const auto&, auto reply) { reply(::v1::AllocatableResourcesResponse()); });
}

// Clients ask every few seconds: only a change is logged.
void PodResourcesService::NoteLeftOut(std::size_t pods) {
  if (pods == std::exchange(left_out_, pods)) return;
  if (pods == 0) return parts_.log.Info("the Pod resources answer has all Pods again");
  parts_.log.Warning("the Pod resources answer leaves Pods out: it is as large as clients take",
                     {{"pods", pods}, {"bytes_max", parts_.bytes_max}});
}

}  // namespace galen::agent
