#include "kube/url.h"

#include <charconv>

namespace galen::kube {
namespace {

constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;

// RFC 9110, section 4.2: 443 for https, 80 for http.
std::uint16_t OwnPort(bool tls) { return tls ? kHttpsPort : kHttpPort; }

std::string Bracketed(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

// Whether it may stand in a name or an address; "%" begins an IPv6 zone.
bool IsHostCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == ':' || c == '%';
}

StatusOr<std::uint16_t> ParsePort(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0 || port > 65535) {
    return InvalidArgument("\"{}\" is not a port", text);
  }
  return static_cast<std::uint16_t>(port);
}

// "host", "host:port", "[v6]", "[v6]:port".
Status ParseHostAndPort(std::string_view text, Url& url) {
  const bool bracket = text.starts_with('[');
  const std::size_t close = bracket ? text.find(']') : std::string_view::npos;
  if (bracket && close == std::string_view::npos) return InvalidArgument("\"]\" is missing");
  const std::size_t host_end = bracket ? close + 1 : text.find(':');
  url.host = std::string(bracket ? text.substr(1, close - 1) : text.substr(0, host_end));
  if (url.host.empty()) return InvalidArgument("the host is missing");
  for (const char c : url.host) {
    if (!IsHostCharacter(c)) return InvalidArgument("\"{}\" is not a host", url.host);
  }
  const std::string_view rest = host_end < text.size() ? text.substr(host_end) : "";
  if (rest.empty()) {
    url.port = OwnPort(url.tls);
    return OkStatus();
  }
  if (rest.front() != ':') return InvalidArgument("\"{}\" after the host", rest);
  ASSIGN_OR_RETURN(url.port, ParsePort(rest.substr(1)));
  return OkStatus();
}

// By RFC 3986, section 3.2, user and password end before the first "/"; an "@" behind it belongs to
// the path, or to a password whose "/" somebody did not encode.
bool HasAt(const Url& url) { return url.prefix.find('@') != std::string::npos; }

Status SlashInPassword() {
  return InvalidArgument("must have no \"@\" behind a \"/\"; in a password write %2F for \"/\"");
}

}  // namespace

std::string WithoutUser(std::string_view text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos) return std::string(text);
  const std::size_t scheme = text.substr(0, at).find("://");
  const std::string_view shown = scheme == std::string_view::npos ? "" : text.substr(0, scheme + 3);
  return fmt::format("{}...{}", shown, text.substr(at));
}

StatusOr<Url> ParseUrl(std::string_view text) {
  Url url;
  if (text.starts_with("https://")) {
    url.tls = true;
    text.remove_prefix(8);
  } else if (text.starts_with("http://")) {
    text.remove_prefix(7);
  } else {
    return InvalidArgument("must start with https:// or http://");
  }
  if (text.find_first_of("?#") != std::string_view::npos) {
    return InvalidArgument("must have no query and no fragment");
  }
  const std::size_t slash = text.find('/');
  std::string_view authority = text.substr(0, slash);
  if (slash != std::string_view::npos) url.prefix = std::string(text.substr(slash));
  while (url.prefix.ends_with('/')) url.prefix.pop_back();
  // The last one: a password may hold an "@" that nobody encoded.
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    url.user_info = std::string(authority.substr(0, at));
    authority.remove_prefix(at + 1);
  }
  const Status status = ParseHostAndPort(authority, url);
  if (status.ok()) return url;
  // The text before such a "/" may be the beginning of a password, and is not quoted.
  return HasAt(url) ? SlashInPassword() : status;
}

StatusOr<Url> ParseProxyUrl(std::string_view text) {
  StatusOr<Url> url = ParseUrl(text);
  if (url.ok() && HasAt(*url)) return SlashInPassword();
  return url;
}

std::string Authority(const Url& url) {
  if (url.port == OwnPort(url.tls)) return Bracketed(url.host);
  return fmt::format("{}:{}", Bracketed(url.host), url.port);
}

std::string ToString(const Url& url) {
  return fmt::format("{}://{}{}", url.tls ? "https" : "http", Authority(url), url.prefix);
}

std::string DialTarget(const Url& url) {
  return fmt::format("tcp:{}:{}", Bracketed(url.host), url.port);
}

}  // namespace galen::kube
