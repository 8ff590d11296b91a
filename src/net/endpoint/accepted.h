// An accepted connection from its first byte to its end: TLS if asked for, then HTTP/2 or 1.1 by
// what the client says first. Internal to this room; made by Server for each socket it accepts.
// Belongs to its loop. Owns the stream and is its sink; loop and handler outlive it. Destroying it
// closes the connection, and exchanges under way are notified that they are gone.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/byte_stream.h"
#include "net/server_session.h"

struct ssl_ctx_st;

namespace galen::net {

// Its end is reported once, by the context's on_end.
class Accepted final : private ByteStream::Sink {
 public:
  // How a connection is served.
  struct Options {
    // Lets old grpc-go's requests through; for unix sockets.
    // See docs/adr/0001: such clients give the socket's path as :authority.
    bool lax_messages = false;
    // From accept to the first request's first bytes. Covers the TLS handshake as well: a client
    // that connects and sends nothing holds a slot no longer than this.
    Duration opening_timeout = std::chrono::seconds(10);
    // The server's certificate and key. Only read in the constructor; null: plain text.
    ssl_ctx_st* tls = nullptr;
    // false: HTTP/1.1 alone, in which the preface of HTTP/2 is a broken request.
    bool http2 = true;
  };

  // Starts at once; the context's on_end runs later, from the loop, and may destroy this.
  Accepted(SessionContext context, std::unique_ptr<ByteStream> stream, Options options);
  Accepted(const Accepted&) = delete;
  Accepted& operator=(const Accepted&) = delete;
  ~Accepted() override = default;

  // Ends at once (in the loop's next turn) while it is idle, otherwise after the answers under way.
  void Drain();

  // See ServerSession; before the first request: since it was accepted.
  std::optional<Time> idle_since() const;

 private:
  void OnBytes(std::string_view bytes) override;
  void OnWritable() override {}
  void OnClosed(const Status& status) override { End(status); }
  void OnHandshake(const Status& status);
  void StartHttp2(const std::string& first);
  // Notifies the context, which as a rule destroys this.
  void End(const Status& status);

  SessionContext context_;
  const Options options_;
  const Time accepted_;
  std::unique_ptr<ByteStream> stream_;  // until the session has it
  std::string first_;
  Timer opening_;
  std::unique_ptr<ServerSession> session_;
};

}  // namespace galen::net
