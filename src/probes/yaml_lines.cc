#include "probes/yaml_lines.h"

namespace galen::probes {
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

std::size_t YamlLines::OfKey(std::string_view key) const {
  const auto found = keys_.find(key);
  return found == keys_.end() ? 0 : found->second.line;
}

std::size_t YamlLines::OfItem(std::string_view key, std::size_t index) const {
  const auto found = keys_.find(key);
  if (found == keys_.end()) return 0;
  return index < found->second.items.size() ? found->second.items[index] : found->second.line;
}

}  // namespace galen::probes
