// Tested by evaluator_test.cc.
#include "alloc/cel/fold.h"

#include <vector>

#include "alloc/cel/library/call_cost.h"
#include "alloc/cel/library/functions.h"

namespace galen::alloc::cel {
namespace {

// What each macro adds to the cost of its parts: before each element, to see whether it goes on,
// for each element, and once.
struct FoldCost {
  std::uint64_t condition = 0;
  std::uint64_t element = 0;
  std::uint64_t once = 0;
};
FoldCost CostOfFold(const Expression& fold) {
  switch (fold.fold) {
    case Fold::kAll:
      return {.condition = 2, .element = 1, .once = 1};
    case Fold::kExists:
      return {.condition = 3, .element = 1, .once = 1};
    case Fold::kExistsOne:
      return {.element = 0, .once = 2};
    case Fold::kMap:
    case Fold::kFilter:
      return {.element = 0, .once = 1};
    case Fold::kTransformMap:
    case Fold::kTransformMapEntry:
      return {.element = 0, .once = 1};
    case Fold::kSortBy:
      return {.element = 0, .once = 3};
  }
  return {};
}
// What a step costs that takes an element: reading what was collected, a list of one, its addition.
constexpr std::uint64_t kListStepCost = 12;
constexpr std::uint64_t kConstantStepCost = 2;
constexpr std::uint64_t kMapStepCost = 3;

// One walk, element by element.
class Walk {
 public:
  Walk(const Expression& fold, FoldBody& body, Arena& arena)
      : fold_(fold), body_(body), arena_(arena), cost_(CostOfFold(fold)) {}

  Value Run(const Value& range) {
    const bool map = range.is(Kind::kMap);
    if (!map && !range.is(Kind::kList)) return arena_.Fail("no such overload: a macro's range");
    const std::size_t size = map ? range.map().size : range.list().size;
    std::size_t i = 0;
    for (; i < size && !done_ && body_.GoesOn(); ++i) {
      if (!arena_.Work(1)) return arena_.OverWork();
      arena_.Charge(cost_.condition);
      if (map) {
        Visit(range.map().entries[i].key, range.map().entries[i].value);
      } else {
        const Value& element = At(range.list(), i);
        const bool two = !fold_.second_variable.empty();
        Visit(two ? Value::Int(static_cast<std::int64_t>(i)) : element, element);
      }
    }
    // What was decided is seen before the next element.
    arena_.Charge(cost_.once + (i < size ? cost_.condition : 0));
    return Result(range);
  }

 private:
  void Visit(const Value& first, const Value& second) {
    arena_.Charge(cost_.element);
    body_.SetVariable(*fold_.slot, first);
    if (!fold_.second_variable.empty()) body_.SetVariable(*fold_.slot + 1, second);
    if (fold_.children.size() == 3) {
      const Value condition = Condition(*fold_.children[1]);
      if (!condition.IsTrue()) return;
    }
    Step(first, *fold_.children.back());
  }

  // A bool; an error ends the walk.
  Value Condition(const Expression& condition) {
    const Value value = body_.Evaluate(condition);
    if (value.is(Kind::kBool)) return value;
    End(value.IsError() ? value : arena_.Fail("no such overload"));
    return error_;
  }

  void End(const Value& error) {
    error_ = error;
    done_ = true;
  }

  void Step(const Value& first, const Expression& last) {
    switch (fold_.fold) {
      case Fold::kAll:
        return Quantify(last, false);
      case Fold::kExists:
        return Quantify(last, true);
      case Fold::kExistsOne: {
        const Value value = Condition(last);
        if (!value.IsTrue()) return;
        ++count_;
        return arena_.Charge(2);
      }
      case Fold::kFilter: {
        const Value value = Condition(last);
        if (!value.IsTrue()) return;
        Take(first);
        return arena_.Charge(kListStepCost + 1);
      }
      case Fold::kMap:
      case Fold::kSortBy: {
        const Value value = body_.Evaluate(last);
        arena_.Charge(last.free_constant ? kConstantStepCost : kListStepCost);
        if (value.IsError()) return End(value);
        return Take(value);
      }
      case Fold::kTransformMap:
        return Insert(first, body_.Evaluate(last));
      case Fold::kTransformMapEntry:
        return InsertAll(body_.Evaluate(last));
    }
  }

