// The kubelet's DRA service, v1 and v1beta1, over a ClaimPreparer: every claim asked for gets an
// entry in the answer, and an error stays in its claim's entry, with the message that the Pod will
// show. Belongs to its loop.
#pragma once

#include <list>
#include <memory>

#include "rpc/service.h"
#include "sdk/claims/claim_preparer.h"

namespace galen::sdk {

// The names under which a driver registers these services (kubelet's types.go); they are not the
// gRPC names, which have a longer package.
inline constexpr std::string_view kDraV1 = "v1.DRAPlugin";
inline constexpr std::string_view kDraV1Beta1 = "v1beta1.DRAPlugin";

// The most claims in one request; beyond it: InvalidArgument. The kubelet sends those of one Pod,
// which seldom has more than a handful.
inline constexpr int kClaimsPerRequestMax = 512;

// A call that waits for its claims.
class DraCall {
 public:
  virtual ~DraCall() = default;
};
using DraCalls = std::list<std::unique_ptr<DraCall>>;

// Adds NodePrepareResources and NodeUnprepareResources of both versions. The arguments outlive the
// dispatcher's use; `calls`, which holds the calls under way, outlives the preparer too. A call is
// answered when the last of its claims is; the kubelet gives it 45 s.
void ServeDra(rpc::Dispatcher& dispatcher, ClaimPreparer& preparer, DraCalls& calls);

}  // namespace galen::sdk
