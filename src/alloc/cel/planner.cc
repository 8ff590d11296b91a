#include "alloc/cel/planner.h"

#include <algorithm>
#include <optional>

#include "alloc/cel/evaluator.h"
#include "alloc/cel/library/library.h"
#include "alloc/cel/names.h"
#include "alloc/cel/reads.h"

namespace galen::alloc::cel {
namespace {

using PlannedKind = Expression::Kind;

// A variable of a macro: where its value is, or the part of the device that it is another name of.
struct Place {
  std::string_view name;
  int slot = 0;
  Part part = Part::kNone;
  std::string domain = {};
  std::string id = {};
};

bool IsRead(const Expression& expression, Part part) {
  return expression.kind == PlannedKind::kRead && expression.part == part && !expression.test_only;
}

// What is reached from one part by a name; kNone when that is not a part.
Part PartBelow(Part part, std::string_view name) {
  switch (part) {
    case Part::kDevice:
      if (name == "driver") return Part::kDriver;
      if (name == "allowMultipleAllocations") return Part::kAllowMultipleAllocations;
      if (name == "attributes") return Part::kAttributes;
      return name == "capacity" ? Part::kCapacities : Part::kNone;
    case Part::kAttributes:
      return Part::kAttributeDomain;
    case Part::kAttributeDomain:
      return Part::kAttribute;
    case Part::kCapacities:
      return Part::kCapacityDomain;
    case Part::kCapacityDomain:
      return Part::kCapacity;
    default:
      return Part::kNone;
  }
}

// cel-go folds calls of these with a constant, and refuses the program where that fails.
bool IsConversion(std::string_view function) {
  for (const std::string_view name : {"bool", "bytes", "double", "duration", "dyn", "int", "string",
                                      "timestamp", "type", "uint"}) {
    if (function == name) return true;
  }
  return false;
}

bool IsPatternFunction(std::string_view function) {
  return function == "matches" || function == "find" || function == "findAll";
}

// What reading a value by its name costs is counted once for the whole of a.b.c.
bool IsAttribute(const Expression& expression) {
  switch (expression.kind) {
    case PlannedKind::kLocal:
    case PlannedKind::kRead:
    case PlannedKind::kSelect:
    case PlannedKind::kIndex:
    case PlannedKind::kConditional:
      return true;
    default:
      return false;
  }
}

// Each has memory of its own, and whoever may make a claim writes them.
constexpr int kPatternsMax = 24;

constexpr std::uint64_t kListLiteralCost = 10;
constexpr std::uint64_t kMapLiteralCost = 30;

// Walks one expression from the leaves up, changing it in place.
class Planner {
 public:
  explicit Planner(Arena& constants) : constants_(constants) {}

  StatusOr<Plan> Run(ExpressionPointer& expression) {
    RETURN_IF_ERROR(One(expression));
    plan_.reads = ReadsOf(*expression);
    return std::move(plan_);
  }

 private:
  Status One(ExpressionPointer& expression) {
    if (expression->kind == PlannedKind::kName) return OfNameHere(*expression);
    if (IsTypeName(*expression)) return OkStatus();
    RETURN_IF_ERROR(Children(*expression));
    switch (expression->kind) {
      case PlannedKind::kConstant:
        expression->free_constant = true;
        return OkStatus();
      case PlannedKind::kSelect:
        return OfSelection(expression, expression->text);
      case PlannedKind::kIndex:
        return OfIndexHere(expression);
      case PlannedKind::kCall:
        return OfCallHere(expression);
      case PlannedKind::kList:
      case PlannedKind::kMap:
        FoldLiteral(*expression);
        return OkStatus();
      case PlannedKind::kBind:
        DropAlias(*expression);
        return OkStatus();
      default:
        return OkStatus();
    }
  }

  // The children, those of a macro with its variables in scope.
  Status Children(Expression& expression) {
    const bool has_variable = !expression.variable.empty();
    for (std::size_t i = 0; i < expression.children.size(); ++i) {
      if (i == 1 && has_variable) Open(expression);
      RETURN_IF_ERROR(One(expression.children[i]));
    }
    if (has_variable) Close(expression);
    return OkStatus();
  }

  void Open(Expression& macro) {
    macro.slot = slots_in_use_;
    Place first{.name = macro.variable, .slot = slots_in_use_};
    const Expression& value = *macro.children[0];
    if (IsAlias(macro)) {
      first.part = value.part;
      first.domain = value.domain;
      first.id = value.id;
    }
    places_.push_back(std::move(first));
    slots_in_use_ += 1;
    if (!macro.second_variable.empty()) {
      places_.push_back({.name = macro.second_variable, .slot = *macro.slot + 1});
      slots_in_use_ += 1;
    }
    plan_.slots = std::max(plan_.slots, slots_in_use_);
  }
  // cel.bind(a, device.attributes["domain"], a.x && a.y) reads x and y, and never all of the
  // domain.
  static bool IsAlias(const Expression& macro) {
    const Expression& value = *macro.children[0];
    return macro.kind == PlannedKind::kBind && value.kind == PlannedKind::kRead &&
           !value.optional && !value.test_only;
  }
  static void DropAlias(Expression& bind) {
    if (!IsAlias(bind)) return;
    Expression& value = *bind.children[0];
    value.kind = PlannedKind::kConstant;
    value.constant = Value();
  }
  void Close(const Expression& macro) {
    const int count = macro.second_variable.empty() ? 1 : 2;
    places_.resize(places_.size() - static_cast<std::size_t>(count));
    slots_in_use_ -= count;
  }

