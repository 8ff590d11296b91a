// Takes what a target needs from the front of a fuzzer's bytes. When they are used up, numbers are
// zero and texts are empty, so that a short input is an input too.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace galen::fuzz {

class Input {
 public:
  explicit Input(std::string_view bytes) : rest_(bytes) {}

  unsigned char Byte() {
    if (rest_.empty()) return 0;
    const char byte = rest_.front();
    rest_.remove_prefix(1);
    return static_cast<unsigned char>(byte);
  }
  // Up to the next zero byte, which is dropped: texts seldom hold one, so a fuzzer that knows the
  // one text learns the next.
  std::string_view Text() {
    const std::size_t end = std::min(rest_.find('\0'), rest_.size());
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return text;
  }
  // At most so many, to feed what is read in pieces.
  std::string_view Piece(std::size_t size) {
    const std::string_view piece = rest_.substr(0, size);
    rest_.remove_prefix(piece.size());
    return piece;
  }
  std::string_view Rest() { return Piece(rest_.size()); }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace galen::fuzz
