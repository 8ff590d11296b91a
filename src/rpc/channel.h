// Calls a gRPC server over one HTTP/2 connection
// (https://grpc.github.io/grpc/core/md_doc__p_r_o_t_o_c_o_l-_h_t_t_p2.html): unary and
// server-streaming. Belongs to its loop. Messages are bytes here; typed calls are in typed.h, so
// that this header needs no protobuf.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/loop.h"
#include "net/connection.h"

namespace galen::rpc {

// A call under way. Destroying it cancels: nothing more is heard of it.
class Call {
 public:
  virtual ~Call() = default;
};

// Hears a stream of messages.
class StreamSink {
 public:
  virtual ~StreamSink() = default;
  virtual void OnMessage(std::string_view message) = 0;
  // Exactly once, last; OK when the server ended the stream. May destroy the call.
  virtual void OnEnd(const Status& status) = 0;
};

class Channel {
 public:
  struct Options {
    std::size_t message_bytes_max = 4 * 1024 * 1024;  // as grpc-go; past it: ResourceExhausted
  };

  // `connection` is lent and outlives the channel and its calls.
  Channel(Loop& loop, net::HttpClient& connection) : Channel(loop, connection, Options()) {}
  Channel(Loop& loop, net::HttpClient& connection, Options options);

  // `method` is "/package.Service/Method". `done` runs once, later; DeadlineExceeded after
  // `deadline`.
  [[nodiscard]] std::unique_ptr<Call> Unary(std::string_view method, std::string request,
                                            Duration deadline,
                                            std::function<void(StatusOr<std::string>)> done);
  // Without a deadline: a stream lasts as long as its server lives. The sink outlives the call.
  [[nodiscard]] std::unique_ptr<Call> ServerStream(std::string_view method, std::string request,
                                                   StreamSink& sink);

 private:
  Loop& loop_;
  net::HttpClient& connection_;
  const Options options_;
};

}  // namespace galen::rpc
