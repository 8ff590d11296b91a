// Tested by checker_test.cc.
#include "alloc/cel/uniformity.h"

namespace galen::alloc::cel {
namespace {

Status CheckUniform(const Expression& expression) {
  const bool map = expression.kind == Expression::Kind::kMap;
  if (!map && expression.kind != Expression::Kind::kList) return OkStatus();
  for (std::size_t i = map ? 2 : 1; i < expression.children.size(); ++i) {
    const Expression& child = *expression.children[i];
    const Expression& first = *expression.children[map ? i % 2 : 0];
    if (AreSame(*child.type, *first.type)) continue;
    return InvalidArgument("{}: expected type '{}' but found '{}'", ToString(child.position),
                           ToString(*first.type), ToString(*child.type));
  }
  return OkStatus();
}

}  // namespace

Status Finish(Expression& expression, Unifier& unifier) {
  // Parts of a qualified name have no type of their own.
  if (expression.type == nullptr) return OkStatus();
  for (const ExpressionPointer& child : expression.children) {
    RETURN_IF_ERROR(Finish(*child, unifier));
  }
  expression.type = unifier.Known(expression.type, true);
  return CheckUniform(expression);
}

}  // namespace galen::alloc::cel
