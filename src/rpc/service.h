// The server's side of gRPC: methods by path, each unary or server-streaming. Belongs to its loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/loop.h"
#include "net/http.h"

namespace galen::rpc {

// The answer to a unary call; call it once, now or later. A reply after the caller is gone is
// dropped.
using Reply = std::function<void(StatusOr<std::string>)>;

// Where a streaming method writes. Destroying it before Finish ends the stream with Unavailable.
class StreamWriter {
 public:
  virtual ~StreamWriter() = default;
  virtual void Write(std::string message) = 0;
  virtual void Finish(const Status& status) = 0;
  // Whether everything written has been taken by the peer: the time to write the newest again.
  virtual bool drained() const = 0;
  virtual void OnDrained(std::function<void()> callback) = 0;
  // The caller cancelled or its connection died. May destroy the writer.
  virtual void OnGone(std::function<void()> callback) = 0;
};

// What is known of a caller.
struct Caller {
  std::optional<net::PeerCredentials> credentials;
};

class Dispatcher final : public net::HttpHandler {
 public:
  using UnaryMethod =
      std::function<void(std::string_view request, const Caller& caller, Reply reply)>;
  using StreamMethod = std::function<void(std::string_view request, const Caller& caller,
                                          std::unique_ptr<StreamWriter> writer)>;

  struct Options {
    std::size_t message_bytes_max = 4 * 1024 * 1024;
  };

  explicit Dispatcher(Loop& loop) : Dispatcher(loop, Options()) {}
  Dispatcher(Loop& loop, Options options) : loop_(loop), options_(options) {}

  // `path` is "/package.Service/Method". REQUIRES: not added before.
  void AddUnary(std::string path, UnaryMethod method);
  void AddStream(std::string path, StreamMethod method);

  // Unknown paths get UNIMPLEMENTED; a grpc-timeout header is honoured for unary calls.
  void Handle(std::unique_ptr<net::HttpExchange> exchange) override;

 private:
  Loop& loop_;
  const Options options_;
  std::map<std::string, UnaryMethod, std::less<>> unary_;
  std::map<std::string, StreamMethod, std::less<>> streams_;
};

}  // namespace galen::rpc
