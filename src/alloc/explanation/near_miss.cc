// Tested by explanation_test.cc.
#include "alloc/explanation/near_miss.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "alloc/explanation/funnel.h"

namespace galen::alloc {
namespace {

DeviceToleration ForKey(const std::string& key) {
  return {.key = key, .op = DeviceToleration::Operator::kExists, .value = "", .effect = ""};
}

// Every request tolerates the key; "" for every key.
std::vector<ResourceClaim> Tolerating(std::vector<ResourceClaim> claims, const std::string& key) {
  for (ResourceClaim& claim : claims) {
    for (DeviceRequest& request : claim.requests) {
      for (DeviceWish& wish : request.wishes) wish.tolerations.push_back(ForKey(key));
    }
  }
  return claims;
}

// Whether one change would open the node to the Pod: that it becomes ready, is uncordoned, loses
// its taints, or that the Pod selects other nodes. Not where the Pod's other claims have their
// devices.
bool IsOnlyRefusal(const PodReach& reach, const NodeState& node) {
  int refusals = (node.ready ? 0 : 1) + (node.cordoned ? 1 : 0);
  NodeState other = node;
  other.ready = true;
  other.cordoned = false;
  PodReach anywhere = reach;
  anywhere.selectors.clear();
  const bool tainted = !RefusalOf(anywhere, other).empty();
  other.taints.clear();
  if (!RefusalOf(anywhere, other).empty()) return false;
  refusals += (tainted ? 1 : 0) + (RefusalOf(reach, other).empty() ? 0 : 1);
  return refusals == 1;
}

class NearMissSearch {
 public:
  NearMissSearch(Trial& trial, const Question& question) : trial_(trial), question_(question) {}

  std::vector<NearMiss> Run() {
    // Each kind has its own number of tries, so that many claims leave the others theirs.
    for (void (NearMissSearch::*kind)() :
         {&NearMissSearch::TryClaims, &NearMissSearch::TryTaints, &NearMissSearch::TryNodes,
          &NearMissSearch::TryRequests}) {
      tries_ = 0;
      (this->*kind)();
    }
    return std::move(found_);
  }

 private:
  // Asks one changed question; false when none may be asked any more. What fits on one node counts
  // only if no other ends kube-scheduler's attempt with an error.
  bool Fits(const PodReach& reach, const std::vector<ResourceClaim>& claims) {
    if (tries_ == kTriesMax) return false;
    ++tries_;
    return !trial_.Fit(reach, claims, true).nodes.empty() &&
           !trial_.Fit(reach, claims, false).error;
  }
  void Add(std::string_view code, std::string text) {
    found_.push_back({.code = std::string(code), .text = std::move(text)});
  }
  std::string NameOf(const ResourceClaim& claim, const DeviceRequest& request) const {
    return question_.claims.size() == 1
               ? "request " + request.name
               : fmt::format("request {} of claim {}", request.name, claim.name);
  }

  // Devices that some request's selectors are true of.
  std::set<DeviceId> WantedDevices() {
    std::set<DeviceId> wanted;
    const Demand demand = PrepareDemand(question_.claims, trial_.picture().classes,
                                        trial_.inventory(), trial_.memo());
    for (std::uint32_t entry = 0; entry < trial_.inventory().entries().size(); ++entry) {
      const bool any = std::any_of(demand.slots.begin(), demand.slots.end(), [&](const Slot& slot) {
        return std::all_of(slot.selectors.begin(), slot.selectors.end(), [&](auto selector) {
          return trial_.memo().Ask(selector, entry) == SelectorMemo::Verdict::kTrue;
        });
      });
      if (any) {
        wanted.insert(trial_.inventory().IdOf(entry));
      }
    }
    return wanted;
  }

  // The claims that hold such devices, those with the fewest first: their end costs least.
  std::vector<std::size_t> ClaimsInTheWay() {
    const auto& held = trial_.picture().held;
    const std::set<DeviceId> wanted = WantedDevices();
    std::vector<std::size_t> claims;
    for (std::size_t i = 0; i < held.size(); ++i) {
      const auto& devices = held[i].allocation.devices;
      if (std::any_of(devices.begin(), devices.end(),
                      [&](const AllocatedDevice& one) { return wanted.contains(one.id); })) {
        claims.push_back(i);
      }
    }
    std::sort(claims.begin(), claims.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(held[a].allocation.devices.size(), a) <
             std::pair(held[b].allocation.devices.size(), b);
    });
    return claims;
  }

  // The Pods of one claim, or the claim where none uses it.
  void TryClaims() {
    const auto& held = trial_.picture().held;
    std::size_t named = 0;
    for (const std::size_t at : ClaimsInTheWay()) {
      trial_.Release(at);
      const bool fits = Fits(question_.reach, question_.claims);
      trial_.Hold(at);
      if (!fits) continue;
      std::vector<std::string> pods;
      for (const ObjectKey& pod : held[at].pods) pods.push_back(ToString(pod));
      Add("ClaimEnds", pods.empty() ? fmt::format("claim {} ends", ToString(held[at].key))
                                    : Listed(pods, kNearMissesMax) + " ends");
      if (++named == kNearMissesMax) return;
    }
  }

