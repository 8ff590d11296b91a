// The values that a sign can have, as its table says. Hardware shows what it shows; this holds for
// what somebody makes up, so that a slip of the finger is refused and not judged. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

#include "base/status.h"
#include "probes/rules/rule.h"

namespace galen::probes {

// Bytes of a value, which comes from a socket and goes into logs.
inline constexpr std::size_t kSignValueBytesMax = 64;

// The text as a value of this sign: one of SignSpec::among; else a number within least and most,
// in plain digits where it is whole; else, for an event without any of these, what was written.
// InvalidArgument names the sign and what it can be.
StatusOr<std::variant<double, std::string>> ParseSignValue(const SignSpec& sign,
                                                           std::string_view text);

// For people: "gpu or host", "0, 1 or 2", "a whole number from 1 to 999", "a number from -40 to
// 150"; "" for an event that is not in the table.
std::string PossibleValues(const SignSpec& sign);

}  // namespace galen::probes
