// Cuts the bytes of a watch into its events: one JSON object a line (metav1.WatchEvent). A value;
// belongs to its caller. One for each watch.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/data/json.h"

namespace galen::kube {

// A change of one object; the object is as it is after it, for kDeleted as it was last.
struct WatchEvent {
  enum class Type { kAdded, kModified, kDeleted, kBookmark, kError };
  Type type = Type::kAdded;
  // For kBookmark only kind and metadata.resourceVersion, for kError a Kubernetes Status.
  Json object;
};

class WatchDecoder {
 public:
  // Limit of one line. Past it: ResourceExhausted. As ItemSplitter::kItemBytesMax: an event is an
  // object.
  static constexpr std::size_t kEventBytesMax = 8 * 1024 * 1024;

  // Takes the next bytes, cut anywhere. REQUIRES: Next was called until it wanted more. After an
  // error feed no more.
  Status Write(std::string_view bytes);
  // The next event, nullopt when more bytes are wanted, DataLoss for a line that is no event. The
  // broken line is gone then; whether to go on is the caller's to say.
  StatusOr<std::optional<WatchEvent>> Next();
  // The watch is over; DataLoss when it ended inside an event, whose line is then lost.
  Status Finish() const;

 private:
  // From the first line not taken to the last byte that came; cut at the front by Write only.
  std::string buffer_;
  std::size_t begin_ = 0;    // of the first line not taken
  std::size_t scanned_ = 0;  // up to here there is no newline
};

}  // namespace galen::kube