  void Take(const Value& item) {
    items_.push_back(item);
    if (!arena_.Holds(items_.size() * sizeof(Value))) End(arena_.TooLarge());
  }

  // The element that decides ends the walk, past errors of those before it.
  void Quantify(const Expression& predicate, bool deciding) {
    const Value value = body_.Evaluate(predicate);
    if (value.is(Kind::kBool)) {
      if (value.boolean() != deciding) return;
      decided_ = true;
      done_ = true;
    } else if (!error_.IsError()) {
      error_ = value.IsError() ? value : arena_.Fail("no such overload");
    }
  }

  bool MapFits() const { return arena_.Holds(2 * map_.size() * sizeof(MapEntry)); }

  void Insert(const Value& key, const Value& value) {
    arena_.Charge(kMapStepCost);
    if (!MapFits()) return End(arena_.TooLarge());
    if (value.IsError()) return End(value);
    if (!IsKey(key)) return End(arena_.Fail("unsupported key type"));
    if (!arena_.WorkOn(key)) return End(arena_.OverWork());
    if (!map_.Insert(key, value)) End(arena_.Fail("insert failed: a key exists already"));
  }
  void InsertAll(const Value& entries) {
    if (entries.IsError()) return End(entries);
    if (!entries.is(Kind::kMap)) return End(arena_.Fail("no such overload: @mapInsert"));
    arena_.Charge(kMapStepCost - 1);
    for (std::size_t i = 0; i < entries.map().size && !done_; ++i) {
      if (!MapFits()) return End(arena_.TooLarge());
      const MapEntry& entry = entries.map().entries[i];
      if (!arena_.WorkOn(entry.key)) return End(arena_.OverWork());
      if (!map_.Insert(entry.key, entry.value)) {
        End(arena_.Fail("insert failed: a key exists already"));
      }
    }
  }

  Value Result(const Value& range) {
    if (decided_) return Value::Bool(fold_.fold == Fold::kExists);
    if (error_.IsError()) return error_;
    if (!body_.GoesOn()) return arena_.Stopped();
    switch (fold_.fold) {
      case Fold::kAll:
        return Value::Bool(true);
      case Fold::kExists:
        return Value::Bool(false);
      case Fold::kExistsOne:
        return Value::Bool(count_ == 1);
      case Fold::kMap:
      case Fold::kFilter:
        return MakeList();
      case Fold::kTransformMap:
      case Fold::kTransformMapEntry:
        return map_.Build(arena_);
      case Fold::kSortBy:
        return SortedRange(range);
    }
    return {};
  }

  Value SortedRange(const Value& range) {
    if (!range.is(Kind::kList)) return arena_.Fail("no such overload: sortBy");
    const Value arguments[] = {range, MakeList()};
    const bool known = fold_.overloads.size() == 1;
    const CostRule rule = known ? CostRule::kSelfCompareKeys : CostRule::kOne;
    arena_.Charge(CostOf(rule, arguments, range));
    return SortByKeys(arena_, arguments);
  }

  Value MakeList() {
    if (!arena_.Holds(items_.size() * sizeof(Value))) return arena_.TooLarge();
    return arena_.MakeList(items_);
  }

  const Expression& fold_;
  FoldBody& body_;
  Arena& arena_;
  const FoldCost cost_;
  bool done_ = false;
  bool decided_ = false;
  Value error_;
  std::uint64_t count_ = 0;
  std::vector<Value> items_;
  MapBuilder map_;
};

}  // namespace

Value FoldOver(const Expression& fold, const Value& range, FoldBody& body, Arena& arena) {
  return Walk(fold, body, arena).Run(range);
}

}  // namespace galen::alloc::cel
