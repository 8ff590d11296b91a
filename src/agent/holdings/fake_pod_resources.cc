#include "agent/holdings/fake_pod_resources.h"

#include <utility>

#include "protos/podresources/v1/podresources.pb.h"

namespace galen::agent {
namespace {

::v1::ContainerResources& ContainerOf(::v1::ListPodResourcesResponse& response,
                                      const FakePodDevices& wanted) {
  ::v1::PodResources* pod = nullptr;
  for (::v1::PodResources& known : *response.mutable_pod_resources()) {
    if (known.name() == wanted.pod && known.namespace_() == wanted.ns) pod = &known;
  }
  if (pod == nullptr) {
    pod = response.add_pod_resources();
    pod->set_name(wanted.pod);
    pod->set_namespace_(wanted.ns);
  }
  for (::v1::ContainerResources& known : *pod->mutable_containers()) {
    if (known.name() == wanted.container) return known;
  }
  ::v1::ContainerResources& container = *pod->add_containers();
  container.set_name(wanted.container);
  return container;
}

}  // namespace

std::string EncodePodResources(const std::vector<FakePodDevices>& devices) {
  ::v1::ListPodResourcesResponse response;
  for (const FakePodDevices& wanted : devices) {
    ::v1::ContainerResources& container = ContainerOf(response, wanted);
    if (wanted.claim.empty()) {
      ::v1::ContainerDevices& out = *container.add_devices();
      out.set_resource_name(wanted.resource);
      for (const std::string& device : wanted.devices) out.add_device_ids(device);
      continue;
    }
    ::v1::DynamicResource& claim = *container.add_dynamic_resources();
    claim.set_claim_name(wanted.claim);
    claim.set_claim_namespace(wanted.ns);
    for (const std::string& device : wanted.devices) {
      ::v1::ClaimResource& out = *claim.add_claim_resources();
      out.set_driver_name(wanted.resource);
      out.set_pool_name(wanted.pool);
      out.set_device_name(device);
      if (!wanted.share_id.empty()) out.set_share_id(wanted.share_id);
    }
  }
  return response.SerializeAsString();
}

FakePodResources::FakePodResources(Loop& loop, net::FakeNetwork& network, std::string socket)
    : network_(network), socket_(std::move(socket)), dispatcher_(loop) {
  dispatcher_.AddUnary("/v1.PodResourcesLister/List",
                       [this](std::string_view, const rpc::Caller&, rpc::Reply reply) {
                         ++times_asked_;
                         if (!hang_) return reply(answer_);
                         hanging_.emplace_back(std::move(reply), answer_);
                       });
}

void FakePodResources::AnswerHanging() {
  for (auto& [reply, answer] : std::exchange(hanging_, {})) reply(answer);
}

}  // namespace galen::agent
