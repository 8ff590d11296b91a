#include "alloc/cel/checker.h"

#include <algorithm>
#include <optional>

#include "alloc/cel/call_types.h"
#include "alloc/cel/library/library.h"
#include "alloc/cel/names.h"
#include "alloc/cel/static_types.h"
#include "alloc/cel/uniformity.h"

namespace galen::alloc::cel {
namespace {

using Result = StatusOr<const Type*>;

// A name that a macro gives to a value.
struct Variable {
  std::string_view name;
  const Type* type;
};

// Walks one expression, from the leaves up.
class Checker {
 public:
  Checker(Environment environment, TypePool& pool)
      : environment_(environment),
        pool_(pool),
        unifier_(pool),
        types_of_calls_(environment, unifier_) {}

  Status Run(Expression& expression) {
    ASSIGN_OR_RETURN([[maybe_unused]] const Type* type, CheckOne(expression));
    return Finish(expression, unifier_);
  }

 private:
  template <typename... Args>
  static Status RefuseAt(const Expression& at, fmt::format_string<Args...> format, Args&&... args) {
    return InvalidArgument("{}: {}", ToString(at.position),
                           fmt::format(format, std::forward<Args>(args)...));
  }

  Result CheckOne(Expression& expression) {
    ASSIGN_OR_RETURN(expression.type, TypeOf(expression));
    return expression.type;
  }

  Result TypeOf(Expression& expression) {
    using K = Expression::Kind;
    switch (expression.kind) {
      case K::kConstant:
        return TypeOfConstant(expression.constant);
      case K::kName:
        return OfName(expression);
      case K::kSelect:
        return OfSelect(expression);
      case K::kIndex:
        return OfIndex(expression);
      case K::kCall:
        return OfCall(expression);
      case K::kAnd:
      case K::kOr:
        return OfLogical(expression);
      case K::kConditional:
        return OfConditional(expression);
      case K::kList:
        return OfList(expression);
      case K::kMap:
        return OfMap(expression);
      case K::kMarked:
        return OfMarked(expression);
      case K::kMessage:
        return OfMessage(expression);
      case K::kFold:
        return OfFold(expression);
      case K::kBind:
        return OfBind(expression);
      case K::kOptionalMap:
        return OfOptionalMap(expression);
      case K::kOptionalFlatMap:
        return OfOptionalFlatMap(expression);
      case K::kLocal:
      case K::kRead:
      case K::kPattern:
        break;
    }
    GALEN_UNREACHABLE();
  }

  // ---- Literals and names
  const Type* FindLocal(std::string_view name) const {
    for (auto at = scope_.rbegin(); at != scope_.rend(); ++at) {
      if (at->name == name) return at->type;
    }
    return nullptr;
  }

  Result OfName(const Expression& name) {
    if (const Type* local = FindLocal(name.text)) return local;
    std::string_view global = name.text;
    if (global.starts_with('.')) global.remove_prefix(1);
    if (global == "device") return Simple(TypeKind::kDevice);
    if (const std::optional<TypeKind> kind = TypeNamed(global)) return TypeOfType(*kind);
    return RefuseAt(name, "undeclared reference to '{}'", name.text);
  }

  const Type* TypeOfType(TypeKind kind) {
    if (kind == TypeKind::kList) return pool_.TypeOf(pool_.List(unifier_.Fresh()));
    if (kind == TypeKind::kMap) {
      return pool_.TypeOf(pool_.Map(unifier_.Fresh(), unifier_.Fresh()));
    }
    if (kind == TypeKind::kOptional) return pool_.TypeOf(pool_.Optional(unifier_.Fresh()));
    return pool_.TypeOf(Simple(kind));
  }

  bool IsLocal(std::string_view qualified) const {
    return FindLocal(qualified.substr(0, qualified.find('.'))) != nullptr;
  }

