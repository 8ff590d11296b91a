#include "probes/rules/sentence.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "base/text.h"
#include "model/health.h"

namespace galen::probes {
namespace {

std::optional<std::string> Fill(std::string_view name, const SentenceValues& values) {
  if (name == "value") return values.value;
  if (name == "threshold") return values.threshold;
  if (name == "expected") return values.expected;
  if (name == "unit") return values.unit;
  if (name == "text") return values.text;
  if (name == "detail") return values.detail;
  if (name == "share") return ShareWords(values.share);
  return std::nullopt;
}

// The next piece of a sentence: text up to a brace, then perhaps a placeholder.
struct Piece {
  std::string_view before;
  std::optional<std::string_view> name;
  std::string_view after;
};

Piece NextPiece(std::string_view sentence) {
  const std::size_t open = sentence.find('{');
  if (open == std::string_view::npos) return {sentence, std::nullopt, {}};
  const std::size_t close = sentence.find('}', open);
  // A brace without its other half stays in the text, where CheckSentence finds it.
  if (close == std::string_view::npos) return {sentence, std::nullopt, {}};
  return {sentence.substr(0, open), sentence.substr(open + 1, close - open - 1),
          sentence.substr(close + 1)};
}

}  // namespace

std::string ShareWords(double share) {
  // Halves of links and lanes are what is seen in practice; anything else reads better as a number.
  if (share == 0.5) return "half the";
  if (share == 0.25) return "a quarter of the";
  if (share == 0.125) return "an eighth of the";
  if (share == 0) return "none of the";
  return fmt::format("{} % of the", std::lround(share * 100));
}

bool NeedsDetail(std::string_view sentence) {
  return sentence.find("{detail}") != std::string_view::npos;
}

Status CheckSentence(std::string_view sentence) {
  while (!sentence.empty()) {
    const Piece piece = NextPiece(sentence);
    if (piece.before.find_first_of("{}") != std::string_view::npos) {
      return InvalidArgument("has a brace without its other half");
    }
    if (piece.name && !Fill(*piece.name, {})) {
      return InvalidArgument(
          "knows no {{{}}}: value, threshold, expected, unit, share, text, detail", *piece.name);
    }
    sentence = piece.after;
  }
  return OkStatus();
}

std::string FillSentence(std::string_view sentence, const SentenceValues& values) {
  std::string filled;
  while (!sentence.empty()) {
    const Piece piece = NextPiece(sentence);
    filled += piece.before;
    if (piece.name) filled += Fill(*piece.name, values).value_or("");
    sentence = piece.after;
  }
  // Values come from hardware and may be anything.
  return Shown(filled, kCauseMessageBytesMax);
}

}  // namespace galen::probes
