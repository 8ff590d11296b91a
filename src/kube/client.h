// Asks a Kubernetes API server and understands its answers. Small: each program or part has one.
// Belongs to its loop; loop and transport outlive it and its calls. Requests are values of
// request.h.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/data/json.h"
#include "base/loop/loop.h"
#include "net/http.h"

namespace galen::kube {

class Client {
 public:
  // `transport` adds credentials and keeps a connection; lent, outlives the client.
  Client(Loop& loop, net::HttpClient& transport);

  // `done` runs once, later, unless the call is destroyed first; it may destroy it. It gets the
  // object (null for an empty body), or the server's Status as ours: 404 NotFound, 409 Aborted
  // (AlreadyExists when that is the reason), 410 OutOfRange, 401 Unauthenticated, 403
  // PermissionDenied, 400/413/422 InvalidArgument (Aborted when a patch named another object's
  // uid), 405/406/415/501 Unimplemented, 408 DeadlineExceeded, 429 ResourceExhausted, other 5xx
  // Unavailable. What the transport says (Unavailable, Unauthenticated) passes through. DataLoss:
  // the answer is not JSON. 429 and 503 with Retry-After are repeated after that time, up to
  // kRetriesMax, as client-go does. DeadlineExceeded past kDeadline.
  [[nodiscard]] std::unique_ptr<net::HttpCall> Do(net::HttpRequest request,
                                                  std::function<void(StatusOr<Json>)> done);

  // A raw answer, for lists and watches that are read while they arrive. No deadline, no
  // repetition; the promises are HttpClient::Send's.
  [[nodiscard]] std::unique_ptr<net::HttpCall> Stream(net::HttpRequest request,
                                                      net::HttpResponseSink& sink) {
    return transport_.Send(std::move(request), sink);
  }

  // Limit for one Do. A server that answers "retry later" this often is overloaded; the caller's
  // backoff is longer.
  static constexpr int kRetriesMax = 5;
  // For the whole of a Do, its repetitions included. As long as the slowest admission webhook may
  // take (timeoutSeconds is at most 30).
  static constexpr Duration kDeadline = std::chrono::seconds(30);
  // Past it: ResourceExhausted. etcd takes objects of 1.5 MiB; a page of 500 large Pods fits.
  static constexpr std::size_t kResponseBytesMax = 32 * 1024 * 1024;

 private:
  Loop& loop_;
  net::HttpClient& transport_;
};

// The Status of an answer that is not a success; `body` may hold a Kubernetes Status object, whose
// message and reason are taken, or a proxy's page, whose beginning is shown. One line.
Status StatusOfResponse(int http_status, std::string_view body);

// The same for a Status object that came by itself, as in an ERROR event of a watch. The HTTP
// status is its "code".
Status StatusOfObject(const Json& object);

// Retry-After in seconds; nullopt also for its form with a date, which API servers do not send.
std::optional<Duration> RetryAfter(const net::Headers& headers);

}  // namespace galen::kube
