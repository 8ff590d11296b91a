// Tested by parser_test.cc.
#include "alloc/cel/macro.h"

#include <algorithm>
#include <optional>

#include "alloc/cel/parser.h"

namespace galen::alloc::cel {
namespace {

// cel-go's names for what a macro collects in, which no variable may take.
bool IsReservedVariable(std::string_view name) { return name == "__result__"; }

Status RefuseMacro(const Expression& at, std::string_view why) {
  return InvalidArgument("{}: {}", ToString(at.position), why);
}

StatusOr<std::string> VariableIn(const Expression& argument) {
  if (argument.kind != Expression::Kind::kName || argument.text.starts_with('.')) {
    return RefuseMacro(argument, "a macro's variable must be a simple name");
  }
  if (IsReservedVariable(argument.text)) {
    return RefuseMacro(argument, "a macro's variable has a reserved name");
  }
  return argument.text;
}

struct FoldMacro {
  std::string_view name;
  std::size_t arguments;
  std::size_t variables;
  Fold fold;
};
constexpr FoldMacro kFoldMacros[] = {
    {"all", 2, 1, Fold::kAll},
    {"all", 3, 2, Fold::kAll},
    {"exists", 2, 1, Fold::kExists},
    {"exists", 3, 2, Fold::kExists},
    {"exists_one", 2, 1, Fold::kExistsOne},
    {"exists_one", 3, 2, Fold::kExistsOne},
    {"existsOne", 3, 2, Fold::kExistsOne},
    {"filter", 2, 1, Fold::kFilter},
    {"map", 2, 1, Fold::kMap},
    {"map", 3, 1, Fold::kMap},
    {"sortBy", 2, 1, Fold::kSortBy},
    {"transformList", 3, 2, Fold::kMap},
    {"transformList", 4, 2, Fold::kMap},
    {"transformMap", 3, 2, Fold::kTransformMap},
    {"transformMap", 4, 2, Fold::kTransformMap},
    {"transformMapEntry", 3, 2, Fold::kTransformMapEntry},
    {"transformMapEntry", 4, 2, Fold::kTransformMapEntry},
};

const FoldMacro* FindFold(const Expression& call) {
  const auto at =
      std::find_if(std::begin(kFoldMacros), std::end(kFoldMacros), [&](const FoldMacro& macro) {
        return macro.name == call.text && macro.arguments + 1 == call.children.size();
      });
  return at == std::end(kFoldMacros) ? nullptr : &*at;
}

StatusOr<ExpressionPointer> ExpandFold(ExpressionPointer call, const FoldMacro& macro) {
  call->kind = Expression::Kind::kFold;
  call->fold = macro.fold;
  ASSIGN_OR_RETURN(call->variable, VariableIn(*call->children[1]));
  if (macro.variables == 2) {
    ASSIGN_OR_RETURN(call->second_variable, VariableIn(*call->children[2]));
    if (call->variable == call->second_variable) {
      return RefuseMacro(*call->children[2], "a macro's two variables have the same name");
    }
  }
  const auto first = call->children.begin() + 1;
  call->children.erase(first, first + static_cast<std::ptrdiff_t>(macro.variables));
  return Checked(std::move(call));
}

StatusOr<ExpressionPointer> ExpandHas(ExpressionPointer call) {
  ExpressionPointer field = std::move(call->children[0]);
  if (field->kind != Expression::Kind::kSelect || field->optional || field->test_only) {
    return RefuseMacro(*call, "has() takes a selection of a field, as in has(a.b)");
  }
  field->test_only = true;
  return field;
}

// cel.bind(variable, value, body)
StatusOr<ExpressionPointer> ExpandBind(ExpressionPointer call) {
  call->kind = Expression::Kind::kBind;
  ASSIGN_OR_RETURN(call->variable, VariableIn(*call->children[1]));
  call->children.erase(call->children.begin(), call->children.begin() + 2);
  return Checked(std::move(call));
}

// optional.optMap(variable, body)
StatusOr<ExpressionPointer> ExpandOptional(ExpressionPointer call, Expression::Kind kind) {
  call->kind = kind;
  ASSIGN_OR_RETURN(call->variable, VariableIn(*call->children[1]));
  call->children.erase(call->children.begin() + 1);
  return Checked(std::move(call));
}

}  // namespace

StatusOr<ExpressionPointer> Checked(ExpressionPointer expression) {
  int below = 0;
  for (const ExpressionPointer& child : expression->children) {
    below = std::max(below, child->depth);
  }
  expression->depth = below + 1;
  if (expression->depth > kDepthMax) return RefuseMacro(*expression, "nested too deep");
  return expression;
}

StatusOr<ExpressionPointer> ExpandMacro(ExpressionPointer call) {
  const std::size_t arguments = call->children.size() - (call->has_target ? 1 : 0);
  if (!call->has_target) {
    if (call->text == "has" && arguments == 1) return ExpandHas(std::move(call));
    return call;
  }
  if (const FoldMacro* macro = FindFold(*call)) return ExpandFold(std::move(call), *macro);
  if (arguments == 2 && call->text == "optMap") {
    return ExpandOptional(std::move(call), Expression::Kind::kOptionalMap);
  }
  if (arguments == 2 && call->text == "optFlatMap") {
    return ExpandOptional(std::move(call), Expression::Kind::kOptionalFlatMap);
  }
  const Expression& target = *call->children[0];
  const bool of_cel = target.kind == Expression::Kind::kName && target.text == "cel";
  if (of_cel && arguments == 3 && call->text == "bind") return ExpandBind(std::move(call));
  return call;
}

}  // namespace galen::alloc::cel
