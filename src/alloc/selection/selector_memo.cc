#include "alloc/selection/selector_memo.h"

#include <algorithm>

namespace galen::alloc {
namespace {

// Mixed as by the golden ratio; tuples are compared anyway.
std::uint64_t HashOf(const std::vector<std::uint32_t>& tuple) {
  std::uint64_t hash = 0x9e3779b97f4a7c15;
  for (const std::uint32_t value : tuple)
    hash ^= value + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);
  return hash;
}

}  // namespace

std::uint32_t SelectorMemo::Add(const std::string& expression) {
  const auto [at, added] =
      by_expression_.try_emplace(expression, static_cast<std::uint32_t>(selectors_.size()));
  if (added) {
    selectors_.emplace_back();
    selectors_.back().expression = expression;
    selectors_.back().verdicts.resize(inventory_.entries().size());
  }
  return at->second;
}

void SelectorMemo::Compile(Entry& selector) {
  selector.compiled = true;
  auto compiled = engine_.Compile(selector.expression);
  selector.status = compiled.status();
  if (!compiled.ok()) return;
  selector.selector = std::move(compiled).value();
  const cel::Reads& reads = selector.selector->reads();
  const Interner& interner = inventory_.interner();
  const auto add = [&selector](std::uint32_t name) {
    if (name != Interner::kNoName) selector.names.push_back(name);
  };
  for (const QualifiedName& name : reads.attributes) add(interner.AttributeName(name));
  for (const QualifiedName& name : reads.capacity) add(interner.CapacityName(name));
}

void SelectorMemo::ReadTuple(const Entry& selector, std::uint32_t entry) {
  const DeviceEntry& device = inventory_.entries()[entry];
  const cel::Reads& reads = selector.selector->reads();
  tuple_.clear();
  if (reads.everything) tuple_.push_back(entry);
  if (reads.driver) {
    const auto next = static_cast<std::uint32_t>(drivers_.size());
    tuple_.push_back(drivers_.try_emplace(device.slice->driver, next).first->second);
  }
  const bool multiple = device.device->facts.allow_multiple_allocations;
  tuple_.push_back((device.has_unknown_kind ? 2u : 0u) |
                   (reads.allow_multiple_allocations && multiple ? 1u : 0u));
  for (const std::uint32_t name : selector.names) tuple_.push_back(inventory_.ValueOf(entry, name));
}

SelectorMemo::Verdict SelectorMemo::Evaluate(const Entry& selector, std::uint32_t entry) {
  ++evaluations_;
  const cel::Outcome outcome =
      selector.selector->Matches(inventory_.entries()[entry].device->facts);
  work_ += 1 + outcome.work;
  switch (outcome.kind) {
    case cel::Outcome::Kind::kTrue:
      return Verdict::kTrue;
    case cel::Outcome::Kind::kFalse:
      return Verdict::kFalse;
    case cel::Outcome::Kind::kError:
      break;
  }
  return Verdict::kError;
}

SelectorMemo::Verdict SelectorMemo::Find(std::uint32_t selector, std::uint32_t entry) {
  Entry& memo = selectors_[selector];
  if (!memo.compiled) Compile(memo);
  Verdict& verdict = memo.verdicts[entry];
  if (!memo.status.ok()) return verdict = Verdict::kError;
  ReadTuple(memo, entry);
  const std::size_t width = tuple_.size();
  const std::uint64_t hash = HashOf(tuple_);
  const auto [begin, end] = memo.by_hash.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    const auto known = memo.tuples.begin() + static_cast<std::ptrdiff_t>(at->second * width);
    if (std::equal(tuple_.begin(), tuple_.end(), known))
      return verdict = memo.tuple_verdicts[at->second];
  }
  if (work_ > kWorkMax) {
    exhausted_ = true;
    return Verdict::kError;
  }
  verdict = Evaluate(memo, entry);
  memo.by_hash.emplace(hash, static_cast<std::uint32_t>(memo.tuple_verdicts.size()));
  memo.tuples.insert(memo.tuples.end(), tuple_.begin(), tuple_.end());
  memo.tuple_verdicts.push_back(verdict);
  return verdict;
}

std::string SelectorMemo::ErrorOf(std::uint32_t selector, std::uint32_t entry) {
  Entry& memo = selectors_[selector];
  if (!memo.compiled) Compile(memo);
  if (!memo.status.ok()) return memo.status.message();
  if (memo.verdicts[entry] == Verdict::kUnknown)
    return "the selector takes too long on this many devices";
  return memo.selector->Matches(inventory_.entries()[entry].device->facts).error;
}

}  // namespace galen::alloc
