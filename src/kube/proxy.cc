#include "kube/proxy.h"

#include <arpa/inet.h>

#include <array>
#include <optional>

#include "base/text.h"

namespace galen::kube {
namespace {

// An IPv4 address as IPv6, so that there is one kind.
using Bytes = std::array<unsigned char, 16>;

struct IpAddress {
  Bytes bytes{};
  int bits = 128;  // of its own kind: 32 or 128
};

std::optional<IpAddress> ParseIp(const std::string& text) {
  IpAddress ip;
  if (inet_pton(AF_INET6, text.c_str(), ip.bytes.data()) == 1) return ip;
  ip.bits = 32;
  ip.bytes = {};
  // RFC 4291, section 2.5.5.2: an IPv4-mapped address.
  ip.bytes[10] = ip.bytes[11] = 0xff;
  if (inet_pton(AF_INET, text.c_str(), ip.bytes.data() + 12) == 1) return ip;
  return std::nullopt;
}

// Whether the first `bits` bits agree, counted within b's kind.
bool SamePrefix(const IpAddress& a, const IpAddress& b, int bits) {
  // An IPv4 network counts its bits from where the IPv4 part begins.
  const int skipped = 128 - b.bits;
  for (int i = 0; i < skipped + bits; ++i) {
    const auto byte = static_cast<std::size_t>(i / 8);
    if (((a.bytes[byte] ^ b.bytes[byte]) >> (7 - i % 8) & 1) != 0) return false;
  }
  return true;
}

bool InNetwork(const std::string& host, std::string_view network) {
  const std::size_t slash = network.find('/');
  if (slash == std::string_view::npos) return false;
  const auto ip = ParseIp(host);
  const auto base = ParseIp(std::string(network.substr(0, slash)));
  const std::optional<std::int64_t> bits = LeadingNumber(network.substr(slash + 1));
  // Networks of one address family match no addresses of the other.
  if (!ip || !base || ip->bits != base->bits || !bits || *bits > base->bits) return false;
  return SamePrefix(*ip, *base, static_cast<int>(*bits));
}

// Go's tools treat these alike; a proxy elsewhere could not reach them anyway.
bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || InNetwork(host, "127.0.0.0/8");
}

// "example.com" and ".example.com" match subdomains; the first also the name itself.
bool InDomain(std::string_view host, std::string_view domain) {
  // "*.example.com" says what ".example.com" says, as in Go.
  if (domain.starts_with("*.")) domain.remove_prefix(1);
  if (host == domain) return true;
  if (domain.starts_with('.')) return host.ends_with(domain);
  return host.size() > domain.size() && host.ends_with(domain) &&
         host[host.size() - domain.size() - 1] == '.';
}

bool Matches(const Url& server, std::string_view entry) {
  if (entry == "*") return true;
  if (InNetwork(server.host, entry)) return true;
  const auto entry_ip = ParseIp(std::string(entry));
  // Compared as bytes: an address can be written in several ways.
  if (entry_ip) return ParseIp(server.host) && ParseIp(server.host)->bytes == entry_ip->bytes;
  const std::string port = fmt::format(":{}", server.port);
  // An entry with another port stays as it is, and then matches no host.
  if (entry.ends_with(port)) entry.remove_suffix(port.size());
  if (entry.starts_with('[') && entry.ends_with(']')) entry = entry.substr(1, entry.size() - 2);
  return !entry.empty() && InDomain(server.host, entry);
}

// Host names have no case (RFC 4343).
std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// The upper case name wins, as in Go's tools.
std::string LookupEither(const Environment& environment, const char* upper, const char* lower) {
  if (const auto value = Lookup(environment, upper)) return *value;
  return Lookup(environment, lower).value_or("");
}

}  // namespace

bool IsExempt(const Url& url, std::string_view exceptions) {
  Url server = url;
  server.host = Lower(server.host);
  while (!exceptions.empty()) {
    const std::string_view entry = exceptions.substr(0, exceptions.find(','));
    exceptions.remove_prefix(std::min(entry.size() + 1, exceptions.size()));
    const std::string name = Lower(Trimmed(entry));
    if (!name.empty() && Matches(server, name)) return true;
  }
  return false;
}

std::string ProxyFor(const Url& server, const Environment& environment) {
  // Only TLS can be carried, through a tunnel (net/dialer): in plain text the proxy would read the
  // token. HTTP_PROXY is therefore for others, and such a server is dialled directly.
  if (!server.tls) return "";
  if (IsLoopback(Lower(server.host))) return "";
  if (IsExempt(server, LookupEither(environment, "NO_PROXY", "no_proxy"))) return "";
  std::string proxy = LookupEither(environment, "HTTPS_PROXY", "https_proxy");
  if (!proxy.empty() && proxy.find("://") == std::string::npos) proxy = "http://" + proxy;
  return proxy;
}

}  // namespace galen::kube
