#include "alloc/cel/evaluator.h"

#include <array>
#include <memory>

#include "alloc/cel/device_values.h"
#include "alloc/cel/fold.h"
#include "alloc/cel/library/functions.h"
#include "alloc/cel/library/library.h"
#include "alloc/cel/program.h"
#include "alloc/cel/selection.h"

namespace galen::alloc::cel {
namespace {

// No function takes more.
constexpr std::size_t kArgumentsMax = 4;

// What a variable of a macro is, or what it will be when it is read.
struct Slot {
  Value value = {};
  const Expression* pending = nullptr;
  // What reading it first costs beside.
  std::uint64_t pending_cost = 0;
};

// One evaluation: a switch over kinds of expressions, and a function for each.
class Evaluator final : public FoldBody {
 public:
  Evaluator(const DeviceFacts& device, Slot* slots, Arena& arena)
      : device_(device), slots_(slots), arena_(arena) {}

  // Nothing goes on once a bound is passed, not even what would absorb an error.
  Value One(const Expression& expression) {
    if (!GoesOn()) return arena_.Stopped();
    using K = Expression::Kind;
    switch (expression.kind) {
      case K::kConstant:
        arena_.Charge(expression.cost);
        return expression.constant;
      case K::kRead:
        return OfRead(expression);
      case K::kLocal:
        return OfLocal(expression);
      case K::kCall:
        return OfCall(expression);
      case K::kAnd:
        return OfLogical(expression, false);
      case K::kOr:
        return OfLogical(expression, true);
      case K::kConditional:
        return OfConditional(expression);
      case K::kSelect:
        return OfSelect(expression);
      case K::kIndex:
        return OfIndex(expression);
      case K::kList:
        return OfList(expression);
      case K::kMap:
        return OfMap(expression);
      case K::kMarked:
        return One(*expression.children[0]);
      case K::kFold:
        return OfFold(expression);
      case K::kBind:
        return OfBind(expression);
      case K::kOptionalMap:
        return OfOptionalMap(expression, true);
      case K::kOptionalFlatMap:
        return OfOptionalMap(expression, false);
      case K::kName:
      case K::kMessage:
      case K::kPattern:
        break;
    }
    GALEN_UNREACHABLE();
  }

  // ---- What a macro's body says of an element
  Value Evaluate(const Expression& body) override { return One(body); }
  void SetVariable(int slot, const Value& value) override { slots_[slot] = {.value = value}; }
  bool GoesOn() override { return arena_.cost() <= kCostMax && !arena_.over(); }

 private:
  Value OfRead(const Expression& read) {
    arena_.Charge(read.cost);
    if (read.slot) Variable(*read.slot);
    if (read.test_only) return Value::Bool(HasPart(read, device_));
    if (!read.optional) return ReadPart(read, device_, arena_);
    if (!HasPart(read, device_)) return Missing();
    return Value::Optional(arena_.Keep(ReadPart(read, device_, arena_)));
  }

  // An optional selection that selects nothing is not counted; what it was counted is taken back.
  Value Missing() {
    arena_.Refund(1);
    return Value::Optional(nullptr);
  }

  // ---- Calls
  Value OfCall(const Expression& call) {
    if (call.overloads[0]->run == nullptr) return OfOptionalChoice(call);
    std::array<Value, kArgumentsMax> values;
    const std::size_t count = call.children.size();
    for (std::size_t i = 0; i < count; ++i) values[i] = One(*call.children[i]);
    const std::span<const Value> arguments(values.data(), count);
    for (const Value& argument : arguments) {
      if (!arena_.WorkOn(argument)) return arena_.OverWork();
    }
    for (const Value& argument : arguments) {
      if (!argument.IsError()) continue;
      ChargeCall(RuleOf(call, *call.overloads[0]), arguments, argument);
      return argument;
    }
    if (call.pattern != nullptr) return OfPattern(call, arguments);
    return Run(call, arguments);
  }

  Value Run(const Expression& call, std::span<const Value> arguments) {
    for (const Overload* overload : call.overloads) {
      if (!Takes(*overload, arguments)) continue;
      const Value result = overload->run(arena_, arguments);
      ChargeCall(RuleOf(call, *overload), arguments, result);
      return result;
    }
    arena_.Charge(1);
    return arena_.Fail("no such overload: {}", call.text);
  }

