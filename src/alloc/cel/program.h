// A device selector in CEL, compiled once and evaluated for many devices. Immutable after Compile;
// any thread. What it means is what Kubernetes' DRA scheduler plugin makes of it
// (k8s.io/dynamic-resource-allocation/cel, environment "StoredExpressions").
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "alloc/device_facts.h"
#include "base/status.h"

namespace galen::alloc::cel {

// Which Kubernetes: 34 is 1.34. Names and functions differ from one to the next.
struct Environment {
  int minor = 37;

  auto operator<=>(const Environment&) const = default;
};

// What one evaluation may cost, in CEL's units (resource.k8s.io CELSelectorExpressionMaxCost), and
// the longest text that the API takes (CELSelectorExpressionMaxLength), in bytes.
inline constexpr std::uint64_t kCostMax = 1'000'000;
inline constexpr std::size_t kExpressionLengthMax = 10 * 1024;

// What evaluating said of a device.
struct Outcome {
  enum class Kind { kTrue, kFalse, kError };
  Kind kind = Kind::kFalse;
  std::string error = {};  // a sentence, with kError
  // What evaluating took: units of CEL's cost and steps, of which each takes at most about 100 ns.
  std::uint64_t work = 0;

  bool operator==(const Outcome&) const = default;
};

// What a program reads of a device, so that devices alike in it need one evaluation.
struct Reads {
  // It reads something by a name that is not known before, or all names: only equal devices are
  // alike. Otherwise `attributes` and `capacity` name all that it reads.
  bool everything = false;
  bool driver = false;
  bool allow_multiple_allocations = false;
  std::vector<QualifiedName> attributes = {};
  std::vector<QualifiedName> capacity = {};
};

class Program {
 public:
  // InvalidArgument, with line and column, for what does not compile; Unimplemented, with the name,
  // for a function of Kubernetes' environment that this program does not have.
  static StatusOr<Program> Compile(std::string_view text, Environment environment = {});
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  const std::string& text() const;
  const Reads& reads() const;
  // Never fails otherwise than by kError: a value of the wrong kind, a missing key, too high a
  // cost.
  Outcome Matches(const DeviceFacts& device) const;
  // What Matches() costs for the device, in CEL's units: above kCostMax it is an error.
  std::uint64_t Cost(const DeviceFacts& device) const;

 private:
  struct Impl;
  explicit Program(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace galen::alloc::cel
