// What a literal's token is worth. Pure; any thread.
#pragma once

#include <optional>
#include <string_view>

#include "alloc/cel/lexer.h"
#include "alloc/cel/values/value.h"

namespace galen::alloc::cel {

// `kept` is the token's text where it lives as long as the value, which of a string or bytes refers
// to it. nullopt for what is no literal, and for a number that does not fit.
std::optional<Value> ValueOf(const Token& token, bool negative, std::string_view kept);

}  // namespace galen::alloc::cel
