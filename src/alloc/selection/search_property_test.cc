#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "alloc/selection/share.h"
#include "alloc/selection/test_cluster.h"
#include "base/random.h"

namespace galen::alloc {
namespace {

using Cluster = TestCluster;

// ---- The same semantics without any preparation: each step looks at all that was chosen so far.

struct Chosen {
  const ResourceClaim* claim;
  const DeviceRequest* request;
  const DeviceWish* wish;
  const ResourceSlice* slice;
  const Device* device;
};

class PlainAllocator {
 public:
  enum class End { kDone, kFailed, kError };

  PlainAllocator(Cluster& cluster, const std::vector<ResourceClaim>& claims)
      : cluster_(cluster), claims_(claims) {
    for (const ResourceSlice& slice : cluster.slices) {
      for (const Device& device : slice.devices)
        offered_.push_back({.slice = &slice, .device = &device});
    }
    std::stable_sort(offered_.begin(), offered_.end(), [](const Chosen& a, const Chosen& b) {
      return std::pair(a.slice->pool, a.slice->name) < std::pair(b.slice->pool, b.slice->name);
    });
  }

  std::string Answer() {
    End end = PrepareLists();
    if (end == End::kDone) end = SolveRequest(0, 0);
    if (end == End::kError) return "error";
    if (end == End::kFailed) return "no fit";
    std::string text;
    for (const ResourceClaim& claim : claims_) {
      if (&claim != &claims_.front()) text += "| ";
      for (const Chosen& one : chosen_) {
        if (one.claim == &claim) text += NameOf(one) + "=" + one.device->name + " ";
      }
    }
    if (!text.empty()) text.pop_back();
    return text;
  }

 private:
  static std::string NameOf(const Chosen& one) {
    return one.request->first_available ? one.request->name + "/" + one.wish->name
                                        : one.request->name;
  }

  // For mode All every device that its selectors take.
  End PrepareLists() {
    for (const ResourceClaim& claim : claims_) {
      for (const DeviceRequest& request : claim.requests) {
        for (const DeviceWish& wish : request.wishes) {
          if (wish.mode != DeviceWish::Mode::kAll) continue;
          for (Chosen one : offered_) {
            one.claim = &claim, one.request = &request, one.wish = &wish;
            const int selected = Selected(one);
            if (selected < 0) return End::kError;
            if (selected > 0 && ShareVerdict(one, false) == Share::Verdict::kFits)
              lists_[&wish].push_back(one);
          }
        }
      }
    }
    return End::kDone;
  }

  End SolveRequest(std::size_t claim, std::size_t request) {
    if (claim == claims_.size()) return End::kDone;
    if (request == claims_[claim].requests.size()) return SolveRequest(claim + 1, 0);
    for (const DeviceWish& wish : claims_[claim].requests[request].wishes) {
      const End end = SolveWish(claim, request, wish, 0, 0);
      if (end != End::kFailed) return end;
    }
    return End::kFailed;
  }

  End SolveWish(std::size_t claim, std::size_t request, const DeviceWish& wish, std::size_t index,
                std::size_t start) {
    const bool all = wish.mode == DeviceWish::Mode::kAll;
    const std::vector<Chosen>& list = all ? lists_[&wish] : offered_;
    const std::size_t count = all ? list.size() : static_cast<std::size_t>(wish.count);
    if (all && list.empty()) return End::kFailed;
    if (index == count) return SolveRequest(claim, request + 1);
    for (std::size_t i = start; i < (all ? start + 1 : list.size()); ++i) {
      Chosen next = list[i];
      next.claim = &claims_[claim], next.request = &claims_[claim].requests[request];
      next.wish = &wish;
      const int may = May(next, all);
      if (may < 0) return End::kError;
      if (may == 0) continue;
      chosen_.push_back(next);
      const End end = SolveWish(claim, request, wish, index + 1, i + 1);
      if (end == End::kDone) return end;
      chosen_.pop_back();
      if (end == End::kError) return end;
    }
    return End::kFailed;
  }

