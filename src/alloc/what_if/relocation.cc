#include "alloc/what_if/relocation.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "alloc/explanation/trial.h"

namespace galen::alloc {
namespace {

std::vector<DeviceId> IdsOf(const Allocation& allocation) {
  std::vector<DeviceId> ids;
  for (const AllocatedDevice& device : allocation.devices) ids.push_back(device.id);
  return ids;
}

// Victims that share Pods go together: a Pod is on one node. What is asked of a node for them.
struct Group {
  std::vector<std::size_t> victims;  // by their places in Picture::held
  std::vector<ResourceClaim> claims;
  PodReach reach;
  bool known = true;  // the requests of all are
  Demand demand = {};
  std::vector<const NodeState*> nodes = {};
};

// Joins victims by the Pods that they share.
std::vector<std::vector<std::size_t>> Joined(const Changed& changed) {
  std::map<ObjectKey, std::size_t> group_of;
  std::vector<std::vector<std::size_t>> groups;
  for (const std::size_t victim : changed.victims) {
    std::vector<std::size_t> joined = {victim};
    for (const ObjectKey& pod : changed.picture.held[victim].pods) {
      const auto found = group_of.find(pod);
      if (found == group_of.end()) continue;
      std::vector<std::size_t>& other = groups[found->second];
      joined.insert(joined.end(), other.begin(), other.end());
      other.clear();
    }
    std::sort(joined.begin(), joined.end());
    joined.erase(std::unique(joined.begin(), joined.end()), joined.end());
    for (const std::size_t one : joined) {
      for (const ObjectKey& pod : changed.picture.held[one].pods) group_of[pod] = groups.size();
    }
    groups.push_back(std::move(joined));
  }
  std::erase_if(groups, [](const auto& group) { return group.empty(); });
  return groups;
}

Group MakeGroup(const Changed& changed, std::vector<std::size_t> victims) {
  Group group{.victims = std::move(victims)};
  std::set<ObjectKey> pods;
  for (const std::size_t victim : group.victims) {
    const HeldClaim& held = changed.picture.held[victim];
    group.claims.push_back(held.claim);
    group.known = group.known && !held.claim.requests.empty();
    pods.insert(held.pods.begin(), held.pods.end());
    const PodReach& reach = held.reach;
    group.reach.selectors.insert(group.reach.selectors.end(), reach.selectors.begin(),
                                 reach.selectors.end());
    group.reach.tolerations = reach.tolerations;
  }
  // Claims of these Pods that keep their devices bind them to where those are.
  const std::set<std::size_t> lost(changed.victims.begin(), changed.victims.end());
  for (std::size_t i = 0; i < changed.picture.held.size(); ++i) {
    const HeldClaim& held = changed.picture.held[i];
    const bool shares = std::any_of(held.pods.begin(), held.pods.end(),
                                    [&](const ObjectKey& pod) { return pods.contains(pod); });
    if (lost.contains(i) || !shares || !held.allocation.node_selector) continue;
    group.reach.held.push_back(*held.allocation.node_selector);
  }
  return group;
}

// Depth first over groups of victims, each on one node after the other.
class Placing {
 public:
  Placing(const Changed& changed, const Options& options)
      : picture_(changed.picture), trial_(changed.picture, options) {
    for (std::vector<std::size_t>& victims : Joined(changed)) {
      groups_.push_back(MakeGroup(changed, std::move(victims)));
    }
    for (Group& group : groups_) {
      for (const std::size_t victim : group.victims) trial_.Release(victim);
      group.demand =
          PrepareDemand(group.claims, picture_.classes, trial_.inventory(), trial_.memo());
      for (const NodeState& node : picture_.nodes) {
        if (RefusalOf(group.reach, node).empty()) group.nodes.push_back(&node);
      }
      unsure_ = unsure_ || !group.known;
    }
    // Those with most devices first: the others find room between them.
    for (std::size_t i = 0; i < groups_.size(); ++i) order_.push_back(i);
    std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(DevicesOf(groups_[b]), a) < std::pair(DevicesOf(groups_[a]), b);
    });
    places_.resize(groups_.size());
  }

  Relocation Run() {
    const bool all = PlaceFrom(0, 0);
    Relocation relocation;
    relocation.verdict = all       ? Relocation::Verdict::kAll
                         : unsure_ ? Relocation::Verdict::kCannotTell
                                   : Relocation::Verdict::kNotAll;
    for (std::size_t i = 0; i < groups_.size(); ++i) AddVictims(i, relocation);
    std::sort(relocation.victims.begin(), relocation.victims.end(),
              [](const Victim& a, const Victim& b) { return a.claim < b.claim; });
    return relocation;
  }

 private:
  struct Place {
    std::string node;
    std::vector<Allocation> allocations;  // by claim of the group
  };