  // Counting what is in an argument takes work itself.
  void ChargeCall(CostRule rule, std::span<const Value> arguments, const Value& result) {
    if (rule == CostRule::kTraversal && !MayTraverse(arguments[0])) return;
    arena_.Charge(CostOf(rule, arguments, result));
  }
  bool MayTraverse(const Value& value) {
    if (!arena_.Work(1)) return false;
    if (value.is(Kind::kList)) {
      const List& list = value.list();
      for (std::size_t i = 0; i < list.size; ++i) {
        if (!MayTraverse(At(list, i))) return false;
      }
    } else if (value.is(Kind::kMap)) {
      const Map& map = value.map();
      for (std::size_t i = 0; i < map.size; ++i) {
        if (!arena_.Work(1) || !MayTraverse(map.entries[i].value)) return false;
      }
    }
    return true;
  }

  // Where types left several overloads open, cel-go counts by the function's name, and 1 for those
  // that only the overload distinguishes.
  static CostRule RuleOf(const Expression& call, const Overload& overload) {
    if (call.costs_nothing) return CostRule::kFree;
    const CostRule rule = overload.cost;
    if (call.overloads.size() == 1) return rule;
    switch (rule) {
      case CostRule::kFirst:
      case CostRule::kFirstTwice:
      case CostRule::kResultTwice:
      case CostRule::kTraversal:
      case CostRule::kPattern:
        return rule;
      default:
        return CostRule::kOne;
    }
  }

  Value OfPattern(const Expression& call, std::span<const Value> arguments) {
    if (!arguments[0].is(Kind::kString)) {
      arena_.Charge(1);
      return arena_.Fail("no such overload: {}", call.text);
    }
    Value result;
    if (call.text == "matches") {
      result = MatchesWith(arena_, *call.pattern, arguments[0]);
    } else if (call.text == "find") {
      result = FindWith(arena_, *call.pattern, arguments[0]);
    } else {
      result = OfFindAll(call, arguments);
    }
    arena_.Charge(CostOf(CostRule::kPattern, arguments, result));
    return result;
  }

  Value OfFindAll(const Expression& call, std::span<const Value> arguments) {
    std::int64_t count_max = -1;
    if (arguments.size() == 3) {
      if (!arguments[2].is(Kind::kInt)) return arena_.Fail("no such overload: {}", call.text);
      count_max = arguments[2].integer();
    }
    return FindAllWith(arena_, *call.pattern, arguments[0], count_max);
  }

  // a.or(b), a.orValue(b): b is evaluated only when a is none.
  Value OfOptionalChoice(const Expression& call) {
    const Value first = One(*call.children[0]);
    if (first.IsError()) return first;
    if (!first.is(Kind::kOptional)) return arena_.Fail("no such overload: {}", call.text);
    if (first.optional() == nullptr) return One(*call.children[1]);
    return call.text == "or" ? first : *first.optional();
  }

  // ---- Logic
  // The value that decides alone is looked for in all terms, past errors.
  Value OfLogical(const Expression& logical, bool deciding) {
    Value error = Value::Bool(!deciding);
    for (const ExpressionPointer& term : logical.children) {
      const Value value = One(*term);
      if (value.is(Kind::kBool)) {
        if (value.boolean() == deciding) return value;
      } else if (!error.IsError()) {
        error = value.IsError() ? value : arena_.Fail("no such overload");
      }
    }
    return error;
  }

  Value OfConditional(const Expression& choice) {
    const Value condition = One(*choice.children[0]);
    if (condition.IsError()) return condition;
    if (!condition.is(Kind::kBool)) return arena_.Fail("no such overload");
    return One(*choice.children[condition.boolean() ? 1 : 2]);
  }

  // ---- Selections
  Value OfSelect(const Expression& select) {
    const Value operand = One(*select.children[0]);
    arena_.Charge(select.cost);
    const Value key = Value::String(select.text);
    if (select.test_only) return HasKey(operand, key, arena_);
    return Found(Selected(operand, key, select.optional, arena_));
  }

  Value OfIndex(const Expression& index) {
    const Value operand = One(*index.children[0]);
    if (operand.IsError()) return operand;
    const Value key = One(*index.children[1]);
    arena_.Charge(index.cost);
    if (key.IsError()) return key;
    if (!arena_.WorkOn(key)) return arena_.OverWork();
    return Found(Selected(operand, key, index.optional, arena_));
  }

