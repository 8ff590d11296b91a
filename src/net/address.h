// Where to listen or dial, as people write it: "unix:/path", "tcp:host:port". A value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace galen::net {

// One of two kinds; the other kind's fields are empty.
struct Address {
  enum class Kind { kUnix, kTcp };

  Kind kind = Kind::kUnix;
  std::string path;
  std::string host;  // a name or a number; IPv6 without its brackets
  std::uint16_t port = 0;

  bool operator==(const Address&) const = default;
};

StatusOr<Address> ParseAddress(std::string_view text);

// What ParseAddress reads.
std::string ToString(const Address& address);

}  // namespace galen::net
