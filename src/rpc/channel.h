// Calls a gRPC server over one HTTP/2 connection
// (https://grpc.github.io/grpc/core/md_doc__p_r_o_t_o_c_o_l-_h_t_t_p2.html): unary and
// server-streaming. Belongs to its loop. Has no connection of its own and never dials: whoever
// holds the connection makes a new channel on a new one. Messages are bytes here; typed calls are
// in typed.h, so that this header needs no protobuf.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/loop/loop.h"
#include "net/connection.h"

namespace galen::rpc {

// A call under way. Destroying it cancels: its callbacks are not called any more, and the server is
// notified. After its end it does nothing. May be destroyed from inside its own callback.
class Call {
 public:
  virtual ~Call() = default;
  // For paced streams: the last message was read, and the next may come, perhaps inside this call.
  // Must not be called from inside OnMessage.
  virtual void Next() {}
  // For paced streams: lets the server send the rest of the message that OnLongMessage announced.
  virtual void Admit() {}
};

// Receives a stream of messages. Borrowed: outlives the call.
class StreamSink {
 public:
  virtual ~StreamSink() = default;
  // One whole message, in order, borrowed for the call. May destroy the call.
  virtual void OnMessage(std::string_view message) = 0;
  // For paced streams: a message of `bytes` is under way that is too long for the stream's window;
  // the rest of it comes only after Call::Admit.
  virtual void OnLongMessage(std::size_t /*bytes*/) {}
  // For paced streams: the stream has ended; OnEnd follows once every message before it was read.
  virtual void OnEnding() {}
  // Exactly once, last; OK when the server ended the stream, otherwise its status, or Unavailable
  // when the connection was lost. May destroy the call.
  virtual void OnEnd(const Status& status) = 0;
};

// A value-like maker of calls: small, and may go before the calls it made.
class Channel {
 public:
  // Bounds of answers.
  struct Options {
    // Limit of an answer's message, as grpc-go's default; past it the call ends with
    // ResourceExhausted.
    std::size_t message_bytes_max = 4 * 1024 * 1024;
    // The connection's DialOptions::stream_window_bytes, for paced streams.
    std::size_t stream_window_bytes = 1024 * 1024;
  };

  // `connection` is lent and outlives the channel and its calls. So does the loop.
  Channel(Loop& loop, net::HttpClient& connection) : Channel(loop, connection, Options()) {}
  Channel(Loop& loop, net::HttpClient& connection, Options options);

  // `method` is "/package.Service/Method", `request` the message's bytes. `done` runs once, later,
  // unless the call is destroyed first; it may destroy it. Gives the answer's bytes or the server's
  // status; DeadlineExceeded after `deadline`, which is sent to the server too (grpc-timeout),
  // Unavailable on a dead connection, Unimplemented for an answer of no or several messages,
  // Internal for one that breaks off, and what an HTTP status means when no gRPC server answers.
  [[nodiscard]] std::unique_ptr<Call> Unary(std::string_view method, std::string request,
                                            Duration deadline,
                                            std::function<void(StatusOr<std::string>)> done);
  // Without a deadline: a stream lasts as long as its server lives. A server that is silent is not
  // noticed here: that is for PINGs of the connection or the caller's own timer.
  [[nodiscard]] std::unique_ptr<Call> ServerStream(std::string_view method, std::string request,
                                                   StreamSink& sink);
  // The same, one message at a time: after each the stream waits for Call::Next, and the server is
  // held back by the stream's window. So a server that floods fills its own memory, not ours: here
  // is one window at most, and a message that was admitted. What a message borrows lives until
  // Next.
  [[nodiscard]] std::unique_ptr<Call> PacedStream(std::string_view method, std::string request,
                                                  StreamSink& sink);

 private:
  Loop& loop_;
  net::HttpClient& connection_;
  const Options options_;
};

}  // namespace galen::rpc
