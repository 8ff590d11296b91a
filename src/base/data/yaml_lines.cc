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
  // UTF-8's continuation bytes begin no character.
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
  return {line, static_cast<std::size_t>(std::ranges::count_if(before, begins)) + 1};
}

std::size_t YamlLines::FindKey(std::string_view line, std::string_view key, std::size_t from) {
  if (key.empty()) return line.npos;
  const std::string wanted = std::string(key) + ":";
  for (std::size_t at = line.find(wanted, from); at != line.npos; at = line.find(wanted, at + 1)) {
    const bool begins =
        at == 0 || std::string_view(" -{,").find(line[at - 1]) != std::string_view::npos;
    if (begins) return at;
  }
  return line.npos;
}

std::optional<YamlPlace> YamlLines::PlaceOfField(std::string_view key, std::size_t index,
                                                 std::string_view field) const {
  const std::optional<std::size_t> first = OfItem(key, index), next = OfItem(key, index + 1);
  if (!first) return std::nullopt;
  // The last item, and items that cannot be distinguished, reach to the next key.
  const std::size_t end = *next > *first ? *next : lines_.size() + 1;
  for (std::size_t line = *first; line < end; ++line) {
    const std::string& text = lines_[line - 1];
    if (line > *first && IsTopKey(text)) break;
    const std::size_t at = FindKey(text, field, 0);
    if (at != std::string::npos) return PlaceAt(line, at);
  }
  return PlaceAt(*first, std::string::npos);
}

std::optional<YamlPlace> YamlLines::PlaceInside(std::string_view key, std::string_view name,
                                                std::string_view field) const {
  const std::optional<std::size_t> top = OfKey(key);
  if (!top) return std::nullopt;
  std::optional<YamlPlace> found;  // the name
  std::size_t indent = 0;          // of its line
  for (std::size_t line = *top; line <= lines_.size(); ++line) {
    const std::string& text = lines_[line - 1];
    if (line > *top && IsTopKey(text)) break;
    std::size_t from = 0;
    if (!found) {
      // On the key's own line the name follows the key.
      from = FindKey(text, name, line == *top ? key.size() + 1 : 0);
      if (from == std::string::npos) continue;
      found = PlaceAt(line, from);
      indent = text.find_first_not_of(' ');
      from += name.size() + 1;
    } else if (text.find_first_not_of(' ') <= indent) {
      break;
    }
    const std::size_t at = FindKey(text, field, from);
    if (at != std::string::npos) return PlaceAt(line, at);
  }
  return found ? found : YamlPlace{.line = *top};
}

}  // namespace galen
