// What runs when a function is called. Each takes as many arguments as the overload that names it
// (library.cc), none an error; those that are not guarded look at kinds themselves. What they make
// lives in the arena; failures are errors as values. Pure; the arena's thread.
#pragma once

#include <span>

#include "alloc/cel/values/arena.h"
#include "alloc/cel/values/pattern.h"

namespace galen::alloc::cel {

using Arguments = std::span<const Value>;

// ---- Operators (operators.cc)
Value Add(Arena& arena, Arguments arguments);
Value Subtract(Arena& arena, Arguments arguments);
Value Multiply(Arena& arena, Arguments arguments);
Value Divide(Arena& arena, Arguments arguments);
Value Modulo(Arena& arena, Arguments arguments);
Value Negate(Arena& arena, Arguments arguments);
Value Not(Arena& arena, Arguments arguments);
Value Equals(Arena& arena, Arguments arguments);
Value NotEquals(Arena& arena, Arguments arguments);
Value Less(Arena& arena, Arguments arguments);
Value LessOrEqual(Arena& arena, Arguments arguments);
Value Greater(Arena& arena, Arguments arguments);
Value GreaterOrEqual(Arena& arena, Arguments arguments);
Value In(Arena& arena, Arguments arguments);

// ---- Conversions (conversions.cc)
Value Identity(Arena& arena, Arguments arguments);
Value TypeOfValue(Arena& arena, Arguments arguments);
Value ToBool(Arena& arena, Arguments arguments);
Value ToBytes(Arena& arena, Arguments arguments);
Value ToDouble(Arena& arena, Arguments arguments);
Value ToDuration(Arena& arena, Arguments arguments);
Value ToInt(Arena& arena, Arguments arguments);
Value ToStringValue(Arena& arena, Arguments arguments);
Value ToTimestamp(Arena& arena, Arguments arguments);
Value ToUint(Arena& arena, Arguments arguments);
Value Size(Arena& arena, Arguments arguments);

// ---- Times (times.cc): the field of a timestamp, in UTC or the time zone of the second argument;
// hours to milliseconds also of a duration, whole
Value FullYear(Arena& arena, Arguments arguments);
Value Month(Arena& arena, Arguments arguments);
Value DayOfYear(Arena& arena, Arguments arguments);
Value DayOfMonth(Arena& arena, Arguments arguments);
Value Date(Arena& arena, Arguments arguments);
Value DayOfWeek(Arena& arena, Arguments arguments);
Value Hours(Arena& arena, Arguments arguments);
Value Minutes(Arena& arena, Arguments arguments);
Value Seconds(Arena& arena, Arguments arguments);
Value Milliseconds(Arena& arena, Arguments arguments);

// ---- Strings (strings.cc), counted in code points
Value Contains(Arena& arena, Arguments arguments);
Value StartsWith(Arena& arena, Arguments arguments);
Value EndsWith(Arena& arena, Arguments arguments);
Value CharAt(Arena& arena, Arguments arguments);
Value IndexOfText(Arena& arena, Arguments arguments);
Value LastIndexOfText(Arena& arena, Arguments arguments);
Value LowerAscii(Arena& arena, Arguments arguments);
Value UpperAscii(Arena& arena, Arguments arguments);
Value Substring(Arena& arena, Arguments arguments);
Value Trim(Arena& arena, Arguments arguments);
Value Quote(Arena& arena, Arguments arguments);
Value Replace(Arena& arena, Arguments arguments);
Value Split(Arena& arena, Arguments arguments);
Value JoinTexts(Arena& arena, Arguments arguments);

// ---- Regular expressions by RE2 (patterns.cc)
Value Matches(Arena& arena, Arguments arguments);
Value FindPattern(Arena& arena, Arguments arguments);
Value FindAllPattern(Arena& arena, Arguments arguments);
// What those do by an expression that is compiled. REQUIRES: the text is a string.
Value MatchesWith(Arena& arena, const Pattern& pattern, const Value& text);
Value FindWith(Arena& arena, const Pattern& pattern, const Value& text);
Value FindAllWith(Arena& arena, const Pattern& pattern, const Value& text, std::int64_t count_max);

// ---- Lists and sets (lists.cc, list_order.cc)
Value IsSorted(Arena& arena, Arguments arguments);
Value SumInts(Arena& arena, Arguments arguments);
Value SumUints(Arena& arena, Arguments arguments);
Value SumDoubles(Arena& arena, Arguments arguments);
Value SumDurations(Arena& arena, Arguments arguments);
Value Min(Arena& arena, Arguments arguments);
Value Max(Arena& arena, Arguments arguments);
Value Sort(Arena& arena, Arguments arguments);
// A list, and as many keys.
Value SortByKeys(Arena& arena, Arguments arguments);
Value IndexOfElement(Arena& arena, Arguments arguments);
Value LastIndexOfElement(Arena& arena, Arguments arguments);
Value Includes(Arena& arena, Arguments arguments);
Value Slice(Arena& arena, Arguments arguments);
Value Flatten(Arena& arena, Arguments arguments);
Value Distinct(Arena& arena, Arguments arguments);
Value Reverse(Arena& arena, Arguments arguments);
Value Range(Arena& arena, Arguments arguments);
Value First(Arena& arena, Arguments arguments);
Value Last(Arena& arena, Arguments arguments);
Value SetsContain(Arena& arena, Arguments arguments);
Value SetsAreEquivalent(Arena& arena, Arguments arguments);
Value SetsIntersect(Arena& arena, Arguments arguments);

// ---- Optionals (optionals.cc)
Value OptionalOf(Arena& arena, Arguments arguments);
Value OptionalOfNonZero(Arena& arena, Arguments arguments);
Value OptionalNone(Arena& arena, Arguments arguments);
Value HasValue(Arena& arena, Arguments arguments);
Value ValueOfOptional(Arena& arena, Arguments arguments);
Value Unwrap(Arena& arena, Arguments arguments);

// ---- Kubernetes' quantities and versions (kubernetes_values.cc)
Value ToQuantity(Arena& arena, Arguments arguments);
Value IsQuantity(Arena& arena, Arguments arguments);
Value SignOf(Arena& arena, Arguments arguments);
Value IsInteger(Arena& arena, Arguments arguments);
Value AsInteger(Arena& arena, Arguments arguments);
Value AsApproximateFloat(Arena& arena, Arguments arguments);
Value AddQuantity(Arena& arena, Arguments arguments);
Value SubtractQuantity(Arena& arena, Arguments arguments);
Value ToSemver(Arena& arena, Arguments arguments);
Value IsSemver(Arena& arena, Arguments arguments);
Value Major(Arena& arena, Arguments arguments);
Value Minor(Arena& arena, Arguments arguments);
Value Patch(Arena& arena, Arguments arguments);
// For two quantities or two versions.
Value CompareTo(Arena& arena, Arguments arguments);
Value IsGreaterThan(Arena& arena, Arguments arguments);
Value IsLessThan(Arena& arena, Arguments arguments);

}  // namespace galen::alloc::cel
