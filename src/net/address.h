// Where to listen or dial, as people write it: "unix:/path", "tcp:host:port". A value. What it
// names need not exist, and a host is not looked up here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace galen::net {

// The longest path of a unix socket: sizeof(sockaddr_un::sun_path) less its terminating zero.
inline constexpr std::size_t kSocketPathMax = 107;

// One of two kinds; the other kind's fields are empty.
struct Address {
  enum class Kind { kUnix, kTcp };

  Kind kind = Kind::kUnix;
  // kUnix: an absolute or a relative path; its length is checked when a socket is made of it.
  std::string path;
  // kTcp: a name or a number; IPv6 without its brackets.
  std::string host;
  // kTcp: 0 to 65535; 0 only makes sense to listen on: any free one.
  std::uint16_t port = 0;

  bool operator==(const Address&) const = default;
};

// InvalidArgument, with a sentence for the operator, for an unknown kind, an empty path or host, a
// missing port, an IPv6 host without brackets, or a zero byte in a path.
StatusOr<Address> ParseAddress(std::string_view text);

// What ParseAddress reads; IPv6 gets its brackets back.
std::string ToString(const Address& address);

}  // namespace galen::net
