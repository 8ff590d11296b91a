// Tested by search_bounds_test.cc and search_property_test.cc.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "alloc/selection/search.h"

namespace galen::alloc {
namespace {

// Failed branches before twins are looked for: a short search does without.
constexpr std::uint32_t kFailuresMin = 16;
// States remembered; at the limit no more are.
constexpr std::size_t kFailedStatesMax = 100'000;
constexpr std::uint32_t kStateEnd = 0xfffffffe;

// A hash of capacities: what is equal has one.
class CapacityHash {
 public:
  void Add(const std::string& text) { Mix(std::hash<std::string>()(text)); }
  void Add(const Quantity& value) {
    Mix(static_cast<std::uint64_t>(value.nano()));
    Mix(static_cast<std::uint64_t>(value.nano() >> 64));
  }
  void Add(const std::optional<Quantity>& value) {
    if (value) Add(*value);
    Mix(value ? 1 : 0);
  }
  void Add(const RequestPolicy& policy) {
    Add(policy.otherwise);
    for (const Quantity& value : policy.valid_values) Add(value);
    if (!policy.valid_range) return;
    Add(policy.valid_range->min);
    Add(policy.valid_range->max);
    Add(policy.valid_range->step);
  }
  void Add(const DeviceCapacity& capacity) {
    Add(capacity.name);
    Add(capacity.value);
    if (capacity.policy) Add(*capacity.policy);
  }
  void Add(const NamedQuantities& held) {
    for (const auto& [name, amount] : held) {
      Add(name);
      Add(amount);
    }
  }
  std::size_t hash() const { return hash_; }

 private:
  // The factor of splitmix64, and a shift so that high bits reach low ones.
  void Mix(std::uint64_t value) {
    hash_ = (hash_ ^ value) * 0xbf58476d1ce4e5b9u;
    hash_ ^= hash_ >> 29;
  }