  void TryTaints() {
    std::set<std::string> keys;
    for (std::uint32_t entry = 0; entry < trial_.inventory().entries().size(); ++entry) {
      for (const DeviceTaint& taint : trial_.inventory().TaintsOf(entry)) keys.insert(taint.key);
    }
    for (const std::string& key : keys) {
      if (Fits(question_.reach, Tolerating(question_.claims, key))) {
        Add("TaintGone", fmt::format("devices lose the taint {}, or the claim tolerates it", key));
      }
    }
  }

  // Nodes by why they refuse the Pod: would one of them have it all?
  void TryNodes() {
    std::map<std::string, std::vector<std::string>> by_refusal;
    const Demand demand = PrepareDemand(question_.claims, trial_.picture().classes,
                                        trial_.inventory(), trial_.memo());
    if (!demand.refused.ok()) return;
    Allocator allocator(trial_.inventory(), trial_.usage(), demand, trial_.memo());
    for (const NodeState& node : trial_.picture().nodes) {
      const std::string refusal = RefusalOf(question_.reach, node);
      if (refusal.empty() || !IsOnlyRefusal(question_.reach, node)) continue;
      if (allocator.Check(node.node) != Outcome::Verdict::kFits) continue;
      by_refusal[refusal].push_back(node.node.name);
    }
    for (const auto& [refusal, nodes] : by_refusal) {
      Add("NodeOpens", fmt::format("it could use {} ({})", Listed(nodes, kNearMissesMax), refusal));
    }
  }

  void TryRequests() {
    for (std::size_t claim = 0; claim < question_.claims.size(); ++claim) {
      for (std::size_t i = 0; i < question_.claims[claim].requests.size(); ++i) {
        TryFewer(claim, i);
        TryWithoutSelectors(claim, i);
      }
      TryWithoutConstraints(claim);
    }
  }

  // The most devices that would fit.
  void TryFewer(std::size_t claim, std::size_t request) {
    std::vector<ResourceClaim> changed = question_.claims;
    DeviceRequest& asked = changed[claim].requests[request];
    DeviceWish& wish = asked.wishes.front();
    if (asked.first_available || wish.mode != DeviceWish::Mode::kExactCount) return;
    const std::int64_t wanted = wish.count;
    while (--wish.count > 0) {
      if (!Fits(question_.reach, changed)) continue;
      return Add("CountSmaller", fmt::format("{} asks for {} instead of {}",
                                             NameOf(changed[claim], asked), wish.count, wanted));
    }
  }

  void TryWithoutSelectors(std::size_t claim, std::size_t request) {
    const DeviceRequest& asked = question_.claims[claim].requests[request];
    for (std::size_t wish = 0; wish < asked.wishes.size(); ++wish) {
      for (std::size_t i = 0; i < asked.wishes[wish].selectors.size(); ++i) {
        std::vector<ResourceClaim> changed = question_.claims;
        auto& selectors = changed[claim].requests[request].wishes[wish].selectors;
        selectors.erase(selectors.begin() + static_cast<std::ptrdiff_t>(i));
        if (!Fits(question_.reach, changed)) continue;
        Add("SelectorDropped",
            fmt::format("{} drops the selector {}", NameOf(question_.claims[claim], asked),
                        asked.wishes[wish].selectors[i].value_or("")));
      }
    }
  }

  void TryWithoutConstraints(std::size_t claim) {
    for (std::size_t i = 0; i < question_.claims[claim].constraints.size(); ++i) {
      std::vector<ResourceClaim> changed = question_.claims;
      auto& constraints = changed[claim].constraints;
      const DeviceConstraint dropped = constraints[i];
      constraints.erase(constraints.begin() + static_cast<std::ptrdiff_t>(i));
      if (!Fits(question_.reach, changed)) continue;
      Add("ConstraintDropped",
          fmt::format("claim {} drops the constraint {} {}", changed[claim].name,
                      dropped.match_attribute ? "matchAttribute" : "distinctAttribute",
                      dropped.match_attribute.value_or(dropped.distinct_attribute.value_or(""))));
    }
  }

  Trial& trial_;
  const Question& question_;
  std::size_t tries_ = 0;
  std::vector<NearMiss> found_;
};

}  // namespace

std::vector<NearMiss> FindNearMisses(Trial& trial, const Question& question) {
  return NearMissSearch(trial, question).Run();
}

bool FitsWhenAllIsFree(const Picture& picture, const Question& question, const Options& options) {
  Picture free = picture;
  free.held.clear();
  for (NodeState& node : free.nodes) {
    node.ready = true;
    node.cordoned = false;
    node.taints.clear();
  }
  Trial trial(free, options);
  return !trial.Fit(question.reach, Tolerating(question.claims, ""), true).nodes.empty();
}

}  // namespace galen::alloc
