// gRPC's messages on the wire (PROTOCOL-HTTP2.md, "Length-Prefixed-Message"): one byte for
// compression, four for the size, then the message. Values; no state but what a reader keeps
// between pieces.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace galen::rpc {

inline constexpr std::size_t kFrameHeadBytes = 5;

// The message with its head in front, not compressed. REQUIRES: less than 4 GiB.
std::string Frame(std::string_view message);

// Puts messages together from pieces of any size. Bounded by the largest message and one piece. No
// I/O; belongs to its stream's loop.
class FrameReader {
 public:
  // Which side reads: it decides how a compressed message, which neither side offered to take, is
  // refused: Unimplemented by a server, Internal by a client (compression.md of gRPC).
  enum class Side { kClient, kServer };

  FrameReader(Side side, std::size_t message_bytes_max)
      : side_(side), message_bytes_max_(message_bytes_max) {}

  // The next bytes, cut anywhere. REQUIRES: Next was called until it gave nullopt, or the reader
  // grows.
  void Add(std::string_view bytes);
  // The next whole message, nullopt when it has not come yet, or why the stream is refused:
  // compressed, or ResourceExhausted past message_bytes_max, by its head alone, before the message
  // is read. What it gives is valid until Add. After an error it gives the same again.
  StatusOr<std::optional<std::string_view>> Next();
  // Bytes of the message that has not come whole, head included; nullopt before its head has.
  std::optional<std::size_t> awaited() const;
  // Whether what came so far ends between two messages.
  bool between_messages() const { return taken_ == waiting_.size(); }

 private:
  const Side side_;
  const std::size_t message_bytes_max_;
  std::string waiting_;
  std::size_t taken_ = 0;  // of waiting_
};

}  // namespace galen::rpc
