// gRPC's messages on the wire: one byte for compression, four for the size, then the message.
// Values; no state but what a reader keeps between pieces.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace galen::rpc {

inline constexpr std::size_t kFrameHeadBytes = 5;

// The message with its head in front.
std::string Frame(std::string_view message);

// Puts messages together from pieces of any size. Bounded by the largest message and one piece.
class FrameReader {
 public:
  // Which side reads: it decides how a compressed message, which neither side offered to take, is
  // refused.
  enum class Side { kClient, kServer };

  FrameReader(Side side, std::size_t message_bytes_max)
      : side_(side), message_bytes_max_(message_bytes_max) {}

  void Add(std::string_view bytes);
  // The next whole message, nullopt when it has not come yet, or why the stream is refused.
  // What it gives is valid until Add.
  StatusOr<std::optional<std::string_view>> Next();
  // Whether what came so far ends between two messages.
  bool between_messages() const { return taken_ == waiting_.size(); }

 private:
  const Side side_;
  const std::size_t message_bytes_max_;
  std::string waiting_;
  std::size_t taken_ = 0;  // of waiting_
};

}  // namespace galen::rpc
