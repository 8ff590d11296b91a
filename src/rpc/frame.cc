#include "rpc/frame.h"

#include <cstdint>

#include "base/check.h"

namespace galen::rpc {
namespace {

// As much as most messages have; more is given back.
constexpr std::size_t kKeptBytes = 64 * 1024;

std::size_t ReadSize(std::string_view head) {
  std::uint32_t size = 0;
  for (const char byte : head.substr(1, 4)) size = (size << 8U) | static_cast<std::uint8_t>(byte);
  return size;
}

}  // namespace

std::string Frame(std::string_view message) {
  GALEN_CHECK(message.size() <= UINT32_MAX);
  std::string out;
  out.reserve(kFrameHeadBytes + message.size());
  out += '\0';
  for (unsigned shift = 32; shift > 0; shift -= 8) {
    out += static_cast<char>((message.size() >> (shift - 8)) & 0xFFU);
  }
  return out.append(message);
}

void FrameReader::Add(std::string_view bytes) {
  waiting_.erase(0, taken_);
  taken_ = 0;
  // One long message must not keep its memory for as long as its stream lives.
  if (waiting_.capacity() > kKeptBytes && waiting_.size() < kKeptBytes) waiting_.shrink_to_fit();
  waiting_.append(bytes);
}

std::optional<std::size_t> FrameReader::awaited() const {
  const std::string_view left = std::string_view(waiting_).substr(taken_);
  if (left.size() < kFrameHeadBytes) return std::nullopt;
  return kFrameHeadBytes + ReadSize(left);
}

StatusOr<std::optional<std::string_view>> FrameReader::Next() {
  const std::string_view left = std::string_view(waiting_).substr(taken_);
  if (left.size() < kFrameHeadBytes) return std::optional<std::string_view>();
  if (left.front() != 0) {
    if (side_ == Side::kServer) return Unimplemented("compressed messages are not taken");
    return Internal("the server compressed a message, which nobody asked for");
  }
  const std::size_t size = ReadSize(left);
  if (size > message_bytes_max_) {
    return ResourceExhausted("a message of {} bytes exceeds the limit of {}", size,
                             message_bytes_max_);
  }
  if (left.size() < kFrameHeadBytes + size) return std::optional<std::string_view>();
  taken_ += kFrameHeadBytes + size;
  return std::optional<std::string_view>(left.substr(kFrameHeadBytes, size));
}

}  // namespace galen::rpc
