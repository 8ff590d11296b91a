// Which overloads of a function a call may be of, by the types of its arguments. Belongs to one
// thread.
#pragma once

#include <string_view>
#include <vector>

#include "alloc/cel/lexer.h"
#include "alloc/cel/library/library.h"
#include "alloc/cel/library/type.h"
#include "alloc/cel/program.h"
#include "base/status.h"

namespace galen::alloc::cel {

// A call as the choice of an overload sees it.
struct CallShape {
  std::string_view name;
  // The first argument is what it is called on.
  bool member = false;
  std::vector<const Type*> arguments = {};
};

// What a call gives, and what may run for it.
struct CallType {
  const Type* result = nullptr;
  std::vector<const Overload*> overloads = {};
};

class CallTypes {
 public:
  // Borrows the unifier, which learns of each call.
  CallTypes(Environment environment, Unifier& unifier)
      : environment_(environment), unifier_(unifier) {}

  // Whether an expression of this release may call a function of that name.
  bool Has(std::string_view name) const;
  // OK if so. Unimplemented, with the name, for a function that this program does not have.
  Status Demand(Position position, std::string_view name) const;
  // All overloads that fit: with a dyn among the arguments several may. InvalidArgument when none
  // does.
  StatusOr<CallType> Resolve(Position position, const CallShape& call);

 private:
  bool IsOfThisRelease(const Overload& overload) const;
  bool HasShape(const Overload& overload, const CallShape& call) const;
  // The result's type, or null when the arguments do not fit.
  const Type* Fit(const Overload& overload, const CallShape& call);
  Status Refuse(Position position, const CallShape& call);

  const Environment environment_;
  Unifier& unifier_;
};

}  // namespace galen::alloc::cel
