#include "alloc/cel/library/library.h"

#include <algorithm>
#include <map>
#include <string>

#include "alloc/cel/library/functions.h"
#include "alloc/cel/library/signature.h"

namespace galen::alloc::cel {
namespace {

enum class Guard { kKinds, kNone };

// One function with one implementation; a name that begins with "." is a member's.
struct Row {
  std::string_view name;
  // Several, separated by "; ".
  std::string_view signatures;
  Implementation run;
  CostRule cost = CostRule::kOne;
  Guard guard = Guard::kKinds;
  int minor_min = 0;
  int minor_max = 99;
};

// What < and its like compare.
constexpr std::string_view kOrderedScalars =
    "(bool, bool) bool; (int, int) bool; (int, double) bool; (int, uint) bool; (uint, uint) bool; "
    "(uint, double) bool; (uint, int) bool; (double, double) bool; (double, int) bool; (double, "
    "uint) bool; (timestamp, timestamp) bool; (duration, duration) bool";
constexpr std::string_view kOrderedTexts = "(string, string) bool; (bytes, bytes) bool";

// Where nothing runs, the evaluator does it itself, for not all arguments are evaluated.
constexpr Row kRows[] = {
    {"_+_", "(bytes, bytes) bytes; (string, string) string", Add, CostRule::kSum, Guard::kNone},
    {"_+_",
     "(double, double) double; (duration, duration) duration; (duration, timestamp) timestamp; "
     "(timestamp, duration) timestamp; (int, int) int; (list<A>, list<A>) list<A>; (uint, uint) "
     "uint",
     Add, CostRule::kOne, Guard::kNone},
    {"_-_",
     "(double, double) double; (duration, duration) duration; (int, int) int; (timestamp, "
     "duration) timestamp; (timestamp, timestamp) duration; (uint, uint) uint",
     Subtract, CostRule::kOne, Guard::kNone},
    {"_*_", "(double, double) double; (int, int) int; (uint, uint) uint", Multiply, CostRule::kOne,
     Guard::kNone},
    {"_/_", "(double, double) double; (int, int) int; (uint, uint) uint", Divide, CostRule::kOne,
     Guard::kNone},
    {"_%_", "(int, int) int; (uint, uint) uint", Modulo, CostRule::kOne, Guard::kNone},
    {"-_", "(double) double; (int) int", Negate, CostRule::kOne, Guard::kNone},
    {"!_", "(bool) bool", Not, CostRule::kOne, Guard::kNone},
    {"_==_", "(A, A) bool", Equals, CostRule::kEqual, Guard::kNone},
    {"_!=_", "(A, A) bool", NotEquals, CostRule::kSmaller, Guard::kNone},
    {"_<_", kOrderedScalars, Less, CostRule::kOne, Guard::kNone},
    {"_<_", kOrderedTexts, Less, CostRule::kSmaller, Guard::kNone},
    {"_<=_", kOrderedScalars, LessOrEqual, CostRule::kOne, Guard::kNone},
    {"_<=_", kOrderedTexts, LessOrEqual, CostRule::kSmaller, Guard::kNone},
    {"_>_", kOrderedScalars, Greater, CostRule::kOne, Guard::kNone},
    {"_>_", kOrderedTexts, Greater, CostRule::kSmaller, Guard::kNone},
    {"_>=_", kOrderedScalars, GreaterOrEqual, CostRule::kOne, Guard::kNone},
    {"_>=_", kOrderedTexts, GreaterOrEqual, CostRule::kSmaller, Guard::kNone},
    {"@in", "(A, list<A>) bool", In, CostRule::kSecondSize, Guard::kNone},
    {"@in", "(A, map<A, B>) bool", In, CostRule::kOne, Guard::kNone},
    {"_?_:_", "(bool, A, A) A", nullptr, CostRule::kFree, Guard::kNone},
    {"_[_]",
     "(list<A>, int) A; (map<A, B>, A) B; (optional<list<A>>, int) optional<A>; (optional<map<A, "
     "B>>, A) optional<B>",
     nullptr, CostRule::kFree, Guard::kNone},
    {"_[?_]",
     "(list<A>, int) optional<A>; (optional<list<A>>, int) optional<A>; (map<A, B>, A) "
     "optional<B>; (optional<map<A, B>>, A) optional<B>",
     nullptr, CostRule::kFree, Guard::kNone},
    {"size", "(bytes) int; (list<A>) int; (map<A, B>) int; (string) int", Size, CostRule::kOne,
     Guard::kNone},
    {".size", "(bytes) int; (list<A>) int; (map<A, B>) int; (string) int", Size, CostRule::kOne,
     Guard::kNone},
    {"type", "(A) type<A>", TypeOfValue, CostRule::kOne, Guard::kNone},
    {"bool", "(bool) bool; (string) bool", ToBool},
    {"bytes", "(bytes) bytes", Identity},
    {"bytes", "(string) bytes", ToBytes, CostRule::kFirst},
    {"double", "(double) double; (int) double; (string) double; (uint) double", ToDouble},
    {"duration", "(duration) duration; (string) duration", ToDuration},
    {"duration", "(int) duration", ToDuration, CostRule::kOne, Guard::kKinds, 0, 36},
    {"dyn", "(A) dyn", Identity, CostRule::kOne, Guard::kNone},
    {"int", "(int) int; (double) int; (duration) int; (string) int; (timestamp) int; (uint) int",
     ToInt},
    {"string",
     "(string) string; (bool) string; (double) string; (duration) string; (int) string; "
     "(timestamp) string; (uint) string",
     ToStringValue},
    {"string", "(bytes) string", ToStringValue, CostRule::kFirst},
    {"timestamp", "(timestamp) timestamp; (int) timestamp; (string) timestamp", ToTimestamp},
    {"uint", "(uint) uint; (double) uint; (int) uint; (string) uint", ToUint},
    {".contains", "(string, string) bool", Contains, CostRule::kContains, Guard::kNone},
    {".endsWith", "(string, string) bool", EndsWith, CostRule::kSecond, Guard::kNone},
    {".startsWith", "(string, string) bool", StartsWith, CostRule::kSecond, Guard::kNone},
    {"matches", "(string, string) bool", Matches, CostRule::kPattern, Guard::kNone},
    {".matches", "(string, string) bool", Matches, CostRule::kPattern, Guard::kNone},
    {".find", "(string, string) string", FindPattern, CostRule::kPattern},
    {".findAll", "(string, string) list<string>; (string, string, int) list<string>",
     FindAllPattern, CostRule::kPattern},
    {".charAt", "(string, int) string", CharAt},
    {".indexOf", "(string, string) int; (string, string, int) int", IndexOfText,
     CostRule::kTraversal},
    {".lastIndexOf", "(string, string) int; (string, string, int) int", LastIndexOfText,
     CostRule::kTraversal},
    {".lowerAscii", "(string) string", LowerAscii, CostRule::kFirst},
    {".upperAscii", "(string) string", UpperAscii, CostRule::kFirst},
    {".replace", "(string, string, string) string; (string, string, string, int) string", Replace,
     CostRule::kFirstTwice},
    {".split", "(string, string) list<string>; (string, string, int) list<string>", Split,
     CostRule::kFirstTwice},
    {".substring", "(string, int) string; (string, int, int) string", Substring, CostRule::kFirst},
    {".trim", "(string) string", Trim, CostRule::kFirst},
    {"strings.quote", "(string) string", Quote, CostRule::kFirst},
    {".join", "(list<string>) string; (list<string>, string) string", JoinTexts,
     CostRule::kResultTwice},
    {".getFullYear", "(timestamp) int; (timestamp, string) int", FullYear},
    {".getMonth", "(timestamp) int; (timestamp, string) int", Month},
    {".getDayOfYear", "(timestamp) int; (timestamp, string) int", DayOfYear},
    {".getDayOfMonth", "(timestamp) int; (timestamp, string) int", DayOfMonth},
    {".getDate", "(timestamp) int; (timestamp, string) int", Date},
    {".getDayOfWeek", "(timestamp) int; (timestamp, string) int", DayOfWeek},
    {".getHours", "(timestamp) int; (timestamp, string) int; (duration) int", Hours},
    {".getMinutes", "(timestamp) int; (timestamp, string) int; (duration) int", Minutes},
    {".getSeconds", "(timestamp) int; (timestamp, string) int; (duration) int", Seconds},
    {".getMilliseconds", "(timestamp) int; (timestamp, string) int; (duration) int", Milliseconds},
    {"optional.of", "(A) optional<A>", OptionalOf},
    {"optional.ofNonZeroValue", "(A) optional<A>", OptionalOfNonZero},
    {"optional.none", "() optional<A>", OptionalNone},
    {".value", "(optional<A>) A", ValueOfOptional},
    {".hasValue", "(optional<A>) bool", HasValue},
    {".or", "(optional<A>, optional<A>) optional<A>", nullptr, CostRule::kFree, Guard::kNone},
    {".orValue", "(optional<A>, A) A", nullptr, CostRule::kFree, Guard::kNone},
    {"optional.unwrap", "(list<optional<A>>) list<A>", Unwrap},
    {".unwrapOpt", "(list<optional<A>>) list<A>", Unwrap},
    {".first", "(list<A>) optional<A>", First},
    {".last", "(list<A>) optional<A>", Last},
    {"sets.contains", "(list<A>, list<A>) bool", SetsContain, CostRule::kSets},
    {"sets.equivalent", "(list<A>, list<A>) bool", SetsAreEquivalent, CostRule::kSetsTwice},
    {"sets.intersects", "(list<A>, list<A>) bool", SetsIntersect, CostRule::kSets},
    {".isSorted",
     "(list<int>) bool; (list<uint>) bool; (list<double>) bool; (list<bool>) bool; "
     "(list<duration>) bool; (list<timestamp>) bool; (list<string>) bool; (list<bytes>) bool",
     IsSorted, CostRule::kTraversal},
    {".sum", "(list<int>) int", SumInts, CostRule::kTraversal},
    {".sum", "(list<uint>) uint", SumUints, CostRule::kTraversal},
    {".sum", "(list<double>) double", SumDoubles, CostRule::kTraversal},
    {".sum", "(list<duration>) duration", SumDurations, CostRule::kTraversal},
    {".max",
     "(list<int>) int; (list<uint>) uint; (list<double>) double; (list<bool>) bool; "
     "(list<duration>) duration; (list<timestamp>) timestamp; (list<string>) string; (list<bytes>) "
     "bytes",
     Max, CostRule::kTraversal},
    {".min",
     "(list<int>) int; (list<uint>) uint; (list<double>) double; (list<bool>) bool; "
     "(list<duration>) duration; (list<timestamp>) timestamp; (list<string>) string; (list<bytes>) "
     "bytes",
     Min, CostRule::kTraversal},
    {".indexOf", "(list<A>, A) int", IndexOfElement, CostRule::kTraversal},
    {".lastIndexOf", "(list<A>, A) int", LastIndexOfElement, CostRule::kTraversal},
    {".includes", "(dyn, dyn) bool", Includes, CostRule::kTraversal, Guard::kKinds, 36},
    {".slice", "(list<A>, int, int) list<A>", Slice, CostRule::kNewList},
    {".flatten", "(list<list<A>>) list<A>; (list<dyn>, int) list<dyn>", Flatten, CostRule::kFlatten,
     Guard::kNone},
    {".sort",
     "(list<int>) list<int>; (list<uint>) list<uint>; (list<double>) list<double>; (list<bool>) "
     "list<bool>; (list<duration>) list<duration>; (list<timestamp>) list<timestamp>; "
     "(list<string>) list<string>; (list<bytes>) list<bytes>",
     Sort, CostRule::kSelfCompare, Guard::kNone},
    {".@sortByKeys",
     "(list<A>, list<int>) list<A>; (list<A>, list<uint>) list<A>; (list<A>, list<double>) "
     "list<A>; (list<A>, list<bool>) list<A>; (list<A>, list<duration>) list<A>; (list<A>, "
     "list<timestamp>) list<A>; (list<A>, list<string>) list<A>; (list<A>, list<bytes>) list<A>",
     SortByKeys, CostRule::kSelfCompareKeys, Guard::kNone},
    {"lists.range", "(int) list<int>", Range, CostRule::kNewList},
    {".reverse", "(list<A>) list<A>", Reverse, CostRule::kNewList},
    {".distinct", "(list<A>) list<A>", Distinct, CostRule::kSelfCompare},
    {"quantity", "(string) quantity", ToQuantity, CostRule::kFirst},
    {"isQuantity", "(string) bool", IsQuantity, CostRule::kFirst},
    {"sign", "(quantity) int", SignOf},
    {".isGreaterThan", "(quantity, quantity) bool; (semver, semver) bool", IsGreaterThan},
    {".isLessThan", "(quantity, quantity) bool; (semver, semver) bool", IsLessThan},
    {".compareTo", "(quantity, quantity) int; (semver, semver) int", CompareTo},
    {".asApproximateFloat", "(quantity) double", AsApproximateFloat},
    {".asInteger", "(quantity) int", AsInteger},
    {".isInteger", "(quantity) bool", IsInteger},
    {".add", "(quantity, quantity) quantity; (quantity, int) quantity", AddQuantity},
    {".sub", "(quantity, quantity) quantity; (quantity, int) quantity", SubtractQuantity},
    {"semver", "(string) semver; (string, bool) semver", ToSemver, CostRule::kFirst},
    {"isSemver", "(string) bool; (string, bool) bool", IsSemver, CostRule::kFirst},
    {".major", "(semver) int", Major},
    {".minor", "(semver) int", Minor},
    {".patch", "(semver) int", Patch},
};

using Table = std::map<std::string_view, std::vector<Overload>>;

void AddRow(const Row& row, TypePool& pool, Table& table) {
  const bool member = row.name.starts_with('.');
  const std::string_view name = row.name.substr(member ? 1 : 0);
  for (std::string_view rest = row.signatures; !rest.empty();) {
    const std::size_t end = std::min(rest.find(';'), rest.size());
    Signature signature = ParseSignature(rest.substr(0, end), pool);
    table[name].push_back({.name = name,
                           .member = member,
                           .arguments = std::move(signature.arguments),
                           .result = signature.result,
                           .variables = signature.variables,
                           .guarded = row.guard == Guard::kKinds,
                           .cost = row.cost,
                           .minor_min = row.minor_min,
                           .minor_max = row.minor_max,
                           .run = row.run});
    rest.remove_prefix(std::min(end + 2, rest.size()));
  }
}

// The table, and beside it the types that its signatures point to.
struct TypedTable {
  TypedTable() {
    for (const Row& row : kRows) AddRow(row, pool, table);
  }

