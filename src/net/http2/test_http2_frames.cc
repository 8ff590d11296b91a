#include "net/http2/test_http2_frames.h"

#include "base/check.h"

namespace galen::net {
namespace {

// Three bytes of length, type, flags, and four of the stream's number.
constexpr std::size_t kHeadBytes = 9;

std::uint32_t ReadNumber(std::string_view bytes) {
  std::uint32_t out = 0;
  for (const char byte : bytes) out = (out << 8U) | static_cast<std::uint8_t>(byte);
  return out;
}

std::string Sized(const std::string& text) {
  GALEN_CHECK(text.size() < 127);
  return static_cast<char>(text.size()) + text;
}

}  // namespace

std::string Number(std::uint32_t number) {
  std::string out;
  for (const unsigned shift : {24U, 16U, 8U, 0U})
    out += static_cast<char>((number >> shift) & 255U);
  return out;
}

std::string Encode(const RawFrame& frame) {
  std::string out = Number(static_cast<std::uint32_t>(frame.payload.size())).substr(1);
  out += static_cast<char>(frame.type);
  out += static_cast<char>(frame.flags);
  return out + Number(frame.stream) + frame.payload;
}

std::string EncodeFields(const Headers& fields) {
  std::string out;
  for (const Header& field : fields) out += '\0' + Sized(field.name) + Sized(field.value);
  return out;
}

std::vector<RawFrame> DecodeFrames(std::string_view bytes) {
  std::vector<RawFrame> out;
  while (bytes.size() >= kHeadBytes) {
    const std::size_t size = ReadNumber(bytes.substr(0, 3));
    if (bytes.size() < kHeadBytes + size) break;
    out.push_back({.type = static_cast<std::uint8_t>(bytes[3]),
                   .flags = static_cast<std::uint8_t>(bytes[4]),
                   .stream = ReadNumber(bytes.substr(5, 4)),
                   .payload = std::string(bytes.substr(kHeadBytes, size))});
    bytes.remove_prefix(kHeadBytes + size);
  }
  return out;
}

}  // namespace galen::net
