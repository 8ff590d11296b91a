// Cuts the bytes of a watch into its events: one JSON object a line. A value; belongs to whoever
// feeds it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace galen::kube {

struct WatchEvent {
  enum class Type { kAdded, kModified, kDeleted, kBookmark, kError };
  Type type = Type::kAdded;
  Json object;  // for kError a Kubernetes Status
};

class WatchDecoder {
 public:
  // Past it: ResourceExhausted.
  static constexpr std::size_t kEventBytesMax = 8 * 1024 * 1024;

  // Takes the next bytes, cut anywhere. REQUIRES: Next was called until it wanted more.
  Status Write(std::string_view bytes);
  // The next event, nullopt when more bytes are wanted, DataLoss for a line that is no event. The
  // broken line is gone then; whether to go on is the caller's to say.
  StatusOr<std::optional<WatchEvent>> Next();
  // The watch is over; DataLoss when it ended inside an event.
  Status Finish() const;

 private:
  std::string buffer_;
  std::size_t begin_ = 0;    // of the first line not taken
  std::size_t scanned_ = 0;  // up to here there is no newline
};

}  // namespace galen::kube
