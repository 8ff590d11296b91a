// Requests and answers as values, and the two sides of a connection as seams. Everything that
// speaks HTTP/2 here (gRPC on unix sockets, the Kubernetes API) and HTTP/1.1 (metrics) goes
// through these; real ones come from a Dialer and a Server, fake ones from a FakeNetwork.
// All calls and callbacks happen on one loop.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace galen::net {

struct Header {
  std::string name;  // lower case
  std::string value;

  bool operator==(const Header&) const = default;
};
using Headers = std::vector<Header>;

// The first value of `name` (lower case), or nullopt.
std::optional<std::string_view> FindHeader(const Headers& headers, std::string_view name);

struct HttpRequest {
  std::string method = "GET";
  std::string path{};  // with its query: "/api/v1/pods?limit=500"
  Headers headers{};   // without pseudo headers
  std::string body{};

  bool operator==(const HttpRequest&) const = default;
};

// Hears the answer to one request. Each call may destroy the HttpCall and the connection.
class HttpResponseSink {
 public:
  virtual ~HttpResponseSink() = default;
  // At most once, first.
  virtual void OnHead(int status, const Headers& headers) = 0;
  virtual void OnData(std::string_view bytes) = 0;
  // Exactly once, last. OK: the peer ended the answer properly. May destroy the call and the sink.
  virtual void OnEnd(const Status& status, const Headers& trailers) = 0;
};

// A request under way. Destroying it cancels: its sink hears nothing more.
class HttpCall {
 public:
  virtual ~HttpCall() = default;
};

// One connection to a server, or something that acts like one.
class HttpClient {
 public:
  virtual ~HttpClient() = default;
  // Never calls the sink before it returns. On a dead connection OnEnd brings Unavailable.
  // The sink outlives the call. REQUIRES: the call dies before the client.
  virtual std::unique_ptr<HttpCall> Send(HttpRequest request, HttpResponseSink& sink) = 0;
};

// Who is on the other end of a unix socket (SO_PEERCRED).
struct PeerCredentials {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
};

// A request that waits for its answer, at the server. Destroying it before End() resets the stream.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;

  virtual const HttpRequest& request() const = 0;
  virtual std::optional<PeerCredentials> peer() const = 0;  // unix sockets only

  // Once, first.
  virtual void Head(int status, Headers headers) = 0;
  // Queues bytes; the writer looks at queued() to keep the queue bounded.
  virtual void Write(std::string bytes) = 0;
  // Once, last.
  virtual void End(Headers trailers = {}) = 0;

  // Bytes that the peer's flow control or the socket has not taken yet.
  virtual std::size_t queued() const = 0;
  // Called each time queued() has fallen to zero. May destroy the exchange.
  virtual void OnDrained(std::function<void()> callback) = 0;
  // Called once when the peer cancelled or the connection died. May destroy the exchange.
  virtual void OnGone(std::function<void()> callback) = 0;
};

class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // The whole request has arrived. Answer now or later.
  virtual void Handle(std::unique_ptr<HttpExchange> exchange) = 0;
};

// The whole of a short answer at once.
void Respond(HttpExchange& exchange, int status, std::string_view content_type, std::string body);

}  // namespace galen::net