  // ---- Selections
  Result OfSelect(Expression& select) {
    const std::optional<std::string> qualified = QualifiedNameOf(select);
    if (qualified && !IsLocal(*qualified)) {
      if (const std::optional<TypeKind> kind = TypeNamed(*qualified)) return TypeOfType(*kind);
    }
    ASSIGN_OR_RETURN(const Type* operand, CheckOne(*select.children[0]));
    operand = unifier_.Known(operand);
    const bool of_optional = operand->kind == TypeKind::kOptional;
    if (of_optional) operand = operand->parameters[0];
    ASSIGN_OR_RETURN(const Type* field, OfField(select, unifier_.Known(operand)));
    if (select.test_only) return Simple(TypeKind::kBool);
    return of_optional || select.optional ? pool_.Optional(field) : field;
  }

  Result OfField(const Expression& select, const Type* operand) {
    switch (operand->kind) {
      case TypeKind::kMap:
        return operand->parameters[1];
      case TypeKind::kDevice:
        return OfDeviceField(select);
      case TypeKind::kQuantity:
      case TypeKind::kSemver:
        return RefuseAt(select, "undefined field '{}'", select.text);
      case TypeKind::kDyn:
      case TypeKind::kAny:
        return Simple(TypeKind::kDyn);
      case TypeKind::kVariable:
        unifier_.Assign(Simple(TypeKind::kDyn), operand);
        return Simple(TypeKind::kDyn);
      default:
        return RefuseAt(select, "type '{}' does not support field selection", ToString(*operand));
    }
  }

  Result OfDeviceField(const Expression& select) {
    const Type* type = TypeOfDeviceField(select.text, environment_, pool_);
    if (type == nullptr) return RefuseAt(select, "undefined field '{}'", select.text);
    return type;
  }

  // ---- Calls
  Result Resolve(const Expression& at, const CallShape& call,
                 std::vector<const Overload*>* fitting = nullptr) {
    ASSIGN_OR_RETURN(CallType type, types_of_calls_.Resolve(at.position, call));
    if (fitting != nullptr) *fitting = std::move(type.overloads);
    return type.result;
  }

  Result OfCall(Expression& call) {
    const std::optional<std::string> qualified = QualifiedFunctionOf(call);
    const bool is_qualified = qualified && call.has_target &&
                              (types_of_calls_.Has(*qualified) || IsUnsupported(*qualified));
    if (is_qualified) {
      call.text = *qualified;
      call.has_target = false;
      call.children.erase(call.children.begin());
    } else if (!call.has_target && call.text.starts_with('.')) {
      call.text.erase(0, 1);
    }
    CallShape shape{.name = call.text, .member = call.has_target};
    for (const ExpressionPointer& argument : call.children) {
      ASSIGN_OR_RETURN(const Type* type, CheckOne(*argument));
      shape.arguments.push_back(type);
    }
    if (call.text != "@in") RETURN_IF_ERROR(types_of_calls_.Demand(call.position, call.text));
    return Resolve(call, shape, &call.overloads);
  }

  Result OfIndex(Expression& index) {
    CallShape shape{.name = index.optional ? "_[?_]" : "_[_]"};
    for (const ExpressionPointer& child : index.children) {
      ASSIGN_OR_RETURN(const Type* type, CheckOne(*child));
      shape.arguments.push_back(type);
    }
    return Resolve(index, shape);
  }

  Result OfLogical(Expression& logical) {
    const Type* boolean = Simple(TypeKind::kBool);
    for (const ExpressionPointer& term : logical.children) {
      ASSIGN_OR_RETURN(const Type* type, CheckOne(*term));
      RETURN_IF_ERROR(Demand(*term, type, boolean));
    }
    return boolean;
  }

  Status Demand(const Expression& at, const Type* type, const Type* wanted) {
    if (unifier_.Assign(type, wanted)) return OkStatus();
    return RefuseAt(at, "expected type '{}' but found '{}'",
                    ToString(*unifier_.Known(wanted, true)), ToString(*unifier_.Known(type, true)));
  }

