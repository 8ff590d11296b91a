// What the API server's answers say, as observations. Pure; everything absent is empty, because
// objects come from many versions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/data/json.h"
#include "doctor/observations.h"

namespace galen::doctor {

StatusOr<KubernetesVersion> ReadVersion(const Json& version);  // of /version
// `date` is the header of an answer that was asked for at `asked` and came at `answered`.
// InvalidArgument when it is no date (RFC 9110, section 5.6.7).
StatusOr<ClockSeen> ReadClock(std::string_view date, WallTime asked, WallTime answered);
std::set<std::string> ReadGroupVersions(const Json& group);  // of /apis/GROUP
NodeSeen ReadNode(const Json& node);
LeaseSeen ReadLease(const Json& lease);
StatusOr<PodSeen> ReadPod(const Json& pod);
// `node` is this node's name.
StatusOr<ClaimSeen> ReadClaim(const Json& claim, const std::string& node);
SlicePlace ReadSlicePlace(const Json& slice);
NodeHealthSeen ReadNodeHealth(const Json& object);
// Whether a SubjectAccessReview's answer allows it.
bool ReadAllowed(const Json& review);

// Claims whose devices all lie in pools of this node's slices are here, too: a claim that an older
// scheduler allocated names no node.
void MarkClaimsHere(std::vector<ClaimSeen>& claims, const std::vector<kube::ResourceSlice>& slices);
// Pods that claims of this node are reserved for and that are not among its Pods; each once.
std::vector<PodRef> FarPods(const std::vector<ClaimSeen>& claims, const std::vector<PodSeen>& pods);

}  // namespace galen::doctor
