// Tested by explanation_test.cc.
#include "alloc/explanation/funnel.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

namespace galen::alloc {
namespace {

// Named in a step's detail.
constexpr std::size_t kNamesMax = 3;

// The steps in the order of output: what no change of the Pod helps against comes first.
enum class StepKind {
  kNodeRefused,
  kNoNode,
  kPool,
  kInUse,
  kSelector,
  kTaint,
  kCapacity,
  kCounters,
  kOther,
  kConstraint,
  kToBeHad,
};

StepKind KindOf(Reason reason) {
  switch (reason) {
    case Reason::kNone:
    case Reason::kTakenBefore:
      return StepKind::kToBeHad;
    case Reason::kInUse:
      return StepKind::kInUse;
    case Reason::kClassSelector:
    case Reason::kRequestSelector:
      return StepKind::kSelector;
    case Reason::kOtherNode:
      return StepKind::kNoNode;
    case Reason::kCapacityMissing:
    case Reason::kCapacityPolicy:
    case Reason::kCapacityTaken:
      return StepKind::kCapacity;
    case Reason::kCounters:
      return StepKind::kCounters;
    case Reason::kTaint:
      return StepKind::kTaint;
    case Reason::kConstraint:
      return StepKind::kConstraint;
    case Reason::kBindingConditions:
    case Reason::kCompatibility:
    case Reason::kNodeOperations:
      break;
  }
  return StepKind::kOther;
}

struct StepName {
  std::string_view code;
  std::string_view text;
};
StepName NameOf(StepKind kind) {
  switch (kind) {
    case StepKind::kNodeRefused:
      return {"NodeRefused", "on nodes that the Pod may not use"};
    case StepKind::kNoNode:
      return {"NoNode", "on no node that is there"};
    case StepKind::kPool:
      return {"PoolIncomplete", "in pools that are incomplete or invalid"};
    case StepKind::kInUse:
      return {"InUse", "held by other claims"};
    case StepKind::kSelector:
      return {"NotSelected", "not matched by the request's selectors"};
    case StepKind::kTaint:
      return {"Tainted", "kept away by taints"};
    case StepKind::kCapacity:
      return {"Capacity", "with too little capacity, or none of that name"};
    case StepKind::kCounters:
      return {"Counters", "whose shared parts are taken by other partitions"};
    case StepKind::kOther:
      return {"Unsupported", "with a condition or a need that cannot be met"};
    case StepKind::kConstraint:
      return {"Constraint", "against the claim's constraints"};
    case StepKind::kToBeHad:
      break;
  }
  return {"ToBeHad", "to be had"};
}

// One device, however many slices and nodes show it.
struct Fate {
  std::uint32_t entry = 0;
  StepKind kind = StepKind::kNoNode;
  std::string why;  // of the node, with kNodeRefused
};

class Funnel {
 public:
  Funnel(Trial& trial, const PodReach& reach, const ResourceClaim& only)
      : trial_(trial),
        reach_(reach),
        claims_{only},
        demand_(PrepareDemand(claims_, trial.picture().classes, trial.inventory(), trial.memo())),
        allocator_(trial.inventory(), trial.usage(), demand_, trial.memo()) {}

  void FillIn(RequestFunnel& funnel) {
    if (demand_.slots.empty()) return;
    FindClass();
    for (const NodeState& node : trial_.picture().nodes) AskNode(node, funnel);
    std::map<StepKind, std::vector<const Fate*>> by_kind;
    for (const auto& [identity, fate] : fates_) by_kind[fate.kind].push_back(&fate);
    funnel.of_class = fates_.size();
    for (auto& [kind, fates] : by_kind) {
      if (kind == StepKind::kToBeHad) {
        funnel.to_be_had = fates.size();
        continue;
      }
      const StepName name = NameOf(kind);
      funnel.steps.push_back({.code = std::string(name.code),
                              .devices = fates.size(),
                              .text = std::string(name.text),
                              .detail = DetailOf(kind, fates)});
    }
  }

