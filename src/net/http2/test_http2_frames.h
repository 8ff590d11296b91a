// HTTP/2 frames by hand (RFC 9113, section 4), for tests of what well-behaved libraries never send.
// Values in, values out; nothing is checked, so that broken frames can be made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.h"

namespace galen::net {

// The head's fields and the payload as it is; the length is the payload's.
struct RawFrame {
  std::uint8_t type = 0;
  std::uint8_t flags = 0;
  std::uint32_t stream = 0;
  std::string payload{};
};

// Types: RFC 9113, section 6.
inline constexpr std::uint8_t kDataFrame = 0;
inline constexpr std::uint8_t kHeadersFrame = 1;
inline constexpr std::uint8_t kResetFrame = 3;
inline constexpr std::uint8_t kSettingsFrame = 4;
inline constexpr std::uint8_t kPingFrame = 6;
inline constexpr std::uint8_t kGoawayFrame = 7;
inline constexpr std::uint8_t kWindowUpdateFrame = 8;
// Flags; kEndStream of DATA and HEADERS is the same bit as ACK of SETTINGS and PING.
inline constexpr std::uint8_t kEndStream = 1;
inline constexpr std::uint8_t kEndHeaders = 4;

// RFC 9113, section 3.4.
inline constexpr std::string_view kClientPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// Four bytes, as in RST_STREAM, WINDOW_UPDATE and GOAWAY.
std::string Number(std::uint32_t number);
std::string Encode(const RawFrame& frame);
// HPACK (RFC 7541, section 6.2.2: literals without indexing, new names) without compression; names
// and values of less than 127 bytes, whose length fits into one byte.
std::string EncodeFields(const Headers& fields);
// The whole frames at the front of `bytes`; a part of one at the end is left out.
std::vector<RawFrame> DecodeFrames(std::string_view bytes);

}  // namespace galen::net
