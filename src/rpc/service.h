// The server's side of gRPC: methods by path, each unary or server-streaming. Hangs below a
// net::Server or a FakeNetwork as its handler. Belongs to its loop, like everything it calls.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/loop/loop.h"
#include "net/http.h"

namespace galen::rpc {

// The answer to a unary call; whoever has it calls it once, now or later. Later calls do nothing. A
// reply after the caller is gone or its deadline has passed is dropped. When it dies without a
// call, the caller gets INTERNAL. Movable; an empty one is not called.
class Reply {
 public:
  Reply();
  Reply(Reply&& other) noexcept;
  Reply& operator=(Reply&& other) noexcept;
  ~Reply();

  explicit operator bool() const { return owed_ != nullptr; }
  void operator()(const StatusOr<std::string>& answer) const;

 private:
  friend class Dispatcher;
  class Owed;
  explicit Reply(std::unique_ptr<Owed> owed);

  std::unique_ptr<Owed> owed_;
};

// Where a streaming method writes. Destroying it before Finish ends the stream with Unavailable,
// upon which the caller tries again. Once the caller is gone, writing does nothing.
class StreamWriter {
 public:
  virtual ~StreamWriter() = default;
  // Queues one message. Nothing is refused: the writer looks at drained() to keep that bounded.
  virtual void Write(std::string message) = 0;
  // Once, last. What was written still leaves before it.
  virtual void Finish(const Status& status) = 0;
  // Whether everything written has been taken by the peer: the time to write the newest again.
  virtual bool drained() const = 0;
  // Called each time everything written has been taken. May destroy the writer.
  virtual void OnDrained(std::function<void()> callback) = 0;
  // The caller cancelled or its connection died. May destroy the writer.
  virtual void OnGone(std::function<void()> callback) = 0;
};

// The known facts of a caller: on a unix socket its process, else nothing.
struct Caller {
  std::optional<net::PeerCredentials> credentials;
};

// Methods are added before the server starts; the dispatcher outlives the server. One may be called
// many times at once.
class Dispatcher final : public net::HttpHandler {
 public:
  // `request` is the message's bytes, borrowed for the call; so is `caller`.
  using UnaryMethod =
      std::function<void(std::string_view request, const Caller& caller, Reply reply)>;
  using StreamMethod = std::function<void(std::string_view request, const Caller& caller,
                                          std::unique_ptr<StreamWriter> writer)>;

  // Bounds of requests.
  struct Options {
    // Limit of a request's message; past it the caller gets RESOURCE_EXHAUSTED. As grpc-go.
    std::size_t message_bytes_max = 4 * 1024 * 1024;
  };

  explicit Dispatcher(Loop& loop) : Dispatcher(loop, Options()) {}
  Dispatcher(Loop& loop, Options options) : loop_(loop), options_(options) {}

  // `path` is "/package.Service/Method". REQUIRES: not added before, as either kind.
  void AddUnary(std::string path, UnaryMethod method);
  void AddStream(std::string path, StreamMethod method);

  // Answers everything: unknown paths get UNIMPLEMENTED, requests that are not gRPC get 405 or 415.
  // A grpc-timeout header is honoured for unary calls; a stream has no deadline.
  void Handle(std::unique_ptr<net::HttpExchange> exchange) override;

 private:
  Loop& loop_;
  const Options options_;
  std::map<std::string, UnaryMethod, std::less<>> unary_;
  std::map<std::string, StreamMethod, std::less<>> streams_;
};

}  // namespace galen::rpc