  std::size_t DevicesOf(const Group& group) const {
    std::size_t devices = 0;
    for (const std::size_t victim : group.victims) {
      devices += picture_.held[victim].allocation.devices.size();
    }
    return devices;
  }

  void AddVictims(std::size_t group, Relocation& relocation) const {
    for (std::size_t i = 0; i < groups_[group].victims.size(); ++i) {
      const HeldClaim& held = picture_.held[groups_[group].victims[i]];
      Victim victim{.claim = held.key, .pods = held.pods, .lost = IdsOf(held.allocation)};
      if (best_[group]) {
        victim.node = best_[group]->node;
        victim.found = IdsOf(best_[group]->allocations[i]);
      }
      relocation.victims.push_back(std::move(victim));
    }
  }

  // Whether groups from this one on all found a place. Those without any are passed over, so that
  // the others' places are found, too.
  bool PlaceFrom(std::size_t at, std::size_t placed) {
    if (best_.empty() || placed > best_placed_) {
      best_ = places_;
      best_placed_ = placed;
    }
    if (at == order_.size()) return placed == order_.size();
    const std::size_t number = order_[at];
    const Group& group = groups_[number];
    for (const NodeState* node : group.nodes) {
      if (!group.known) break;
      if (tries_ == kPlacesMax) return !(unsure_ = true);
      ++tries_;
      Outcome outcome = Allocator(trial_.inventory(), trial_.usage(), group.demand, trial_.memo())
                            .Allocate(node->node);
      unsure_ = unsure_ || outcome.verdict == Outcome::Verdict::kCannotTell;
      if (outcome.verdict != Outcome::Verdict::kFits) continue;
      places_[number] = Place{node->node.name, std::move(outcome.allocations)};
      for (const Allocation& one : places_[number]->allocations) trial_.usage().Add(one);
      const bool all = PlaceFrom(at + 1, placed + 1);
      for (const Allocation& one : places_[number]->allocations) trial_.usage().Remove(one);
      places_[number].reset();
      if (all) return true;
    }
    PlaceFrom(at + 1, placed);
    return false;
  }

  const Picture& picture_;
  Trial trial_;
  std::vector<Group> groups_;
  std::vector<std::size_t> order_;
  std::size_t tries_ = 0;
  bool unsure_ = false;
  std::vector<std::optional<Place>> places_;  // by group
  std::vector<std::optional<Place>> best_;
  std::size_t best_placed_ = 0;
};

bool WantsAll(const ResourceClaim& claim) {
  return std::any_of(
      claim.requests.begin(), claim.requests.end(), [](const DeviceRequest& request) {
        return std::any_of(
            request.wishes.begin(), request.wishes.end(),
            [](const DeviceWish& wish) { return wish.mode == DeviceWish::Mode::kAll; });
      });
}

using PoolName = std::pair<std::string, std::string>;  // driver, pool

// Where devices are that the changes taint or take away.
std::set<PoolName> TouchedPools(const Changed& changed, const Picture& before) {
  std::set<PoolName> pools;
  for (std::size_t i = before.rules.size(); i < changed.picture.rules.size(); ++i) {
    const TaintRule& rule = changed.picture.rules[i];
    pools.insert({rule.driver.value_or(""), rule.pool.value_or("")});
  }
  for (const std::size_t victim : changed.victims) {
    for (const AllocatedDevice& device : changed.picture.held[victim].allocation.devices) {
      pools.insert({device.id.driver, device.id.pool});
    }
  }
  return pools;
}

bool StartsAnew(Trial& trial, std::size_t at) {
  const HeldClaim& held = trial.picture().held[at];
  trial.Release(at);
  const bool fits = !trial.Fit(held.reach, {held.claim}, true).nodes.empty();
  trial.Hold(at);
  return fits;
}

}  // namespace

Relocation Relocate(const Changed& changed, const Picture& before, const Options& options) {
  Relocation relocation = Placing(changed, options).Run();
  const std::set<std::size_t> victims(changed.victims.begin(), changed.victims.end());
  const std::set<PoolName> pools = TouchedPools(changed, before);
  Trial now(before, options);
  Trial then(changed.picture, options);
  for (std::size_t i = 0; i < changed.picture.held.size(); ++i) {
    const HeldClaim& held = changed.picture.held[i];
    const auto& devices = held.allocation.devices;
    const bool near = std::any_of(devices.begin(), devices.end(), [&](const AllocatedDevice& one) {
      return pools.contains({one.id.driver, one.id.pool});
    });
    if (victims.contains(i) || !near || !WantsAll(held.claim)) continue;
    if (StartsAnew(now, i) && !StartsAnew(then, i)) relocation.blocked.push_back(held.key);
  }
  return relocation;
}

}  // namespace galen::alloc