  Value Found(const Value& selected) {
    return selected.is(Kind::kOptional) && selected.optional() == nullptr ? Missing() : selected;
  }

  // ---- Literals
  // The value of an element or entry; nothing in `value` when it is a marked one without a value.
  struct Element {
    Value value = {};
    bool present = true;
  };
  Element OfElement(const Expression& expression) {
    const Value value = One(expression);
    if (value.IsError() || expression.kind != Expression::Kind::kMarked) return {.value = value};
    if (!value.is(Kind::kOptional)) return {.value = arena_.Fail("an element is no optional")};
    if (value.optional() == nullptr) return {.present = false};
    return {.value = *value.optional()};
  }

  Value OfList(const Expression& list) {
    if (!arena_.Work(list.children.size())) return arena_.OverWork();
    std::vector<Value> elements;
    for (const ExpressionPointer& child : list.children) {
      const Element element = OfElement(*child);
      if (element.value.IsError()) return element.value;
      if (element.present) elements.push_back(element.value);
    }
    arena_.Charge(list.cost);
    return arena_.MakeList(elements);
  }

  Value OfMap(const Expression& map) {
    MapBuilder builder;
    for (std::size_t i = 0; i < map.children.size(); i += 2) {
      const Value key = One(*map.children[i]);
      if (key.IsError()) return key;
      if (!IsKey(key)) return arena_.Fail("unsupported key type");
      if (!arena_.WorkOn(key)) return arena_.OverWork();
      const Element element = OfElement(*map.children[i + 1]);
      if (element.value.IsError()) return element.value;
      if (element.present) {
        builder.Set(key, element.value);
      } else {
        builder.Remove(key);
      }
    }
    arena_.Charge(map.cost);
    return builder.Build(arena_);
  }

  // ---- Macros
  Value OfFold(const Expression& fold) {
    const Value range = One(*fold.children[0]);
    if (range.IsError()) return range;
    return FoldOver(fold, range, *this, arena_);
  }

  // The value is evaluated when the body first reads it, so that its errors and its cost count only
  // then.
  Value OfBind(const Expression& bind) {
    slots_[*bind.slot] = {.pending = bind.children[0].get()};
    return One(*bind.children[1]);
  }
  Value OfLocal(const Expression& local) {
    arena_.Charge(local.cost);
    return Variable(*local.slot);
  }
  const Value& Variable(int which) {
    Slot& slot = slots_[which];
    if (slot.pending != nullptr) slot = {.value = One(*slot.pending)};
    arena_.Charge(slot.pending_cost);
    slot.pending_cost = 0;
    return slot.value;
  }

  // Expanded by cel-go to a choice that evaluates the optional once more when the variable is read,
  // which is counted so.
  Value OfOptionalMap(const Expression& macro, bool wraps) {
    const std::uint64_t before = arena_.cost();
    const Value operand = One(*macro.children[0]);
    if (operand.IsError()) return operand;
    if (!operand.is(Kind::kOptional)) return arena_.Fail("no such overload: hasValue");
    const std::uint64_t twice = arena_.cost() - before;
    arena_.Charge(1);
    if (operand.optional() == nullptr) {
      arena_.Charge(1);
      return operand;
    }
    slots_[*macro.slot] = {.value = *operand.optional(), .pending_cost = twice + 1};
    const Value body = One(*macro.children[1]);
    if (!wraps) return body;
    arena_.Charge(1);
    return body.IsError() ? body : Value::Optional(arena_.Keep(body));
  }

  const DeviceFacts& device_;
  Slot* const slots_;
  Arena& arena_;
};

}  // namespace

Value Evaluate(const Expression& expression, const DeviceFacts& device, int slots, Arena& arena) {
  Slot* places = nullptr;
  if (slots > 0) {
    const auto count = static_cast<std::size_t>(slots);
    places = arena.Room<Slot>(count);
    std::uninitialized_fill_n(places, count, Slot());
  }
  return Evaluator(device, places, arena).One(expression);
}

Value EvaluateConstant(const Expression& expression, Arena& arena) {
  static const DeviceFacts kNone;
  return Evaluator(kNone, nullptr, arena).One(expression);
}

}  // namespace galen::alloc::cel
