// YAML for people's files (kubeconfig, our config, rules) and for `-o yaml`. libyaml behind it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace galen {

// One document into JSON's types by the core schema. Duplicate keys, tabs, aliases deeper than
// Json::kDepthMax and a second document are errors; each names line and column.
StatusOr<Json> ParseYaml(std::string_view text);
// All documents of a stream, as in a manifest with "---" lines; empty documents are left out.
StatusOr<std::vector<Json>> ParseYamlStream(std::string_view text);

// Block style, keys in order, strings quoted only where YAML would read something else.
std::string WriteYaml(const Json& value);

}  // namespace galen
