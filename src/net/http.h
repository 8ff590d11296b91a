// Requests and answers as values, and the two sides of a connection as seams. Everything that uses
// HTTP/2 here (gRPC on unix sockets, the Kubernetes API) and HTTP/1.1 (metrics) goes through these;
// real ones come from a Dialer and a Server, fake ones from a FakeNetwork. All calls and callbacks
// happen on one loop.
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

// One line of a head.
struct Header {
  // Lower case, as HTTP/2 has it on the wire (RFC 9113, section 8.2).
  std::string name;
  // Bytes without line breaks; not decoded.
  std::string value;

  bool operator==(const Header&) const = default;
};
using Headers = std::vector<Header>;

// Bytes that a field counts beside its name and value where headers are bounded: RFC 9113, section
// 6.5.2, SETTINGS_MAX_HEADER_LIST_SIZE. Empty fields take memory, too.
inline constexpr std::size_t kFieldBytes = 32;

// The first value of `name` (lower case), or nullopt. Valid as long as `headers`.
std::optional<std::string_view> FindHeader(const Headers& headers, std::string_view name);

// One request with its whole body; at a server, bounded by the server's limits.
struct HttpRequest {
  std::string method = "GET";
  std::string path{};  // with its query: "/api/v1/pods?limit=500"
  // Without pseudo headers; a server finds :authority as "host", and a client sets it so.
  Headers headers{};
  // "" = none. content-length is added where it is missing.
  std::string body{};
  // At a client: the server sends DialOptions::stream_window_bytes and then waits until
  // HttpCall::Take has taken some. Without it each byte counts as taken when it comes.
  bool paced = false;

  bool operator==(const HttpRequest&) const = default;
};

// Receives the answer to one request, in the order head, data, end. Each call may destroy the
// HttpCall and the connection. Borrowed: lives until OnEnd or until the call is destroyed.
class HttpResponseSink {
 public:
  virtual ~HttpResponseSink() = default;
  // At most once, first. Preliminary answers (1xx) are not passed on.
  virtual void OnHead(int status, const Headers& headers) = 0;
  // A piece of the body, borrowed for the call; pieces end anywhere. Only a paced request can make
  // the server wait: a reader of any other that cannot take more destroys the call.
  virtual void OnData(std::string_view bytes) = 0;
  // Exactly once, last. OK: the peer ended the answer properly, whatever its HTTP status says.
  // Otherwise Unavailable for a connection or stream that was lost (try again), Cancelled,
  // ResourceExhausted or PermissionDenied for what the peer said of this stream. May destroy the
  // call and the sink.
  virtual void OnEnd(const Status& status, const Headers& trailers) = 0;
};

// A request under way. Destroying it cancels: its sink is not called any more, and the peer is
// notified. After the end it does nothing. It may be destroyed from inside its sink.
class HttpCall {
 public:
  virtual ~HttpCall() = default;
  // The answer's next `bytes` were read: the server may send as many more. For paced requests, each
  // byte once; does nothing after the end, nor for calls of which all is taken as it comes.
  virtual void Take(std::size_t /*bytes*/) {}
};

// One connection to a server, or something that acts like one.
class HttpClient {
 public:
  virtual ~HttpClient() = default;
  // Never calls the sink before it returns. On a dead connection OnEnd brings Unavailable. The sink
  // outlives the call. REQUIRES: the call dies before the client. Requests beyond what the peer
  // takes at once wait their turn.
  virtual std::unique_ptr<HttpCall> Send(HttpRequest request, HttpResponseSink& sink) = 0;
};

// Who is on the other end of a unix socket (SO_PEERCRED), as the kernel noted it at connect(2).
struct PeerCredentials {
  std::optional<pid_t> pid{};  // nullopt: of no process that our namespace knows
  uid_t uid = 0;
  gid_t gid = 0;
};

// A request that waits for its answer, at the server. Destroying it before End() resets the stream;
// after End() what is queued still leaves. Once the client is gone, calls do nothing. The order is
// Head, any number of Write, End; another order is our bug and ends the process.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;

  virtual const HttpRequest& request() const = 0;
  virtual std::optional<PeerCredentials> peer() const = 0;  // unix sockets only

  // Once, first. Header names are lower case. May leave together with what follows. "connection:
  // close" ends a connection of HTTP/1.1 after this answer; HTTP/2 has no such thing and drops it.
  virtual void Head(int status, Headers headers) = 0;
  // Queues bytes; the writer looks at queued() to keep the queue bounded: nothing is refused here.
  // Empty ones do nothing.
  virtual void Write(std::string bytes) = 0;
  // Once, last. Trailers are for HTTP/2 and chunked HTTP/1.1; elsewhere they are dropped.
  virtual void End(Headers trailers = {}) = 0;

  // Bytes that the peer's flow control or the socket has not taken yet. 0 once the client is gone.
  virtual std::size_t queued() const = 0;
  // Called each time queued() has fallen to zero after a Write, from the loop. May destroy the
  // exchange. Not called for what is drained once the client is gone.
  virtual void OnDrained(std::function<void()> callback) = 0;
  // Called once when the peer cancelled or the connection died before the answer had ended, from
  // the loop; also when that was before this call. May destroy the exchange.
  virtual void OnGone(std::function<void()> callback) = 0;
};

// Receives a server's requests. Outlives the server that calls it.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // The whole request has arrived. Answer now or later; the exchange is the handler's from now on,
  // and dropping it resets the stream.
  virtual void Handle(std::unique_ptr<HttpExchange> exchange) = 0;
};

// The whole of a short answer at once: head with content-type and content-length, body, end.
void Respond(HttpExchange& exchange, int status, std::string_view content_type, std::string body);

}  // namespace galen::net
