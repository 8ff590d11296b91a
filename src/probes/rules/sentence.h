// Fills the sentence of a rule with what was measured: "GPU temperature {value} °C exceeds
// {threshold} °C". Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace galen::probes {

// The values of the placeholders of a sentence.
struct SentenceValues {
  std::string value{};
  std::string threshold{};
  std::string expected{};
  std::string unit{};
  std::string text{};
  std::string detail{};  // what a command printed
  double share = 1.0;
};

// Whether the sentence asks for what a command printed.
bool NeedsDetail(std::string_view sentence);

// How many of a sentence's bytes (kCauseMessageBytesMax) are reserved for what is filled in: two
// numbers and the text of a share. Longer values are cut at the sentence's end.
inline constexpr std::size_t kSentenceBytesForValues = 40;

// OK when every brace is part of a placeholder that FillSentence knows; else InvalidArgument names
// the first that is not.
Status CheckSentence(std::string_view sentence);
// At most kCauseMessageBytesMax bytes of valid UTF-8 on one line, whatever the values hold.
// Placeholders that are not known become nothing: CheckSentence has refused them when the table was
// read.
std::string FillSentence(std::string_view sentence, const SentenceValues& values);
// "half the", "a quarter of the", "62 % of the": reads before a noun, as in "half the bandwidth".
std::string ShareWords(double share);

}  // namespace galen::probes