  const Place* FindPlace(std::string_view name) const {
    for (auto at = places_.rbegin(); at != places_.rend(); ++at) {
      if (at->name == name) return &*at;
    }
    return nullptr;
  }

  // ---- Names
  Status OfNameHere(Expression& name) {
    if (const Place* place = FindPlace(name.text)) {
      if (place->part != Part::kNone) {
        Become(name, place->part, place->domain, place->id);
      } else {
        name.kind = PlannedKind::kLocal;
      }
      name.slot = place->slot;
    } else if (MakeTypeConstant(name)) {
      return OkStatus();
    } else {
      Become(name, Part::kDevice, "", "");
    }
    name.cost = 1;
    return OkStatus();
  }

  static void Become(Expression& expression, Part part, std::string domain, std::string id) {
    expression.kind = PlannedKind::kRead;
    expression.part = part;
    expression.domain = std::move(domain);
    expression.id = std::move(id);
  }

  // google.protobuf.Timestamp, which is no selection.
  bool IsTypeName(Expression& expression) {
    if (expression.kind != PlannedKind::kSelect) return false;
    const std::optional<std::string> name = QualifiedNameOf(expression);
    if (!name || FindPlace(name->substr(0, name->find('.'))) != nullptr) return false;
    return MakeTypeConstant(expression);
  }

  bool MakeTypeConstant(Expression& expression) {
    const std::optional<std::string> name = QualifiedNameOf(expression);
    if (!name || !TypeNamed(*name)) return false;
    expression.kind = PlannedKind::kConstant;
    expression.text = *name;
    expression.constant = Value::TypeName(expression.text);
    expression.children.clear();
    return true;
  }

  // ---- Selections of parts of the device
  Status OfIndexHere(ExpressionPointer& index) {
    const Expression& at = *index->children[1];
    if (at.kind == PlannedKind::kConstant && at.constant.is(Kind::kString)) {
      const std::string name(at.constant.text());
      return OfSelection(index, name);
    }
    // What is read to be the index is not counted as an index once more.
    index->cost = SelectionCost(*index) - (IsAttribute(at) ? 1 : 0);
    return OkStatus();
  }

  static std::uint64_t SelectionCost(const Expression& selection) {
    const std::uint64_t cost = IsAttribute(*selection.children[0]) ? 1 : 2;
    // has() costs nothing of itself.
    return selection.test_only ? cost - 1 : cost;
  }

  // expression.name or expression["name"]
  Status OfSelection(ExpressionPointer& selection, const std::string& name) {
    selection->cost = SelectionCost(*selection);
    Expression& operand = *selection->children[0];
    if (operand.kind != PlannedKind::kRead || operand.test_only) return OkStatus();
    const Part part = PartBelow(operand.part, name);
    if (part == Part::kNone) return OkStatus();
    // Where optionals are, only what is always there goes on as one read.
    if (operand.optional && part != Part::kAttribute && part != Part::kCapacity) return OkStatus();
    const bool is_domain = part == Part::kAttributeDomain || part == Part::kCapacityDomain;
    selection->cost += operand.cost;
    selection->slot = operand.slot;
    selection->optional = selection->optional || operand.optional;
    std::string domain = is_domain ? name : operand.domain;
    std::string id = is_domain ? "" : name;
    Become(*selection, part, std::move(domain), std::move(id));
    selection->children.clear();
    return OkStatus();
  }

  // ---- Calls
  Status OfCallHere(ExpressionPointer& call) {
    if (call->text == "@in" && (TakeInAsRead(call) || TakeInOfConstants(*call))) return OkStatus();
    RETURN_IF_ERROR(CheckGlobalPattern(*call));
    if (IsPatternFunction(call->text)) RETURN_IF_ERROR(TakePattern(*call));
    return FoldCall(*call);
  }

