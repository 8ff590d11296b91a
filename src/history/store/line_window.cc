#include <algorithm>
#include <utility>

#include "history/store/store.h"

namespace galen::history {

void LineWindow::Push(std::uint64_t sequence, std::string_view text) {
  const Head head{sequence, text.size()};
  const std::size_t needed = sizeof(head) + text.size();
  if (pieces_.empty() || pieces_.back().capacity - pieces_.back().end < needed) {
    const std::size_t capacity = std::max(kPieceBytes, needed);
    // Not zeroed: that would make all of it resident.
    pieces_.push_back({std::make_unique_for_overwrite<char[]>(capacity), capacity, 0, 0});
  }
  Piece& piece = pieces_.back();
  std::memcpy(piece.memory.get() + piece.end, &head, sizeof(head));
  std::memcpy(piece.memory.get() + piece.end + sizeof(head), text.data(), text.size());
  piece.end += needed;
  ++size_;
  bytes_ += text.size();
}

void LineWindow::PopFront() {
  Piece& piece = pieces_.front();
  const std::size_t size = front().text.size();
  piece.begin += sizeof(Head) + size;
  --size_;
  bytes_ -= size;
  if (piece.begin == piece.end) pieces_.pop_front();
}

}  // namespace galen::history
