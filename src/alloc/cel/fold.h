// The macros that walk over a list or a map: all, exists, exists_one, map, filter, transformMap,
// sortBy. What each step costs is what cel-go's expansion of the macro costs. Belongs to one
// thread.
#pragma once

#include "alloc/cel/expression.h"
#include "alloc/cel/values/arena.h"

namespace galen::alloc::cel {

// Evaluates what a macro says of each element; the evaluator.
class FoldBody {
 public:
  virtual ~FoldBody() = default;
  virtual Value Evaluate(const Expression& body) = 0;
  virtual void SetVariable(int slot, const Value& value) = 0;
  // Whether the evaluation is still within its bounds.
  virtual bool GoesOn() = 0;
};

// REQUIRES: a kFold; the range is no error.
Value FoldOver(const Expression& fold, const Value& range, FoldBody& body, Arena& arena);

}  // namespace galen::alloc::cel
