// An accepted connection from its first byte to its end: TLS if asked for, then HTTP/2 or 1.1 by
// what the client says first. Internal to this room. Belongs to its loop.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "net/byte_stream.h"
#include "net/server_session.h"

struct ssl_ctx_st;

namespace galen::net {

class Accepted final : private ByteStream::Sink {
 public:
  struct Options {
    // Lets old grpc-go's requests through; for unix sockets.
    bool lax_messages = false;
    // From accept to the first request's first bytes.
    Duration opening_timeout = std::chrono::seconds(10);
    // Only read in the constructor; null: plain text.
    ssl_ctx_st* tls = nullptr;
  };

  // The context's on_end may destroy this.
  Accepted(SessionContext context, std::unique_ptr<ByteStream> stream, Options options);
  Accepted(const Accepted&) = delete;
  Accepted& operator=(const Accepted&) = delete;
  ~Accepted() override = default;

  // Ends at once while it is idle, otherwise after the answers under way.
  void Drain();

 private:
  void OnBytes(std::string_view bytes) override;
  void OnWritable() override {}
  void OnClosed(const Status& status) override { End(status); }
  void OnHandshake(const Status& status);
  void StartHttp2(const std::string& first);
  void End(const Status& status);

  SessionContext context_;
  const Options options_;
  std::unique_ptr<ByteStream> stream_;  // until the session has it
  std::string first_;
  Timer opening_;
  std::unique_ptr<ServerSession> session_;
};

}  // namespace galen::net
