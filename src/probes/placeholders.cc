#include "probes/placeholders.h"

#include <algorithm>
#include <iterator>

namespace galen::probes {
namespace {

// Text up to a brace, then perhaps a placeholder's name.
struct BracedPiece {
  std::string_view before{};
  std::optional<std::string_view> name{};
};

// Takes it off the front; a brace that is not part of a placeholder stays there.
BracedPiece TakePiece(std::string_view& text) {
  BracedPiece piece{.before = text.substr(0, text.find_first_of("{}"))};
  text.remove_prefix(piece.before.size());
  if (!text.starts_with('{')) return piece;
  const std::string_view name = text.substr(1, text.find('}') - 1);
  if (name.size() + 1 == text.size() ||
      std::ranges::find(kPlaceholders, name) == std::end(kPlaceholders)) {
    return piece;
  }
  piece.name = name;
  text.remove_prefix(name.size() + 2);
  return piece;
}

}  // namespace

std::string WrongPlaceholder(std::string_view text) {
  while (!text.empty()) {
    if (TakePiece(text).name) continue;
    if (text.empty()) break;
    return std::string(text.substr(0, std::min(text.find('}'), text.size() - 1) + 1));
  }
  return "";
}

FilledText FillPlaceholders(std::string_view text, const CheckedDevice& device) {
  FilledText filled;
  while (!text.empty()) {
    const BracedPiece piece = TakePiece(text);
    filled.text += piece.before;
    if (!piece.name) break;
    const auto known = device.known.find(std::string(*piece.name));
    if (known != device.known.end()) {
      filled.text += known->second;
    } else if (filled.missing.empty()) {
      filled.missing = *piece.name;
    }
  }
  return filled;
}

}  // namespace galen::probes
