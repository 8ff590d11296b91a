#include "probes/exporter_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace galen::probes {
namespace {

constexpr std::string_view kUrlForms =
    "expected \"http://127.0.0.1:9400/metrics\" or \"unix:/run/exporter.sock\"";
// The kernel's limit, with the zero at the end.
constexpr std::size_t kSocketPathBytesMax = sizeof(sockaddr_un::sun_path) - 1;

bool IsAddress(const std::string& host) {
  in6_addr buffer{};  // has room for both
  return ::inet_pton(AF_INET, host.c_str(), &buffer) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &buffer) == 1;
}

}  // namespace

bool ExporterAddress::is_local() const {
  return !socket_path.empty() || host == "::1" || host.starts_with("127.");
}

StatusOr<ExporterAddress> ParseExporterAddress(std::string_view url) {
  ExporterAddress address;
  if (std::ranges::any_of(url, [](char c) { return c <= ' ' || c == '\x7f'; })) {
    return InvalidArgument("has a blank or control character");
  }
  if (url.starts_with("unix:/")) {
    address.socket_path = url.substr(5);
    address.path = "/metrics";
    if (address.socket_path.size() > kSocketPathBytesMax) {
      return InvalidArgument("has a path past {} bytes", kSocketPathBytesMax);
    }
    return address;
  }
  if (!url.starts_with("http://")) return InvalidArgument("{}", kUrlForms);
  url.remove_prefix(7);
  std::string_view place = url.substr(0, url.find('/'));
  if (place.size() < url.size()) address.path = url.substr(place.size());
  const std::size_t colon = place.rfind(':');
  if (colon != std::string_view::npos && !place.ends_with(']')) {
    const std::string_view digits = place.substr(colon + 1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), address.port);
    if (error != std::errc() || end != digits.data() + digits.size() || address.port < 1 ||
        address.port > 65535) {
      return InvalidArgument("has no port from 1 to 65535");
    }
    place = place.substr(0, colon);
  }
  if (place.starts_with('[') && place.ends_with(']')) place = place.substr(1, place.size() - 2);
  address.host = place == "localhost" ? "127.0.0.1" : std::string(place);
  if (!IsAddress(address.host)) {
    return InvalidArgument("'{}' is not an address by number", Shown(address.host, 80));
  }
  return address;
}

}  // namespace galen::probes
