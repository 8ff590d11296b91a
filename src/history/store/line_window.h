// Lines in the order in which they came, of which the oldest go first. They lie one behind the
// other in large pieces of memory, each given back as a whole: many thousands of short lines, all
// of another length, cost their bytes and leave no holes behind. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string_view>

namespace galen::history {

class LineWindow {
 public:
  struct Line {
    std::uint64_t sequence = 0;
    std::string_view text;  // holds until it is popped
  };

  void Push(std::uint64_t sequence, std::string_view text);
  // REQUIRES: not empty.
  Line front() const { return At(pieces_.front(), pieces_.front().begin); }
  void PopFront();

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  // Limit of all texts together.
  std::size_t bytes() const { return bytes_; }

  // Oldest first. `visit` takes a Line.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const Piece& piece : pieces_) {
      for (std::size_t at = piece.begin; at < piece.end;) {
        const Line line = At(piece, at);
        visit(line);
        at += sizeof(Head) + line.text.size();
      }
    }
  }

 private:
  // What stands before each text.
  struct Head {
    std::uint64_t sequence;
    std::uint64_t size;
  };
  struct Piece {
    std::unique_ptr<char[]> memory;
    std::size_t capacity = 0, begin = 0, end = 0;
  };
  // So large that the C library takes and gives back each by itself, and that of what is taken only
  // what was written is resident.
  static constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

  static Line At(const Piece& piece, std::size_t at) {
    Head head;
    std::memcpy(&head, piece.memory.get() + at, sizeof(head));
    return {head.sequence, {piece.memory.get() + at + sizeof(head), head.size}};
  }

  std::deque<Piece> pieces_;  // none is empty
  std::size_t size_ = 0, bytes_ = 0;
};

}  // namespace galen::history
