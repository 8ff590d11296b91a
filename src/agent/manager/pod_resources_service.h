// Says which container has which device, where there is no kubelet that does: the Pod resources API
// (v1.PodResourcesLister), which exporters of metrics read to name the Pod of a device. On the
// agent's own socket. Belongs to the agent's loop.
#pragma once

#include "agent/holdings/claim_index.h"
#include "agent/holdings/node_view.h"
#include "base/log.h"
#include "rpc/service.h"

namespace galen::agent {

// Like a kubelet's: lists Pods that have not ended, with their main containers and sidecars. The
// socket's mode and rpc::PeerGate decide who may ask. A virtual node has no device plugins and
// assigns no exclusive processors or memory, so GetAllocatableResources is empty.
class PodResourcesService {
 public:
  // Further Pods are left out, which is logged: no virtual node runs as many.
  static constexpr std::size_t kPodsMax = 1024;
  // The largest answer: clients of a kubelet take 16 MiB (its podresources.DefaultMaxMsgSize) and
  // refuse more. The difference is for what surrounds the list.
  static constexpr std::size_t kBytesMax = (std::size_t{16} << 20) - 4096;

  // The arguments outlive the dispatcher's serving.
  struct Parts {
    const NodeView& view;
    const ClaimIndex& claims;
    Log& log;
    std::size_t bytes_max = kBytesMax;
  };
  PodResourcesService(Parts parts, rpc::Dispatcher& dispatcher);

 private:
  struct Wire;  // knows the messages

  void NoteLeftOut(std::size_t pods);

  const Parts parts_;
  std::size_t left_out_ = 0;  // of the last answer
};

}  // namespace galen::agent