  Result OfConditional(Expression& choice) {
    CallShape shape{.name = "_?_:_"};
    for (const ExpressionPointer& child : choice.children) {
      ASSIGN_OR_RETURN(const Type* type, CheckOne(*child));
      shape.arguments.push_back(type);
    }
    return Resolve(choice, shape);
  }

  // ---- Lists and maps. That they are of one type is looked at in the end (Finish).
  const Type* Joined(const Type* before, const Type* type) {
    if (before == nullptr) return type;
    if (unifier_.Assign(before, type)) return Unifier::MoreGeneral(before, type);
    return Simple(TypeKind::kDyn);
  }

  // The value's type, without the optional that a marked one is.
  Result OfMarked(Expression& marked) {
    ASSIGN_OR_RETURN(const Type* type, CheckOne(*marked.children[0]));
    type = unifier_.Known(type);
    if (type->kind == TypeKind::kOptional) return type->parameters[0];
    if (IsDynamic(*type)) return type;
    return RefuseAt(marked, "expected type 'optional_type({})' but found '{}'", ToString(*type),
                    ToString(*type));
  }

  Result OfList(Expression& list) {
    const Type* element = nullptr;
    for (const ExpressionPointer& child : list.children) {
      ASSIGN_OR_RETURN(const Type* type, CheckOne(*child));
      element = Joined(element, type);
    }
    return pool_.List(element == nullptr ? unifier_.Fresh() : element);
  }

  Result OfMap(Expression& map) {
    const Type* sides[2] = {nullptr, nullptr};
    for (std::size_t i = 0; i < map.children.size(); ++i) {
      ASSIGN_OR_RETURN(const Type* type, CheckOne(*map.children[i]));
      sides[i % 2] = Joined(sides[i % 2], type);
    }
    for (const Type*& side : sides) {
      if (side == nullptr) side = unifier_.Fresh();
    }
    return pool_.Map(sides[0], sides[1]);
  }

  Result OfMessage(const Expression& message) {
    const std::optional<std::string> name = QualifiedNameOf(*message.children[0]);
    if (name && name->starts_with("google.protobuf.")) {
      return Unimplemented("{}: the message {} is not supported here", ToString(message.position),
                           *name);
    }
    return RefuseAt(message, "undeclared reference to '{}'", name.value_or(""));
  }

  // ---- Macros
  // What a macro's variables are of: elements and indexes of a list, keys and values of a map.
  struct RangeTypes {
    const Type* first = Simple(TypeKind::kDyn);
    const Type* second = Simple(TypeKind::kDyn);
  };
  StatusOr<RangeTypes> TypesOfRange(Expression& fold) {
    ASSIGN_OR_RETURN(const Type* range, CheckOne(*fold.children[0]));
    range = unifier_.Known(range);
    switch (range->kind) {
      case TypeKind::kList:
        if (fold.second_variable.empty()) return RangeTypes{.first = range->parameters[0]};
        return RangeTypes{.first = Simple(TypeKind::kInt), .second = range->parameters[0]};
      case TypeKind::kMap:
        return RangeTypes{.first = range->parameters[0], .second = range->parameters[1]};
      case TypeKind::kVariable:
        unifier_.Assign(Simple(TypeKind::kDyn), range);
        [[fallthrough]];
      case TypeKind::kDyn:
        return RangeTypes{};
      default:
        return RefuseAt(fold, "expression of type '{}' cannot be range of a comprehension",
                        ToString(*unifier_.Known(range, true)));
    }
  }

  Result OfFold(Expression& fold) {
    ASSIGN_OR_RETURN(const RangeTypes range, TypesOfRange(fold));
    scope_.push_back({fold.variable, range.first});
    if (!fold.second_variable.empty()) scope_.push_back({fold.second_variable, range.second});
    const std::size_t last = fold.children.size() - 1;
    for (std::size_t i = 1; i <= last; ++i) {
      ASSIGN_OR_RETURN(const Type* type, CheckOne(*fold.children[i]));
      // All but the last are conditions.
      if (i < last) RETURN_IF_ERROR(Demand(*fold.children[i], type, Simple(TypeKind::kBool)));
    }
    scope_.resize(scope_.size() - (fold.second_variable.empty() ? 1 : 2));
    return OfFoldResult(fold, range, *fold.children[last]);
  }