  // 1 yes, 0 no, -1 an error.
  int May(const Chosen& next, bool all) {
    if (!IsFree(next)) return 0;
    if (!all) {
      const int selected = Selected(next);
      if (selected <= 0) return selected;
      if (ShareVerdict(next, true) != Share::Verdict::kFits) return 0;
    }
    if (!CountersSuffice(next) || !TaintsTolerated(next)) return 0;
    if (!ConstraintsHold(next)) return all ? -1 : 0;
    return ShareVerdict(next, true) == Share::Verdict::kFits ? 1 : 0;
  }

  bool IsFree(const Chosen& next) const {
    const bool admin = next.wish->admin_access.value_or(false);
    if (!admin && IsHeld(*next.slice, *next.device)) return false;
    return std::none_of(chosen_.begin(), chosen_.end(), [&](const Chosen& one) {
      return one.device == next.device && !one.device->facts.allow_multiple_allocations &&
             (!admin || one.claim == next.claim);
    });
  }

  bool IsHeld(const ResourceSlice& slice, const Device& device) const {
    for (const Allocation& allocation : cluster_.allocated) {
      for (const AllocatedDevice& held : allocation.devices) {
        if (held.id == DeviceId{slice.driver, slice.pool, device.name}) return true;
      }
    }
    return false;
  }

  int Selected(const Chosen& next) {
    std::vector<DeviceSelector> selectors = cluster_.classes.at(next.wish->class_name).selectors;
    selectors.insert(selectors.end(), next.wish->selectors.begin(), next.wish->selectors.end());
    for (const DeviceSelector& selector : selectors) {
      auto compiled = cluster_.engine.Compile(*selector);
      if (!compiled.ok()) return -1;
      const auto kind = (*compiled)->Matches(next.device->facts).kind;
      if (kind == cel::Outcome::Kind::kError) return -1;
      if (kind == cel::Outcome::Kind::kFalse) return 0;
    }
    return 1;
  }

  Share::Verdict ShareVerdict(const Chosen& next, bool with_others) const {
    const auto requested = [](const Chosen& one) {
      return one.wish->capacity ? &*one.wish->capacity : nullptr;
    };
    NamedQuantities taking;
    for (const Chosen& one : chosen_) {
      if (!with_others || one.device != next.device) continue;
      if (!one.device->facts.allow_multiple_allocations) continue;
      const Share share =
          ComputeShare(one.device->capacity, requested(one), nullptr, nullptr, cluster_.options);
      for (const auto& [name, amount] : share.consumed) {
        if (taking.empty()) taking.emplace_back(name, Quantity());
        taking[0].second = taking[0].second + amount;
      }
    }
    return ComputeShare(next.device->capacity, requested(next), nullptr, &taking, cluster_.options)
        .verdict;
  }

  bool CountersSuffice(const Chosen& next) const {
    if (next.device->consumes_counters.empty()) return true;
    std::map<std::string, __int128> left;
    for (const ResourceSlice& slice : cluster_.slices) {
      if (slice.pool != next.slice->pool) continue;
      for (const CounterSet& set : slice.shared_counters)
        left[set.name] = set.counters[0].second.nano();
    }
    const auto charge = [&left](const Device& device) {
      for (const CounterConsumption& use : device.consumes_counters)
        left[use.counter_set] -= use.counters[0].second.nano();
    };
    std::vector<const Device*> charged;
    for (const ResourceSlice& slice : cluster_.slices) {
      if (slice.pool != next.slice->pool) continue;
      for (const Device& device : slice.devices) {
        if (IsHeld(slice, device)) charge(device);
      }
    }
    for (const Chosen& one : chosen_) {
      const bool again = one.device->facts.allow_multiple_allocations &&
                         std::find(charged.begin(), charged.end(), one.device) != charged.end();
      if (one.slice->pool == next.slice->pool && !again) charge(*one.device);
      charged.push_back(one.device);
    }
    const bool again = next.device->facts.allow_multiple_allocations &&
                       std::find(charged.begin(), charged.end(), next.device) != charged.end();
    if (again) return true;
    charge(*next.device);
    return std::all_of(left.begin(), left.end(), [](const auto& one) { return one.second >= 0; });
  }

