// What device selectors say of the devices of one inventory, each asked once for devices that are
// alike in what it reads. Belongs to one thread. One byte for each device and selector.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "alloc/cel/program.h"
#include "alloc/device_facts.h"
#include "alloc/selection/inventory.h"
#include "base/status.h"

namespace galen::alloc {

// A compiled selector, as the memo needs one: cel::Program in the product.
class Selector {
 public:
  virtual ~Selector() = default;
  virtual const cel::Reads& reads() const = 0;
  virtual cel::Outcome Matches(const DeviceFacts& device) const = 0;
};

// Makes selectors of expressions: by CEL in the product, by a few words in tests.
class SelectorEngine {
 public:
  virtual ~SelectorEngine() = default;
  // InvalidArgument for what does not compile.
  virtual StatusOr<std::unique_ptr<Selector>> Compile(std::string_view expression) = 0;
};

class SelectorMemo {
 public:
  // Both outlive it.
  SelectorMemo(const Inventory& inventory, SelectorEngine& engine)
      : inventory_(inventory), engine_(engine) {}
  SelectorMemo(const SelectorMemo&) = delete;

  // The number of the expression; not compiled before it is asked for.
  std::uint32_t Add(const std::string& expression);

  // What evaluating for all devices together may take (cel::Outcome::work): seconds. Whoever may
  // make a claim writes the selectors; usual ones take some ten for each kind of device.
  static constexpr std::uint64_t kWorkMax = 100'000'000;

  enum class Verdict : std::uint8_t { kUnknown, kTrue, kFalse, kError };
  // Never kUnknown. kError, too, for what is not known when exhausted().
  Verdict Ask(std::uint32_t selector, std::uint32_t entry) {
    const Verdict known = selectors_[selector].verdicts[entry];
    return known != Verdict::kUnknown ? known : Find(selector, entry);
  }
  // Why Ask said kError: a sentence.
  std::string ErrorOf(std::uint32_t selector, std::uint32_t entry);

  // Whether evaluating has taken more than kWorkMax, and something was not evaluated for that.
  bool exhausted() const { return exhausted_; }
  // Expressions evaluated so far.
  std::uint64_t evaluations() const { return evaluations_; }
  PoolCache& pools() { return pools_; }

 private:
  // Verdicts by the values that the program reads. Those of one tuple lie together.
  struct Entry {
    std::string expression;
    bool compiled = false;
    Status status;
    std::unique_ptr<Selector> selector;
    std::vector<Verdict> verdicts;     // by entry of the inventory
    std::vector<std::uint32_t> names;  // that it reads
    std::vector<std::uint32_t> tuples;
    std::vector<Verdict> tuple_verdicts;
    std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash;
  };

  Verdict Find(std::uint32_t selector, std::uint32_t entry);
  void Compile(Entry& selector);
  void ReadTuple(const Entry& selector, std::uint32_t entry);
  Verdict Evaluate(const Entry& selector, std::uint32_t entry);

  const Inventory& inventory_;
  SelectorEngine& engine_;
  std::vector<Entry> selectors_;
  std::unordered_map<std::string, std::uint32_t> by_expression_;
  std::unordered_map<std::string, std::uint32_t> drivers_;
  std::vector<std::uint32_t> tuple_;  // scratch
  std::uint64_t evaluations_ = 0;
  std::uint64_t work_ = 0;
  bool exhausted_ = false;
  PoolCache pools_;
};

}  // namespace galen::alloc
