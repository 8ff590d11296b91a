// The functions of Kubernetes' CEL environment: what each takes and gives, since which release,
// what a call costs, and what runs. One table, immutable; any thread.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "alloc/cel/library/call_cost.h"
#include "alloc/cel/library/type.h"
#include "alloc/cel/values/arena.h"

namespace galen::alloc::cel {

using Implementation = Value (*)(Arena& arena, std::span<const Value> arguments);

// One way to call a function.
struct Overload {
  std::string_view name;
  // Called as a member of its first argument.
  bool member = false;
  std::vector<const Type*> arguments = {};
  const Type* result = nullptr;
  std::size_t variables = 0;
  // Runs only for arguments of these kinds, which the implementation need not look at again.
  // Otherwise the implementation refuses what it does not take.
  bool guarded = true;
  CostRule cost = CostRule::kOne;
  // Releases of Kubernetes 1.x that have it.
  int minor_min = 0;
  int minor_max = 0;
  Implementation run = nullptr;
};

// By name, in the order in which upstream looks at them; empty for a name that there is not.
std::span<const Overload> OverloadsOf(std::string_view name);

// Whether Kubernetes has a function of this name and this program does not: of addresses, URLs,
// formats and authorization.
bool IsUnsupported(std::string_view name);

// Whether the arguments of a call are of the kinds that the overload asks for; of a list or map, as
// its first element says.
bool Takes(const Overload& overload, std::span<const Value> arguments);

}  // namespace galen::alloc::cel
