// What a run of a command says of its device. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/time.h"
#include "probes/command/command_runner.h"
#include "probes/rules/rule.h"

namespace galen::probes {

// As much of a command's line as goes into a sentence: what node-problem-detector shows of a
// plugin's message by default (max_output_length).
inline constexpr std::size_t kDetailBytesMax = 80;

// Either a value or an error, never both.
struct CommandAnswer {
  std::optional<double> value{};
  std::string detail{};  // printable, at most kDetailBytesMax; never empty beside a value
  std::string error{};   // why nobody knows; the command's line in it is bounded alike

  bool operator==(const CommandAnswer&) const = default;
};

// REQUIRES: `sign` has a command. What a command prints is trusted in nothing: a value out of the
// sign's bounds is none.
CommandAnswer AnswerOf(const SignSpec& sign, const CommandEnd& end);

// For people and metrics.
double SecondsOf(Duration time);

}  // namespace galen::probes
