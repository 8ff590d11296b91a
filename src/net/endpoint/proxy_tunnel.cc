#include "net/endpoint/proxy_tunnel.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"

namespace galen::net {
namespace {

// Proxies answer with a few lines; a longer answer is not a proxy's.
constexpr std::size_t kHeadBytesMax = 16 * 1024;
constexpr std::string_view kHeadEnd = "\r\n\r\n";

// The meaning of the first line of a proxy's answer.
Status TunnelStatus(std::string_view head) {
  const std::string_view line = head.substr(0, head.find("\r\n"));
  const std::size_t space = line.find(' ');
  if (!line.starts_with("HTTP/1.") || space == std::string_view::npos) {
    return Unavailable("the proxy answers no HTTP: \"{}\"; is it an HTTP proxy?", Shown(line, 100));
  }
  const std::string_view rest = line.substr(space + 1);
  // Any 2xx opens the tunnel (RFC 9110, section 9.3.6).
  if (rest.starts_with("2")) return OkStatus();
  const std::string shown = Shown(rest, 100);
  if (rest.starts_with("407")) return Unauthenticated("the proxy wants a password: {}", shown);
  if (rest.starts_with("403"))
    return PermissionDenied("the proxy refuses the way to the server: {}", shown);
  return Unavailable("the proxy refuses the way to the server: {}", shown);
}

}  // namespace

ProxyTunnel::ProxyTunnel(std::unique_ptr<ByteStream> proxy, const Options& options, Done done)
    : stream_(std::move(proxy)), done_(std::move(done)) {
  stream_->SetSink(*this);
  std::string request = fmt::format("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n", options.target);
  if (!options.authorization.empty()) {
    request += fmt::format("Proxy-Authorization: {}\r\n", options.authorization);
  }
  stream_->Write(request + "\r\n");
}

void ProxyTunnel::OnBytes(std::string_view bytes) {
  head_.append(bytes);
  const std::size_t end = head_.find(kHeadEnd);
  if (end == std::string::npos) {
    if (head_.size() > kHeadBytesMax)
      Finish(
          Unavailable("the proxy's answer is longer than {} bytes and has no end", kHeadBytesMax));
    return;
  }
  if (const Status status = TunnelStatus(head_); !status.ok()) return Finish(status);
  // In TLS the client sends first, so what follows here would come from the proxy itself.
  if (head_.size() > end + kHeadEnd.size()) {
    return Finish(Unavailable("the proxy sends bytes of its own before the server's"));
  }
  Finish(std::move(stream_));
}

void ProxyTunnel::OnClosed(const Status& status) { Finish(Annotate(status, "proxy")); }

void ProxyTunnel::Finish(StatusOr<std::unique_ptr<ByteStream>> outcome) {
  const Done done = std::move(done_);
  done(std::move(outcome));
}

}  // namespace galen::net
