// For tests: a Json from a literal. A broken literal ends the test program. Never for text that
// comes from outside: that is Json::Parse.
#pragma once

#include "base/check.h"
#include "base/data/json.h"

namespace galen::kube {

inline Json JsonOf(std::string_view text) {
  StatusOr<Json> parsed = Json::Parse(text);
  GALEN_CHECK(parsed.ok());
  return std::move(parsed).value();
}

}  // namespace galen::kube
