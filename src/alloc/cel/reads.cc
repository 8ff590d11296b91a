// Tested by program_test.cc.
#include "alloc/cel/reads.h"

#include <algorithm>

namespace galen::alloc::cel {
namespace {

void Collect(const Expression& expression, Reads& reads) {
  for (const ExpressionPointer& child : expression.children) Collect(*child, reads);
  if (expression.kind != Expression::Kind::kRead) return;
  switch (expression.part) {
    case Part::kDriver:
      reads.driver = true;
      break;
    case Part::kAllowMultipleAllocations:
      reads.allow_multiple_allocations = true;
      break;
    case Part::kAttribute:
      reads.attributes.push_back({expression.domain, expression.id});
      break;
    case Part::kCapacity:
      reads.capacity.push_back({expression.domain, expression.id});
      break;
    case Part::kNone:
    case Part::kDevice:
    case Part::kAttributes:
    case Part::kAttributeDomain:
    case Part::kCapacities:
    case Part::kCapacityDomain:
      reads.everything = true;
  }
}

void SortNames(std::vector<QualifiedName>& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

}  // namespace

Reads ReadsOf(const Expression& expression) {
  Reads reads;
  Collect(expression, reads);
  SortNames(reads.attributes);
  SortNames(reads.capacity);
  return reads;
}

}  // namespace galen::alloc::cel
