// Says which container has which device, where there is no kubelet that does: the Pod resources API
// (v1.PodResourcesLister), which exporters of metrics read to name the Pod of a device. On the
// agent's own socket. Belongs to the agent's loop.
#pragma once

#include "agent/holdings/claim_index.h"
#include "agent/holdings/node_view.h"
#include "rpc/service.h"

namespace galen::agent {

// As a kubelet's: Pods that have not ended, with their main containers and sidecars. Whom the
// socket's mode and rpc::PeerGate let through may ask. Nobody gives devices of plugins here, nor
// processors or memory of one's own, so that GetAllocatableResources answers with nothing.
class PodResourcesService {
 public:
  // More are left out: no virtual node runs as many, and an answer stays below what clients take.
  static constexpr std::size_t kPodsMax = 1024;

  // What is lent outlives the dispatcher's serving.
  struct Parts {
    const NodeView& view;
    const ClaimIndex& claims;
  };
  PodResourcesService(Parts parts, rpc::Dispatcher& dispatcher);

 private:
  struct Wire;  // knows the messages

  const Parts parts_;
};

}  // namespace galen::agent
