// The kubelet's DRA service, v1 and v1beta1, over a ClaimPreparer: every claim asked for gets an
// entry in the answer, and one claim's error is its own. Belongs to its loop.
#pragma once

#include "rpc/service.h"
#include "sdk/claim_preparer.h"

namespace galen::sdk {

// The names under which a driver tells that it speaks these services.
inline constexpr std::string_view kDraV1 = "v1.DRAPlugin";
inline constexpr std::string_view kDraV1Beta1 = "v1beta1.DRAPlugin";

// Claims in one request; past it: InvalidArgument. The kubelet sends those of one Pod.
inline constexpr int kClaimsPerRequestMax = 512;

// Adds the methods. What is lent outlives the dispatcher's use.
void ServeDra(rpc::Dispatcher& dispatcher, ClaimPreparer& preparer);

}  // namespace galen::sdk
