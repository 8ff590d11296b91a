// Asks an HTTP proxy for a tunnel (CONNECT, RFC 9110, section 9.3.6). Internal to this room; a step
// of the dialer. Belongs to its loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "net/byte_stream.h"

namespace galen::net {

// One request; destroying it gives up. Has no deadline of its own.
class ProxyTunnel final : private ByteStream::Sink {
 public:
  // Where the tunnel leads, and who asks for it.
  struct Options {
    std::string target;         // "host:port"
    std::string authorization;  // value of Proxy-Authorization, or ""
  };
  // The stream, from then on to the target; whoever gets it sets its sink at once. Errors:
  // Unauthenticated (407), PermissionDenied (403), Unavailable for every other refusal and for an
  // answer that is not HTTP.
  using Done = std::function<void(StatusOr<std::unique_ptr<ByteStream>>)>;

  // `proxy` is connected to the proxy and owned from now on. `done` runs once, later; it may
  // destroy this.
  ProxyTunnel(std::unique_ptr<ByteStream> proxy, const Options& options, Done done);

 private:
  void OnBytes(std::string_view bytes) override;
  void OnWritable() override {}
  void OnClosed(const Status& status) override;
  void Finish(StatusOr<std::unique_ptr<ByteStream>> outcome);

  std::unique_ptr<ByteStream> stream_;
  Done done_;
  std::string head_;
};

}  // namespace galen::net
