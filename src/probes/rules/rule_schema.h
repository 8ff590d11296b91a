// The rules file as a JSON schema, for editors and CI. Pure.
#pragma once

#include "base/data/json.h"

namespace galen::probes {

// By JSON Schema 2020-12 (https://json-schema.org/draft/2020-12). What a schema cannot say, such as
// that a rule's sign is there, `galen rules check` says.
Json RulesSchema();

}  // namespace galen::probes
