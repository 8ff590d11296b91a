// An expression as a tree: as it was parsed, with its macros recognized, and after planning with
// what it reads of a device. Owned by one program; immutable once planned.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "alloc/cel/lexer.h"
#include "alloc/cel/values/pattern.h"
#include "alloc/cel/values/value.h"

namespace galen::alloc::cel {

struct Overload;
struct Type;

// The macros that walk over a list or a map, or name a value.
enum class Fold {
  kAll,
  kExists,
  kExistsOne,
  kMap,  // also with a condition; transformList when it has two variables
  kFilter,
  kTransformMap,
  kTransformMapEntry,
  kSortBy,
};

// Which part of a device is read.
enum class Part {
  kNone,
  kDevice,
  kDriver,
  kAllowMultipleAllocations,
  kAttributes,
  kAttributeDomain,
  kAttribute,
  kCapacities,
  kCapacityDomain,
  kCapacity,
};

struct Expression;
using ExpressionPointer = std::unique_ptr<Expression>;

struct Expression {
  enum class Kind {
    kConstant,
    kName,
    kSelect,  // children: operand; text: field
    kIndex,   // children: operand, index
    kCall,    // text: function; children: target, if it has one, and arguments
    kAnd,     // any number of children
    kOr,
    kConditional,  // condition, then, else
    kList,
    kMarked,       // children: an element or entry of an optional value, as in [?a]
    kMap,          // children: key, value, key, value, …
    kMessage,      // text: type name
    kFold,         // children: range, then the macro's expressions
    kBind,         // children: value, body
    kOptionalMap,  // children: optional, body
    kOptionalFlatMap,
    // By the planner:
    kLocal,    // a variable of a macro, by its slot
    kRead,     // a part of the device
    kPattern,  // a kCall whose regular expression is compiled
  };
  Kind kind = Kind::kConstant;
  Position position = {};
  std::string text = {};
  std::vector<ExpressionPointer> children = {};

  Value constant = {};  // its text is `text`
  // How many expressions lie one in the other.
  int depth = 1;
  // kSelect, kIndex: written with "?".
  bool optional = false;
  // kSelect, kRead: has().
  bool test_only = false;
  bool has_target = false;
  Fold fold = Fold::kAll;
  // kFold, kBind, kOptionalMap: names of variables, the second one empty if there is none; and
  // where their values are during an evaluation.
  std::string variable = {};
  std::string second_variable = {};
  std::optional<int> slot = {};

  // While it is checked.
  const Type* type = nullptr;
  // kCall, sortBy: which overloads the types of the arguments allow.
  std::vector<const Overload*> overloads = {};

  // kCall: cel-go does not count it.
  bool costs_nothing = false;

  // kRead. With a slot: by a variable that is another name of a part of the device.
  Part part = Part::kNone;
  std::string domain = {};
  std::string id = {};
  // What evaluating this alone costs, where that is known before.
  std::uint64_t cost = 0;
  // A constant for cel-go, too, which costs nothing.
  bool free_constant = false;
  // kPattern.
  std::unique_ptr<Pattern> pattern = {};
};

}  // namespace galen::alloc::cel
