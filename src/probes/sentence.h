// Fills the sentence of a rule with what was measured: "GPU temperature {value} °C exceeds
// {threshold} °C". Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace galen::probes {

// What the placeholders of a sentence stand for.
struct SentenceValues {
  std::string value{};
  std::string threshold{};
  std::string expected{};
  std::string unit{};
  std::string text{};
  double share = 1.0;
};

// Of the bytes that a sentence may have, those that are kept for what is filled in.
inline constexpr std::size_t kSentenceBytesForValues = 40;

// InvalidArgument names the first brace that is no placeholder.
Status CheckSentence(std::string_view sentence);
// At most kCauseMessageBytesMax bytes of valid UTF-8 on one line.
std::string FillSentence(std::string_view sentence, const SentenceValues& values);
// "half the", "a quarter of the", "62 % of the".
std::string ShareWords(double share);

}  // namespace galen::probes
