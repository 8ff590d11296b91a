#include "net/address.h"

#include <fmt/format.h>

#include <charconv>

namespace galen::net {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr std::string_view kTcpPrefix = "tcp:";

StatusOr<std::uint16_t> ParsePort(std::string_view text, std::string_view whole) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size() || text.empty()) {
    return InvalidArgument("address \"{}\" has no port from 0 to 65535 at its end", whole);
  }
  return port;
}

StatusOr<Address> ParseTcp(std::string_view rest, std::string_view whole) {
  const std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos) {
    return InvalidArgument("address \"{}\" has no port; write \"tcp:host:port\"", whole);
  }
  std::string_view host = rest.substr(0, colon);
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (brackets) host = host.substr(1, host.size() - 2);
  if (host.empty()) return InvalidArgument("address \"{}\" has no host", whole);
  if (host.find_first_of(brackets ? "[]" : ":[]") != std::string_view::npos) {
    return InvalidArgument("address \"{}\": write an IPv6 host in brackets, \"tcp:[::1]:443\"",
                           whole);
  }
  ASSIGN_OR_RETURN(const std::uint16_t port, ParsePort(rest.substr(colon + 1), whole));
  return Address{.kind = Address::Kind::kTcp, .path = "", .host = std::string(host), .port = port};
}

}  // namespace

StatusOr<Address> ParseAddress(std::string_view text) {
  if (text.starts_with(kTcpPrefix)) return ParseTcp(text.substr(kTcpPrefix.size()), text);
  if (!text.starts_with(kUnixPrefix)) {
    return InvalidArgument("address \"{}\" is neither \"unix:/path\" nor \"tcp:host:port\"", text);
  }
  const std::string_view path = text.substr(kUnixPrefix.size());
  if (path.empty()) return InvalidArgument("address \"{}\" has no path", text);
  // Linux would take it for an abstract name or end the path there, which nobody means.
  if (path.find('\0') != std::string_view::npos) {
    return InvalidArgument("address \"unix:\" has a zero byte in its path");
  }
  return Address{.kind = Address::Kind::kUnix, .path = std::string(path), .host = "", .port = 0};
}

std::string ToString(const Address& address) {
  if (address.kind == Address::Kind::kUnix) return fmt::format("unix:{}", address.path);
  const bool six = address.host.find(':') != std::string::npos;
  return six ? fmt::format("tcp:[{}]:{}", address.host, address.port)
             : fmt::format("tcp:{}:{}", address.host, address.port);
}

}  // namespace galen::net
