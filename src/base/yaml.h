// YAML for people's files (kubeconfig, our config, rules) and for `-o yaml`. libyaml behind it.
// Pure functions. What is read becomes JSON's types, so the rest of the program knows one kind of
// value. Bounded against bombs: depth by Json::kDepthMax, copies by aliases to a million values;
// the size of the text is for the caller to bound.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace galen {

// One document into JSON's types by the core schema of YAML 1.2; null when there is none. Keys are
// text, whatever they look like. Duplicate keys, tabs, "<<", unknown tags, aliases deeper than
// Json::kDepthMax and a second document are errors: InvalidArgument, which names line and column
// where it can.
StatusOr<Json> ParseYaml(std::string_view text);
// All documents of a stream, as in a manifest with "---" lines; empty documents are left out. One
// that is broken makes the whole stream an error. Anchors end with their document.
StatusOr<std::vector<Json>> ParseYamlStream(std::string_view text);

// Block style, keys in order, strings quoted only where YAML would read something else; ends with a
// newline. ParseYaml reads the same value back.
std::string WriteYaml(const Json& value);

}  // namespace galen
