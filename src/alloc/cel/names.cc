// Tested by checker_test.cc.
#include "alloc/cel/names.h"

#include <utility>

namespace galen::alloc::cel {

std::optional<std::string> QualifiedNameOf(const Expression& expression) {
  if (expression.kind == Expression::Kind::kName) {
    return expression.text.starts_with('.') ? expression.text.substr(1) : expression.text;
  }
  if (expression.kind != Expression::Kind::kSelect || expression.optional || expression.test_only) {
    return std::nullopt;
  }
  const std::optional<std::string> operand = QualifiedNameOf(*expression.children[0]);
  if (!operand) return std::nullopt;
  return *operand + "." + expression.text;
}

std::optional<std::string> QualifiedFunctionOf(const Expression& call) {
  if (!call.has_target) return call.text;
  const std::optional<std::string> target = QualifiedNameOf(*call.children[0]);
  if (!target) return std::nullopt;
  return *target + "." + call.text;
}

std::optional<TypeKind> TypeNamed(std::string_view name) {
  static constexpr std::pair<std::string_view, TypeKind> kTypes[] = {
      {"bool", TypeKind::kBool},
      {"bytes", TypeKind::kBytes},
      {"double", TypeKind::kDouble},
      {"google.protobuf.Duration", TypeKind::kDuration},
      {"google.protobuf.Timestamp", TypeKind::kTimestamp},
      {"int", TypeKind::kInt},
      {"list", TypeKind::kList},
      {"map", TypeKind::kMap},
      {"null_type", TypeKind::kNull},
      {"optional_type", TypeKind::kOptional},
      {"string", TypeKind::kString},
      {"type", TypeKind::kType},
      {"uint", TypeKind::kUint},
  };
  for (const auto& [known, kind] : kTypes) {
    if (known == name) return kind;
  }
  return std::nullopt;
}

}  // namespace galen::alloc::cel