 private:
  const Slot& slot() const { return demand_.slots.front(); }

  void FindClass() {
    const auto& entries = trial_.inventory().entries();
    for (std::uint32_t entry = 0; entry < entries.size(); ++entry) {
      if (IsOfClass(entry)) fates_.try_emplace(entries[entry].identity, Fate{.entry = entry});
    }
  }
  bool IsOfClass(std::uint32_t entry) {
    for (std::size_t i = 0; i < slot().class_selectors; ++i) {
      if (trial_.memo().Ask(slot().selectors[i], entry) != SelectorMemo::Verdict::kTrue) {
        return false;
      }
    }
    return true;
  }

  // By the request's own selectors.
  bool IsSelected(std::uint32_t entry) {
    for (std::size_t i = slot().class_selectors; i < slot().selectors.size(); ++i) {
      if (trial_.memo().Ask(slot().selectors[i], entry) != SelectorMemo::Verdict::kTrue) {
        return false;
      }
    }
    return true;
  }

  // What does not match at all comes before what others hold: their end would not help. The search
  // ends at the first thing against a request for all devices, so the others are looked at here.
  StepKind KindOfEntry(std::uint32_t entry, Reason reason) {
    if (!IsSelected(entry)) return StepKind::kSelector;
    const StepKind kind = KindOf(reason);
    if (kind != StepKind::kToBeHad || slot().admin_access) return kind;
    if (trial_.usage().IsExclusive(trial_.inventory().entries()[entry].identity)) {
      return StepKind::kInUse;
    }
    const auto taints = trial_.inventory().TaintsOf(entry);
    const bool tolerated = std::all_of(taints.begin(), taints.end(), [&](const DeviceTaint& taint) {
      const auto& tolerations = slot().wish->tolerations;
      return std::any_of(tolerations.begin(), tolerations.end(),
                         [&](const DeviceToleration& one) { return Tolerates(one, taint); });
    });
    return tolerated ? StepKind::kToBeHad : StepKind::kTaint;
  }

  void AskNode(const NodeState& node, RequestFunnel& funnel) {
    const std::string refusal = RefusalOf(reach_, node);
    const bool fits = allocator_.Check(node.node) == Outcome::Verdict::kFits;
    if (refusal.empty() && fits) ++funnel.nodes_alone;
    std::unordered_map<std::uint32_t, Reason> refused;
    for (const Allocator::Refusal& one : allocator_.Refusals()) refused[one.entry] = one.reason;
    for (const std::uint32_t entry : allocator_.Reached()) {
      const auto found = refused.find(entry);
      const Reason reason = found == refused.end() ? Reason::kNone : found->second;
      Note(entry, refusal.empty() ? KindOfEntry(entry, reason) : StepKind::kNodeRefused, refusal);
    }
    for (const std::uint32_t entry : allocator_.InBrokenPools()) {
      const StepKind kind = IsSelected(entry) ? StepKind::kPool : StepKind::kSelector;
      Note(entry, refusal.empty() ? kind : StepKind::kNodeRefused, refusal);
    }
  }

  // A device that several nodes reach goes by the node where it comes furthest.
  void Note(std::uint32_t entry, StepKind kind, const std::string& why) {
    const auto fate = fates_.find(trial_.inventory().entries()[entry].identity);
    if (fate == fates_.end()) return;
    const bool better = fate->second.kind == StepKind::kNoNode ||
                        (kind != StepKind::kNoNode && kind > fate->second.kind);
    if (better) fate->second = {.entry = entry, .kind = kind, .why = why};
  }

  std::string DetailOf(StepKind kind, const std::vector<const Fate*>& fates) {
    switch (kind) {
      case StepKind::kNodeRefused:
        return Counted(fates, [](const Fate& fate) { return fate.why; });
      case StepKind::kInUse:
        return HoldersOf(fates);
      case StepKind::kSelector:
        return Counted(fates, [this](const Fate& fate) { return SelectorOf(fate.entry); });
      case StepKind::kTaint:
        return Counted(fates, [this](const Fate& fate) { return TaintOf(fate.entry); });
      default:
        return "";
    }
  }