  static bool TaintsTolerated(const Chosen& next) {
    return std::all_of(
        next.device->taints.begin(), next.device->taints.end(), [&](const DeviceTaint& taint) {
          return taint.effect == TaintEffect::kNone ||
                 std::any_of(next.wish->tolerations.begin(), next.wish->tolerations.end(),
                             [&](const auto& one) { return Tolerates(one, taint); });
        });
  }

  bool ConstraintsHold(const Chosen& next) const {
    return std::all_of(next.claim->constraints.begin(), next.claim->constraints.end(),
                       [&](const DeviceConstraint& constraint) { return Holds(constraint, next); });
  }

  bool Holds(const DeviceConstraint& constraint, const Chosen& next) const {
    const auto applies = [&constraint](const Chosen& one) {
      const auto& names = constraint.requests;
      return names.empty() || std::count(names.begin(), names.end(), one.request->name) > 0 ||
             std::count(names.begin(), names.end(), NameOf(one)) > 0;
    };
    if (!applies(next)) return true;
    const bool match = constraint.match_attribute.has_value();
    const QualifiedName name = ParseQualifiedName(
        match ? *constraint.match_attribute : *constraint.distinct_attribute, "");
    const auto* value = Find(next.device->facts.attributes, name.domain, name.id);
    if (value == nullptr) return false;
    for (const Chosen& one : chosen_) {
      if (one.claim != next.claim || !applies(one)) continue;
      const bool same = *Find(one.device->facts.attributes, name.domain, name.id) == *value;
      if (same != match) return false;
    }
    return true;
  }

