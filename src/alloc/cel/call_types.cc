// Tested by checker_test.cc.
#include "alloc/cel/call_types.h"

#include <algorithm>

namespace galen::alloc::cel {

bool CallTypes::IsOfThisRelease(const Overload& overload) const {
  return overload.minor_min <= environment_.minor && environment_.minor <= overload.minor_max;
}

bool CallTypes::Has(std::string_view name) const {
  const std::span<const Overload> overloads = OverloadsOf(name);
  return !name.starts_with('@') &&
         std::any_of(overloads.begin(), overloads.end(),
                     [this](const Overload& overload) { return IsOfThisRelease(overload); });
}

Status CallTypes::Demand(Position position, std::string_view name) const {
  if (Has(name)) return OkStatus();
  if (IsUnsupported(name)) {
    return Unimplemented("{}: the function {} is not supported here", ToString(position), name);
  }
  return InvalidArgument("{}: undeclared reference to '{}'", ToString(position), name);
}

bool CallTypes::HasShape(const Overload& overload, const CallShape& call) const {
  return IsOfThisRelease(overload) && overload.member == call.member &&
         overload.arguments.size() == call.arguments.size();
}

const Type* CallTypes::Fit(const Overload& overload, const CallShape& call) {
  std::vector<const Type*> variables;
  for (std::size_t i = 0; i < overload.variables; ++i) variables.push_back(unifier_.Fresh());
  std::vector<const Type*> wanted;
  for (const Type* argument : overload.arguments) {
    wanted.push_back(unifier_.Instantiate(argument, variables));
  }
  if (!unifier_.AssignAll(call.arguments, wanted)) return nullptr;
  return unifier_.Known(unifier_.Instantiate(overload.result, variables));
}

StatusOr<CallType> CallTypes::Resolve(Position position, const CallShape& call) {
  CallType type;
  for (const Overload& overload : OverloadsOf(call.name)) {
    if (!HasShape(overload, call)) continue;
    const Type* result = Fit(overload, call);
    if (result == nullptr) continue;
    type.overloads.push_back(&overload);
    if (type.result == nullptr) {
      type.result = result;
    } else if (!IsDynamic(*type.result) && !AreSame(*type.result, *result)) {
      type.result = Simple(TypeKind::kDyn);
    }
  }
  if (type.result == nullptr) return Refuse(position, call);
  return type;
}

Status CallTypes::Refuse(Position position, const CallShape& call) {
  std::string arguments;
  for (const Type* argument : call.arguments) {
    if (!arguments.empty()) arguments += ", ";
    arguments += ToString(*unifier_.Known(argument, true));
  }
  return InvalidArgument("{}: found no matching overload for '{}' applied to '({})'",
                         ToString(position), call.name, arguments);
}

}  // namespace galen::alloc::cel