  TypePool pool;
  Table table;
};

const Table& TheTable() {
  static const TypedTable typed;
  return typed.table;
}

// Members of types that only unsupported functions make are among them, so that the refusal names
// what is missing.
constexpr std::string_view kUnsupported[] = {"allowed",
                                             "authorizer",
                                             "cidr",
                                             "containsCIDR",
                                             "containsIP",
                                             "family",
                                             "fieldSelector",
                                             "format",
                                             "format.named",
                                             "getEscapedPath",
                                             "getHost",
                                             "getHostname",
                                             "getPort",
                                             "getQuery",
                                             "getScheme",
                                             "ip",
                                             "ip.isCanonical",
                                             "isCIDR",
                                             "isGlobalUnicast",
                                             "isIP",
                                             "isLinkLocalMulticast",
                                             "isLinkLocalUnicast",
                                             "isLoopback",
                                             "isURL",
                                             "isUnspecified",
                                             "labelSelector",
                                             "masked",
                                             "prefixLength",
                                             "url",
                                             "validate"};

Kind KindOf(TypeKind kind) {
  switch (kind) {
    case TypeKind::kNull:
      return Kind::kNull;
    case TypeKind::kBool:
      return Kind::kBool;
    case TypeKind::kInt:
      return Kind::kInt;
    case TypeKind::kUint:
      return Kind::kUint;
    case TypeKind::kDouble:
      return Kind::kDouble;
    case TypeKind::kString:
      return Kind::kString;
    case TypeKind::kBytes:
      return Kind::kBytes;
    case TypeKind::kTimestamp:
      return Kind::kTimestamp;
    case TypeKind::kDuration:
      return Kind::kDuration;
    case TypeKind::kQuantity:
      return Kind::kQuantity;
    case TypeKind::kSemver:
      return Kind::kSemver;
    case TypeKind::kType:
      return Kind::kType;
    case TypeKind::kList:
      return Kind::kList;
    case TypeKind::kMap:
    case TypeKind::kDevice:
      return Kind::kMap;
    case TypeKind::kOptional:
      return Kind::kOptional;
    case TypeKind::kDyn:
    case TypeKind::kAny:
    case TypeKind::kVariable:
      return Kind::kError;
  }
  return Kind::kError;
}

bool IsOfType(const Value& value, const Type& type) {
  if (IsDynamic(type) || type.kind == TypeKind::kVariable) return true;
  if (value.kind() != KindOf(type.kind)) return false;
  if (value.is(Kind::kList)) {
    return value.list().size == 0 || IsOfType(At(value.list(), 0), *type.parameters[0]);
  }
  if (value.is(Kind::kMap) && value.map().size > 0 && !type.parameters.empty()) {
    const MapEntry& first = value.map().entries[0];
    return IsOfType(first.key, *type.parameters[0]) && IsOfType(first.value, *type.parameters[1]);
  }
  return true;
}

}  // namespace

std::span<const Overload> OverloadsOf(std::string_view name) {
  const auto at = TheTable().find(name);
  if (at == TheTable().end()) return {};
  return at->second;
}

bool IsUnsupported(std::string_view name) {
  return std::find(std::begin(kUnsupported), std::end(kUnsupported), name) !=
         std::end(kUnsupported);
}

bool Takes(const Overload& overload, std::span<const Value> arguments) {
  if (overload.arguments.size() != arguments.size()) return false;
  for (std::size_t i = 0; overload.guarded && i < arguments.size(); ++i) {
    if (!IsOfType(arguments[i], *overload.arguments[i])) return false;
  }
  return true;
}

}  // namespace galen::alloc::cel
