#include "base/data/yaml_lines.h"

#include <algorithm>

namespace galen {
namespace {

bool IsTopKey(std::string_view line) {
  return !line.empty() && line.front() != ' ' && line.front() != '#' && line.front() != '-' &&
         line.find(':') != std::string_view::npos;
}

}  // namespace

YamlLines::YamlLines(std::string_view text) {
  Place* place = nullptr;
  std::size_t item_indent = 0;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(line.size() < text.size() ? line.size() + 1 : text.size());
    lines_.emplace_back(line);
    if (IsTopKey(line)) {
      // A key that stands there twice is refused by the parser; here the last one counts.
      place = &keys_[std::string(line.substr(0, line.find(':')))];
      *place = Place{number, {}};
      continue;
    }
    const std::size_t indent = line.find_first_not_of(' ');
    const bool is_item = indent != std::string_view::npos && line.substr(indent, 2) == "- ";
    if (place == nullptr || !is_item) continue;
    // Items of lists inside a row stand deeper than the row itself.
    if (place->items.empty()) item_indent = indent;
    if (indent == item_indent) place->items.push_back(number);
  }
}

std::optional<std::size_t> YamlLines::OfKey(std::string_view key) const {
  const auto found = keys_.find(key);
  if (found == keys_.end()) return std::nullopt;
  return found->second.line;
}

std::optional<std::size_t> YamlLines::OfItem(std::string_view key, std::size_t index) const {
  const auto found = keys_.find(key);
  if (found == keys_.end()) return std::nullopt;
  return index < found->second.items.size() ? found->second.items[index] : found->second.line;
}

std::optional<std::size_t> YamlLines::OfField(std::string_view key, std::size_t index,
                                              std::string_view field) const {
  const std::optional<YamlPlace> place = PlaceOfField(key, index, field);
  if (!place) return std::nullopt;
  return place->line;
}

YamlPlace YamlLines::PlaceAt(std::size_t line, std::size_t at) const {
  const std::string& text = lines_[line - 1];
  const std::size_t end = std::min(at, text.find_first_not_of(' '));
  const std::string_view before = std::string_view(text).substr(0, at == text.npos ? end : at);
  // Bytes that go on with a character of UTF-8 are no characters of their own.
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  return {line, static_cast<std::size_t>(std::ranges::count_if(before, begins)) + 1};
}

// A field stands behind blanks, a dash, a brace or a comma, so that an equal value is not taken for
// it.
std::optional<YamlPlace> YamlLines::PlaceOfField(std::string_view key, std::size_t index,
                                                 std::string_view field) const {
  const std::optional<std::size_t> first = OfItem(key, index), next = OfItem(key, index + 1);
  if (!first) return std::nullopt;
  // The last item, and one that cannot be distinguished, go on to the next key.
  const std::size_t end = *next > *first ? *next : lines_.size() + 1;
  const std::string wanted = std::string(field) + ":";
  for (std::size_t line = *first; line < end; ++line) {
    const std::string& text = lines_[line - 1];
    if (line > *first && IsTopKey(text)) break;
    for (std::size_t at = text.find(wanted); at != text.npos; at = text.find(wanted, at + 1)) {
      const bool begins =
          at == 0 || std::string_view(" -{,").find(text[at - 1]) != std::string_view::npos;
      if (begins && !field.empty()) return PlaceAt(line, at);
    }
  }
  return PlaceAt(*first, std::string::npos);
}

}  // namespace galen