  std::uint64_t hash_ = 0;
};

}  // namespace

void Search::CountFailure() {
  if (options_.cuts && ++failures_ == kFailuresMin) FindTwins();
}

// Twins differ in nothing that a request of this Pod looks at. When a branch with one of them
// failed, the same branch with the other fails, too.
void Search::FindTwins() {
  if (!TwinsAreSafe()) return;
  std::map<Values, std::uint32_t> kinds;
  std::vector<std::uint32_t> kind_of;
  CapacityKinds capacities;
  for (std::uint32_t i = 0; i < view_->candidates.size(); ++i) {
    Values key{CapacityKind(i, capacities)};
    // An error is found by upstream in an order of its own: then nothing is cut.
    if (!AddTwinKey(i, key)) {
      error_.clear();
      return;
    }
    kind_of.push_back(
        kinds.try_emplace(key, static_cast<std::uint32_t>(kinds.size())).first->second);
  }
  kind_of_ = std::move(kind_of);
}

// Where an error depends on which twin comes first, twins are no twins: a constraint on mode All.
// And with admin access it counts which claim has a device.
bool Search::TwinsAreSafe() const {
  return view_->invalid_at > view_->candidates.size() &&
         std::none_of(demand_.slots.begin(), demand_.slots.end(), [](const Slot& slot) {
           return slot.admin_access || (slot.all && !slot.constraints.empty());
         });
}

bool Search::AddTwinKey(std::uint32_t candidate, Values& key) {
  const Candidate& device = view_->candidates[candidate];
  const DeviceEntry& entry = EntryOf(candidate);
  for (const Slot& slot : demand_.slots) {
    key.push_back(static_cast<std::uint32_t>(CheckSelectable(slot, candidate)));
    key.push_back(Tolerated(slot, device.entry) ? 1 : 0);
    // Without shares in flight this is what the device can give at all.
    if (options_.features.consumable_capacity && error_.empty() &&
        ComputeShare(entry.device->capacity, slot.wish->capacity ? &*slot.wish->capacity : nullptr,
                     nullptr, nullptr, options_)
                .verdict == Share::Verdict::kError)
      return false;
    if (!error_.empty()) return false;
  }
  for (const ClaimPlan& claim : demand_.claims) {
    for (const ConstraintPlan& constraint : claim.constraints)
      key.push_back(inventory_.ValueOf(device.entry, constraint.name));
  }
  key.push_back((usage_.IsExclusive(entry.identity) ? 1u : 0u) |
                (usage_.HasShare(entry.identity) ? 2u : 0u) | (IsShareable(entry) ? 4u : 0u) |
                (entry.consumes_counters ? 8u : 0u) | (entry.skips_node_operations ? 16u : 0u));
  if (device.use == nullptr) return true;
  // Groups are compared name by name: such a device is like no other.
  if (options_.features.compatibility_groups) key.push_back(candidate);
  key.push_back(device.pool);
  for (const CounterUse::Charge& charge : device.use->charges) {
    key.push_back(charge.counter);
    for (int part = 0; part < 4; ++part)
      key.push_back(static_cast<std::uint32_t>(charge.amount >> (32 * part)));
  }
  return true;
}

// The first candidate with the same capacities, of which others hold the same.
std::uint32_t Search::CapacityKind(std::uint32_t candidate, CapacityKinds& kinds) const {
  const DeviceEntry& entry = EntryOf(candidate);
  const NamedQuantities* held = usage_.ConsumedOf(entry.identity);
  CapacityHash hash;
  for (const DeviceCapacity& capacity : entry.device->capacity) hash.Add(capacity);
  if (held != nullptr) hash.Add(*held);
  const auto [first, last] = kinds.equal_range(hash.hash());
  for (auto known = first; known != last; ++known) {
    const DeviceEntry& other = EntryOf(known->second);
    const NamedQuantities* other_held = usage_.ConsumedOf(other.identity);
    const bool same_held =
        (held == nullptr) == (other_held == nullptr) && (held == nullptr || *held == *other_held);
    if (same_held && entry.device->capacity == other.device->capacity) return known->second;
  }
  kinds.emplace(hash.hash(), candidate);
  return candidate;
}

bool Search::IsTwinOfFailed(const Values& failed, std::uint32_t candidate) const {
  if (failed.empty() || sharing_of_[candidate] != kUnshared) return false;
  return std::find(failed.begin(), failed.end(), kind_of_[candidate]) != failed.end();
}

// A device of which shares were taken in this search is like no other.
void Search::AddFailed(Values& failed, std::uint32_t candidate) const {
  if (kind_of_.empty()) return;
  const std::uint32_t sharing = sharing_of_[candidate];
  if (sharing != kUnshared && sharings_[sharing].count > 0) return;
  failed.push_back(kind_of_[candidate]);
}

// What decides whether the requests from here on can be met: how many of each kind are taken, by
// how many results of this claim, and the values of its constraints.
Search::Values Search::StateOf(std::uint32_t claim, std::uint32_t request) const {
  Values state;
  if (kind_of_.empty() || failed_states_.size() >= kFailedStatesMax) return state;
  for (const std::vector<Taken>& of_claim : taken_) {
    for (const Taken& taken : of_claim) {
      if (taken.shared) return {};
      state.push_back(kind_of_[taken.candidate]);
    }
  }
  std::sort(state.begin(), state.end());
  state.insert(state.end(),
               {kStateEnd, claim, request, static_cast<std::uint32_t>(taken_[claim].size())});
  for (std::size_t i = 0; i < constraints_[claim].size(); ++i) {
    Values values = constraints_[claim][i];
    const bool first_decides =
        !demand_.claims[claim].constraints[i].distinct && !options_.features.list_attributes;
    if (first_decides && values.size() > 1) values.resize(1);
    std::sort(values.begin(), values.end());
    state.push_back(kStateEnd);
    state.insert(state.end(), values.begin(), values.end());
  }
  return state;
}

}  // namespace galen::alloc