  Result OfFoldResult(Expression& fold, const RangeTypes& range, const Expression& last) {
    switch (fold.fold) {
      case Fold::kAll:
      case Fold::kExists:
      case Fold::kExistsOne:
        RETURN_IF_ERROR(Demand(last, last.type, Simple(TypeKind::kBool)));
        return Simple(TypeKind::kBool);
      case Fold::kFilter:
        RETURN_IF_ERROR(Demand(last, last.type, Simple(TypeKind::kBool)));
        return pool_.List(range.first);
      case Fold::kMap:
        return pool_.List(last.type);
      case Fold::kTransformMap:
        return pool_.Map(range.first, last.type);
      case Fold::kTransformMapEntry: {
        const Type* map = pool_.Map(unifier_.Fresh(), unifier_.Fresh());
        RETURN_IF_ERROR(Demand(last, last.type, map));
        return unifier_.Known(map);
      }
      case Fold::kSortBy:
        return OfSortBy(fold, last);
    }
    GALEN_UNREACHABLE();
  }

  Result OfSortBy(Expression& fold, const Expression& key) {
    using K = Expression::Kind;
    const K range = fold.children[0]->kind;
    if (range == K::kConstant || range == K::kMap) {
      return RefuseAt(fold, "sortBy sorts a list");
    }
    const CallShape shape{.name = "@sortByKeys",
                          .member = true,
                          .arguments = {fold.children[0]->type, pool_.List(key.type)}};
    return Resolve(fold, shape, &fold.overloads);
  }

  Result OfBind(Expression& bind) {
    ASSIGN_OR_RETURN(const Type* value, CheckOne(*bind.children[0]));
    return OfBody(bind, value);
  }
  Result OfBody(Expression& macro, const Type* variable) {
    scope_.push_back({macro.variable, variable});
    ASSIGN_OR_RETURN(const Type* body, CheckOne(*macro.children[1]));
    scope_.pop_back();
    return body;
  }

  // What is in the optional that the macro is called on.
  Result OfOptionalOperand(Expression& macro) {
    ASSIGN_OR_RETURN(const Type* operand, CheckOne(*macro.children[0]));
    const Type* value = unifier_.Fresh();
    RETURN_IF_ERROR(Demand(*macro.children[0], operand, pool_.Optional(value)));
    return unifier_.Known(value);
  }
  Result OfOptionalMap(Expression& macro) {
    ASSIGN_OR_RETURN(const Type* value, OfOptionalOperand(macro));
    ASSIGN_OR_RETURN(const Type* body, OfBody(macro, value));
    return pool_.Optional(body);
  }
  Result OfOptionalFlatMap(Expression& macro) {
    ASSIGN_OR_RETURN(const Type* value, OfOptionalOperand(macro));
    ASSIGN_OR_RETURN(const Type* body, OfBody(macro, value));
    RETURN_IF_ERROR(Demand(*macro.children[1], body, pool_.Optional(unifier_.Fresh())));
    return body;
  }

  const Environment environment_;
  TypePool& pool_;
  Unifier unifier_;
  CallTypes types_of_calls_;
  std::vector<Variable> scope_;
};

}  // namespace

Status Check(Expression& expression, Environment environment, TypePool& pool) {
  return Checker(environment, pool).Run(expression);
}

Status CheckSelector(Expression& expression, Environment environment, TypePool& pool) {
  RETURN_IF_ERROR(Check(expression, environment, pool));
  const TypeKind kind = expression.type->kind;
  if (kind == TypeKind::kBool || kind == KindOfAttributes(environment)) return OkStatus();
  return InvalidArgument("must evaluate to bool or the unknown type, not {}",
                         ToString(*expression.type));
}

}  // namespace galen::alloc::cel
