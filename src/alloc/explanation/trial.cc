// Tested by explanation_test.cc.
#include "alloc/explanation/trial.h"

#include <algorithm>

namespace galen::alloc {

Trial::Trial(const Picture& picture, const Options& options)
    : picture_(picture),
      inventory_(Inventory::Create(picture.slices, picture.rules, options)),
      usage_(*inventory_),
      engine_(options.minor),
      memo_(*inventory_, engine_) {
  for (std::size_t held = 0; held < picture.held.size(); ++held) Hold(held);
}

Trial::Result Trial::Fit(const PodReach& reach, const std::vector<ResourceClaim>& claims,
                         bool first_only) {
  using Verdict = Outcome::Verdict;
  Result result;
  const Demand demand = PrepareDemand(claims, picture_.classes, *inventory_, memo_);
  if (!demand.refused.ok()) return {.error = true, .message = demand.refused.message()};
  Allocator allocator(*inventory_, usage_, demand, memo_);
  for (std::size_t i = 0; i < picture_.nodes.size(); ++i) {
    if (!RefusalBeforeClaims(reach, picture_.nodes[i]).empty()) continue;
    const Verdict verdict = allocator.Check(picture_.nodes[i].node);
    if (verdict == Verdict::kFits) {
      // What it would get there is of no use.
      if (!RefusalOf(reach, picture_.nodes[i]).empty()) continue;
      result.nodes.push_back(i);
      if (first_only) return result;
    } else if (verdict == Verdict::kError) {
      result.error = true;
      result.message = allocator.message();
      return result;
    } else if (verdict == Verdict::kCannotTell && !result.unsure) {
      result.unsure = true;
      result.message = allocator.message();
    }
  }
  return result;
}

ResourceClaim Only(const ResourceClaim& claim, std::size_t request, std::size_t wish) {
  ResourceClaim only = claim;
  only.requests = {claim.requests[request]};
  only.requests[0].wishes = {claim.requests[request].wishes[wish]};
  const std::string& name = claim.requests[request].name;
  const std::string sub = name + "/" + claim.requests[request].wishes[wish].name;
  std::erase_if(only.constraints, [&](const DeviceConstraint& constraint) {
    return !constraint.requests.empty() &&
           std::none_of(constraint.requests.begin(), constraint.requests.end(),
                        [&](const std::string& one) { return one == name || one == sub; });
  });
  for (DeviceConstraint& constraint : only.constraints) constraint.requests.clear();
  only.config.clear();
  return only;
}

}  // namespace galen::alloc