  // The most frequent texts, each with how many devices it is of.
  template <typename TextOf>
  std::string Counted(const std::vector<const Fate*>& fates, TextOf text_of) const {
    std::map<std::string, std::size_t> counts;
    for (const Fate* fate : fates) ++counts[text_of(*fate)];
    std::vector<std::pair<std::size_t, std::string>> sorted;
    for (const auto& [text, count] : counts) sorted.emplace_back(count, text);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<std::string> texts;
    for (const auto& [count, text] : sorted) {
      texts.push_back(counts.size() == 1 ? text : fmt::format("{}: {}", count, text));
    }
    return Listed(texts, kNamesMax);
  }

  // By the Pods of the claims, or by the claims where none uses them.
  std::string HoldersOf(const std::vector<const Fate*>& fates) const {
    std::set<DeviceId> devices;
    for (const Fate* fate : fates) devices.insert(trial_.inventory().IdOf(fate->entry));
    std::set<std::string> names;
    for (const HeldClaim& held : trial_.picture().held) {
      const bool holds =
          std::any_of(held.allocation.devices.begin(), held.allocation.devices.end(),
                      [&](const AllocatedDevice& device) { return devices.contains(device.id); });
      if (!holds) continue;
      for (const ObjectKey& pod : held.pods) names.insert(ToString(pod));
      if (held.pods.empty()) names.insert("claim " + ToString(held.key));
    }
    return Listed({names.begin(), names.end()}, kNamesMax);
  }

  // The first selector of the request that is not true, as the claim has it.
  std::string SelectorOf(std::uint32_t entry) {
    const auto& selectors = claims_[0].requests[0].wishes[0].selectors;
    for (std::size_t i = 0; i < selectors.size(); ++i) {
      const std::uint32_t number = slot().selectors[slot().class_selectors + i];
      if (trial_.memo().Ask(number, entry) != SelectorMemo::Verdict::kTrue) {
        return selectors[i].value_or("a selector that is not CEL");
      }
    }
    return "";
  }

  std::string TaintOf(std::uint32_t entry) const {
    std::set<std::string> keys;
    for (const DeviceTaint& taint : trial_.inventory().TaintsOf(entry)) keys.insert(taint.key);
    const DeviceId id = trial_.inventory().IdOf(entry);
    const auto health = trial_.picture().health.find(id);
    const std::string key = fmt::format("{}", fmt::join(keys, ", "));
    if (health == trial_.picture().health.end()) return key;
    return fmt::format("{}/{} {} ({})", id.pool, id.device, health->second, key);
  }

  Trial& trial_;
  const PodReach& reach_;
  const std::vector<ResourceClaim> claims_;
  const Demand demand_;
  Allocator allocator_;
  std::map<std::uint32_t, Fate> fates_;  // by identity
};

}  // namespace

std::string Listed(const std::vector<std::string>& names, std::size_t shown) {
  if (names.size() <= shown + 1) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} and {} more", fmt::join(std::span(names).first(shown), ", "),
                     names.size() - shown);
}

RequestFunnel FunnelOf(Trial& trial, const PodReach& reach, const ResourceClaim& claim,
                       std::size_t request, std::size_t wish) {
  const DeviceRequest& asked = claim.requests[request];
  const DeviceWish& wanted = asked.wishes[wish];
  RequestFunnel funnel{
      .claim = {claim.name_space, claim.name},
      .request = asked.first_available ? asked.name + "/" + wanted.name : asked.name,
      .class_name = wanted.class_name,
      .all = wanted.mode == DeviceWish::Mode::kAll,
      .wanted = wanted.count};
  Funnel(trial, reach, Only(claim, request, wish)).FillIn(funnel);
  return funnel;
}

}  // namespace galen::alloc
