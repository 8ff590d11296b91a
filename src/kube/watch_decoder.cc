#include "kube/watch_decoder.h"

#include <utility>

#include "base/text.h"

namespace galen::kube {
namespace {

// Enough of a broken line to recognise it.
constexpr std::size_t kQuotedBytesMax = 80;

std::optional<WatchEvent::Type> ParseType(std::string_view text) {
  using enum WatchEvent::Type;
  if (text == "ADDED") return kAdded;
  if (text == "MODIFIED") return kModified;
  if (text == "DELETED") return kDeleted;
  if (text == "BOOKMARK") return kBookmark;
  if (text == "ERROR") return kError;
  return std::nullopt;
}

StatusOr<WatchEvent> ParseEvent(std::string_view line) {
  StatusOr<Json> event = Json::Parse(line);
  if (!event.ok()) {
    return DataLoss("an event is broken: {} in {}", event.status().message(),
                    Printable(CutText(ToValidUtf8(line), kQuotedBytesMax)));
  }
  const Json& read = *event;
  const auto type = ParseType(read["type"].AsString());
  if (!type || !read["object"].is_object()) {
    return DataLoss("not an event: {}", Printable(CutText(ToValidUtf8(line), kQuotedBytesMax)));
  }
  return WatchEvent{*type, std::move((*event)["object"])};
}

}  // namespace

Status WatchDecoder::Write(std::string_view bytes) {
  // Only a line that has no end yet can be too long: whole ones came within one piece.
  const bool inside_line = scanned_ == buffer_.size() && bytes.find('\n') == std::string_view::npos;
  buffer_.erase(0, begin_);
  scanned_ -= begin_;
  begin_ = 0;
  buffer_ += bytes;
  if (inside_line && buffer_.size() > kEventBytesMax) {
    return ResourceExhausted("an event is longer than {} bytes", kEventBytesMax);
  }
  return OkStatus();
}

StatusOr<std::optional<WatchEvent>> WatchDecoder::Next() {
  for (;;) {
    const std::size_t end = buffer_.find('\n', scanned_);
    if (end == std::string::npos) {
      // At rest nothing is kept, not even room: a first list was a megabyte in one piece.
      if (begin_ == buffer_.size()) {
        GiveBack(buffer_);
        begin_ = 0;
      }
      scanned_ = buffer_.size();
      return std::optional<WatchEvent>();
    }
    const std::string_view line = std::string_view(buffer_).substr(begin_, end - begin_);
    begin_ = scanned_ = end + 1;
    // An empty line is not an event and does no harm.
    if (line.empty()) continue;
    ASSIGN_OR_RETURN(WatchEvent event, ParseEvent(line));
    return std::optional(std::move(event));
  }
}

Status WatchDecoder::Finish() const {
  if (begin_ < buffer_.size()) return DataLoss("the watch ended inside an event");
  return OkStatus();
}

}  // namespace galen::kube