  Cluster& cluster_;
  const std::vector<ResourceClaim>& claims_;
  std::vector<Chosen> offered_;
  std::map<const DeviceWish*, std::vector<Chosen>> lists_;
  std::vector<Chosen> chosen_;
};

// ---- Random clusters

// How they are drawn: `kinds` few for devices that are alike, so that searches are long.
struct Weights {
  int devices = 5;
  int kinds = 3;
  double errors = 0.03;
  double all = 0.15;
};

void AddRandomDevice(Random& random, const Weights& weights, Cluster& cluster,
                     const std::string& name, bool counters) {
  const auto kind = static_cast<std::int64_t>(random.Below(static_cast<unsigned>(weights.kinds)));
  if (!random.Chance(weights.errors)) cluster.Set(name, "good", kind != 2);
  if (random.Chance(0.95)) cluster.Set(name, "numa", kind);
  cluster.Set(name, "card", static_cast<std::int64_t>(random.Below(3)));
  if (counters && random.Chance(0.8))
    cluster.Consume(name, "set-" + std::to_string(random.Below(2)), std::to_string(1 + kind));
  if (kind == 1 && weights.kinds > 2) {
    cluster.SetCapacity(name, "memory", "4");
    cluster.DeviceOf(name).facts.allow_multiple_allocations = random.Chance(0.7);
  }
  if (random.Chance(0.1)) cluster.Taint(name);
  if (random.Chance(0.1)) cluster.Hold(name, "pool-" + name.substr(4, 1));
}

Cluster RandomCluster(Random& random, const Weights& weights) {
  Cluster cluster;
  for (unsigned pool = 0; pool < 1 + random.Below(2); ++pool) {
    const std::string pool_name = "pool-" + std::to_string(pool);
    std::vector<std::string> names;
    for (unsigned i = 0; i < 1 + random.Below(static_cast<unsigned>(weights.devices)); ++i)
      names.push_back(fmt::format("dev-{}-{}", pool, i));
    cluster.AddSlice("slice-" + pool_name, pool_name, names);
    const bool counters = random.Chance(0.4);
    if (counters) {
      cluster.AddCounters(pool_name, "set-0", "4");
      cluster.AddCounters(pool_name, "set-1", "3");
    }
    for (const std::string& name : names) AddRandomDevice(random, weights, cluster, name, counters);
  }
  return cluster;
}

DeviceWish RandomWish(Random& random, const Weights& weights) {
  DeviceWish wish = random.Chance(weights.all)
                        ? Cluster::WishAll()
                        : Cluster::Wish(1 + static_cast<int>(random.Below(3)));
  if (random.Chance(0.5)) wish.selectors.emplace_back("device.attributes[\"d\"].good");
  if (random.Chance(0.2)) wish.tolerations.push_back(Cluster::Tolerate());
  if (random.Chance(0.2))
    wish.capacity = Cluster::Amounts("memory", random.Chance(0.5) ? "1" : "3");
  return wish;
}

ResourceClaim RandomClaim(Random& random, const Weights& weights) {
  std::vector<DeviceRequest> requests;
  std::vector<std::string> names;
  for (unsigned i = 0; i < 1 + random.Below(3); ++i) {
    const std::string name = "r" + std::to_string(i);
    names.push_back(name);
    if (random.Chance(0.25)) {
      requests.push_back(
          Cluster::FirstOf(name, {RandomWish(random, weights), RandomWish(random, weights)}));
      names.push_back(name + "/a");
      continue;
    }
    DeviceWish wish = RandomWish(random, weights);
    if (random.Chance(0.1)) wish.admin_access = true;
    requests.push_back(Cluster::Request(name, wish));
  }
  std::vector<DeviceConstraint> constraints;
  while (random.Chance(0.35)) {
    const std::string attribute = random.Chance(0.4) ? "numa" : "card";
    constraints.push_back(random.Chance(0.6) ? Cluster::Match(attribute)
                                             : Cluster::Distinct(attribute));
    if (random.Chance(0.5)) constraints.back().requests = {names[random.Below(names.size())]};
  }
  return Cluster::Claim(std::move(requests), std::move(constraints));
}

std::vector<ResourceClaim> RandomClaims(Random& random, const Weights& weights) {
  std::vector<ResourceClaim> claims;
  for (unsigned i = 0; i < 1 + random.Below(2); ++i) claims.push_back(RandomClaim(random, weights));
  return claims;
}

TEST(SearchProperty, AnswersAsAPlainSearchDoes) {
  const std::uint64_t first = Random::Seed();
  std::map<std::string, int> ends;
  for (std::uint64_t seed = first; seed < first + 4000; ++seed) {
    Random random(seed);
    const Weights weights{.kinds = random.Chance(0.5) ? 3 : 2,
                          .errors = random.Chance(0.7) ? 0.0 : 0.1};
    Cluster cluster = RandomCluster(random, weights);
    const std::vector<ResourceClaim> claims = RandomClaims(random, weights);
    const std::string expected = PlainAllocator(cluster, claims).Answer();
    ASSERT_EQ(cluster.Ask(claims), expected) << "seed " << seed;
    cluster.options.first_steps = 5;
    ASSERT_EQ(cluster.Ask(claims), expected) << "begun anew, seed " << seed;
    ++ends[expected == "error" || expected == "no fit" ? expected : "fits"];
  }
  EXPECT_GT(ends["fits"], 400) << "seeds from " << first;
  EXPECT_GT(ends["no fit"], 400) << "seeds from " << first;
  EXPECT_GT(ends["error"], 50) << "seeds from " << first;
}

TEST(SearchProperty, CutsNothingThatHoldsASolution) {
  const std::uint64_t first = Random::Seed();
  int told = 0;
  for (std::uint64_t seed = first; seed < first + 1500; ++seed) {
    Random random(seed);
    const Weights weights{.devices = 9, .kinds = random.Chance(0.5) ? 2 : 3, .errors = 0, .all = 0};
    Cluster cluster = RandomCluster(random, weights);
    const std::vector<ResourceClaim> claims = RandomClaims(random, weights);
    cluster.options.cuts = false;
    cluster.options.steps_max = 100'000;
    const std::string expected = cluster.Ask(claims);
    if (expected == "cannot tell") continue;
    ++told;
    cluster.options.cuts = true;
    ASSERT_EQ(cluster.Ask(claims), expected) << "seed " << seed;
    cluster.options.first_steps = 5;
    ASSERT_EQ(cluster.Ask(claims), expected) << "begun anew, seed " << seed;
  }
  EXPECT_GT(told, 1000) << "seeds from " << first;
}

}  // namespace
}  // namespace galen::alloc
