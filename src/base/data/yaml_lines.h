// Where in a YAML text the items of its top-level lists begin, so that a fault can name its line.
// Understands block lists ("- " under a key), which is how tables are written; for anything else
// the answer is the key's line. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace galen {

// Where something stands; both count from 1, columns in characters.
struct YamlPlace {
  std::size_t line = 1;
  std::size_t column = 1;
  bool operator==(const YamlPlace&) const = default;
};

// A hint for people, made beside the real parser: it never fails, and being wrong about a line is
// the worst it can do.
class YamlLines {
 public:
  explicit YamlLines(std::string_view text);

  // The line of the key. nullopt, here and below, when there is no such key.
  std::optional<std::size_t> OfKey(std::string_view key) const;
  // The line of the key's item `index`, counted from 0; the key's own line when the items cannot be
  // distinguished.
  std::optional<std::size_t> OfItem(std::string_view key, std::size_t index) const;
  // The line of that item's own field; the item's line when it cannot be found.
  std::optional<std::size_t> OfField(std::string_view key, std::size_t index,
                                     std::string_view field) const;
  // The field's line and column.
  std::optional<YamlPlace> PlaceOfField(std::string_view key, std::size_t index,
                                        std::string_view field) const;

  // The place of a field two levels below a key, as `owner` in `defaults: {heat: {owner: x}}`: key
  // "defaults", name "heat", field "owner". Where the field is "" or cannot be found, the place of
  // the name; where that cannot be found, the place of the key. nullopt: there is no such key.
  std::optional<YamlPlace> PlaceInside(std::string_view key, std::string_view name,
                                       std::string_view field) const;

 private:
  // Where a key begins in a line, not before `from`: behind blanks, a dash, a brace or a comma, so
  // that an equal value is not taken for it. npos: nowhere.
  static std::size_t FindKey(std::string_view line, std::string_view key, std::size_t from);
  // The place of the byte at offset `at` of a line; for npos, of its first byte that is not blank.
  YamlPlace PlaceAt(std::size_t line, std::size_t at) const;
  struct Place {
    std::size_t line = 0;
    std::vector<std::size_t> items;
  };

  std::map<std::string, Place, std::less<>> keys_;
  std::vector<std::string> lines_;
};

}  // namespace galen
