// For tests: the answer of a Sync whose writes are done in the call.
#pragma once

#include <optional>

#include "base/check.h"
#include "base/status.h"

namespace galen::history {

// REQUIRES: `kept` has no DiskQueue, or one that does not hang.
template <typename Kept>
Status Synced(Kept& kept) {
  std::optional<Status> answer;
  kept.Sync([&](const Status& status) { answer = status; });
  GALEN_CHECK(answer.has_value());
  return *answer;
}

}  // namespace galen::history
