// YAML for people's files (kubeconfig, our config, rules) and for `-o yaml`. libyaml behind it.
// Pure functions. What is read becomes JSON's types, so the rest of the program knows one kind of
// value. Bounded against bombs: depth by Json::kDepthMax, copies by aliases to a million values;
// the size of the text is for the caller to bound.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/data/json.h"

namespace galen {

// Duplicate keys of one text that are reported at most; a person repairs these first.
inline constexpr std::size_t kDoubledKeysMax = 20;

// One document into JSON's types by the core schema of YAML 1.2; null when there is none. Keys are
// text, whatever they look like. Duplicate keys (all are reported), tabs, "<<", unknown tags,
// aliases deeper than Json::kDepthMax and a second document are errors: InvalidArgument, which
// names line and column where it can.
StatusOr<Json> ParseYaml(std::string_view text);

// A key that its mapping already has. Lines and columns count from 1.
struct DoubledKey {
  std::size_t line = 0;
  std::size_t column = 0;
  std::string key;  // printable, and cut where it is very long
  bool operator==(const DoubledKey&) const = default;
};

// A document, with the duplicate keys for which ParseYaml would refuse it.
struct YamlReading {
  Json value;                       // of keys that come twice it has the last
  std::vector<DoubledKey> doubled;  // in the order of the text; at most kDoubledKeysMax of them
};

// As ParseYaml, for callers that report every fault of a file at once: duplicate keys are given
// beside the value, and the caller must refuse them.
StatusOr<YamlReading> ReadYaml(std::string_view text);
// All documents of a stream, as in a manifest with "---" lines; empty documents are left out. One
// that is broken makes the whole stream an error. Anchors end with their document.
StatusOr<std::vector<Json>> ParseYamlStream(std::string_view text);

// Block style, keys in order, strings quoted only where YAML would read something else; ends with a
// newline. ParseYaml reads the same value back.
std::string WriteYaml(const Json& value);

}  // namespace galen