  // "name" in device.attributes["domain"]
  static bool TakeInAsRead(ExpressionPointer& call) {
    const Expression& key = *call->children[0];
    Expression& map = *call->children[1];
    if (key.kind != PlannedKind::kConstant || !key.constant.is(Kind::kString) || map.optional) {
      return false;
    }
    Part part = Part::kNone;
    if (IsRead(map, Part::kAttributeDomain)) part = Part::kAttribute;
    if (IsRead(map, Part::kCapacityDomain)) part = Part::kCapacity;
    if (part == Part::kNone) return false;
    const std::uint64_t cost = map.cost + 1;
    const std::optional<int> slot = map.slot;
    std::string domain = map.domain, id(key.constant.text());
    Become(*call, part, std::move(domain), std::move(id));
    call->children.clear();
    call->overloads.clear();
    call->test_only = true;
    call->cost = cost;
    call->slot = slot;
    return true;
  }

  // x in ["a", "b"] costs nothing but x, and of an empty list not even that.
  static bool TakeInOfConstants(Expression& call) {
    const Expression& list = *call.children[1];
    if (!list.free_constant || !list.constant.is(Kind::kList)) return false;
    const List& elements = list.constant.list();
    if (elements.size == 0) {
      call.kind = PlannedKind::kConstant;
      call.constant = Value::Bool(false);
      call.free_constant = true;
      call.children.clear();
      return true;
    }
    for (std::size_t i = 0; i < elements.size; ++i) {
      if (!IsKey(At(elements, i))) return false;
    }
    call.costs_nothing = true;
    return true;
  }

  static const Expression* ConstantText(const Expression& call, std::size_t argument) {
    if (argument >= call.children.size()) return nullptr;
    const Expression& child = *call.children[argument];
    const bool is = child.kind == PlannedKind::kConstant && child.constant.is(Kind::kString);
    return is && child.free_constant ? &child : nullptr;
  }

  // Upstream's check of literals takes the text of matches(text, expression) for the expression.
  static Status CheckGlobalPattern(const Expression& call) {
    if (call.text != "matches" || call.has_target) return OkStatus();
    const Expression* text = ConstantText(call, 0);
    if (text == nullptr) return OkStatus();
    return CompileAt(*text).status();
  }

  static StatusOr<std::unique_ptr<Pattern>> CompileAt(const Expression& literal) {
    StatusOr<std::unique_ptr<Pattern>> pattern = Pattern::Compile(literal.constant.text());
    if (!pattern.ok()) return Annotate(pattern.status(), "{}", ToString(literal.position));
    return pattern;
  }

  Status TakePattern(Expression& call) {
    const Expression* literal = ConstantText(call, 1);
    if (literal == nullptr) return OkStatus();
    if (++patterns_ > kPatternsMax) {
      return Unimplemented("{}: more than {} regular expressions are not supported here",
                           ToString(call.position), kPatternsMax);
    }
    ASSIGN_OR_RETURN(call.pattern, CompileAt(*literal));
    return OkStatus();
  }

  static bool AreConstants(const Expression& expression) {
    return std::all_of(
        expression.children.begin(), expression.children.end(),
        [](const ExpressionPointer& child) { return child->kind == PlannedKind::kConstant; });
  }
  static bool AreFree(const Expression& expression) {
    return std::all_of(expression.children.begin(), expression.children.end(),
                       [](const ExpressionPointer& child) { return child->free_constant; });
  }

  // Quantities and versions, too, which is what makes comparing with them quick. Where the result
  // is an error it stays a call, which fails when it is evaluated.
  Status FoldCall(Expression& call) {
    const bool folds = IsConversion(call.text) || call.text == "quantity" || call.text == "semver";
    if (!folds || call.children.empty() || !AreConstants(call)) return OkStatus();
    const bool conversion = IsConversion(call.text) && call.children.size() == 1 && AreFree(call);
    const std::uint64_t before = constants_.cost();
    const Value value = EvaluateConstant(call, constants_);
    if (value.IsError()) {
      if (!conversion) return OkStatus();
      return InvalidArgument("{}: {}", ToString(call.position), value.text());
    }
    // Its children stay: the value may refer to their texts.
    call.kind = PlannedKind::kConstant;
    call.constant = value;
    call.cost = conversion ? 0 : constants_.cost() - before;
    call.free_constant = conversion;
    return OkStatus();
  }

  void FoldLiteral(Expression& literal) {
    const bool list = literal.kind == PlannedKind::kList;
    literal.cost = list ? kListLiteralCost : kMapLiteralCost;
    if (!AreConstants(literal)) return;
    const bool free = AreFree(literal);
    const std::uint64_t before = constants_.cost();
    const Value value = EvaluateConstant(literal, constants_);
    if (value.IsError()) return;
    literal.kind = PlannedKind::kConstant;
    literal.constant = value;
    literal.cost = free ? 0 : constants_.cost() - before;
    literal.free_constant = free;
  }

  Arena& constants_;
  Plan plan_;
  std::vector<Place> places_;
  int slots_in_use_ = 0;
  int patterns_ = 0;
};

}  // namespace

StatusOr<Plan> MakePlan(ExpressionPointer& expression, Arena& constants) {
  return Planner(constants).Run(expression);
}

}  // namespace galen::alloc::cel
