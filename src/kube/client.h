// Asks a Kubernetes API server and understands its answers. Belongs to its loop.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "base/loop.h"
#include "net/http.h"

namespace galen::kube {

class Client {
 public:
  // `transport` adds credentials and keeps a connection; lent, outlives the client.
  Client(Loop& loop, net::HttpClient& transport);

  // `done` runs once, later: the object, or the server's Status as ours: 404 NotFound, 409 Aborted
  // (AlreadyExists when that is the reason), 410 OutOfRange, 401 Unauthenticated, 403
  // PermissionDenied, 400/422 InvalidArgument, 429 ResourceExhausted, 5xx Unavailable. 429 and 503
  // with Retry-After are repeated after that time, up to kRetriesMax. DeadlineExceeded past
  // kDeadline.
  [[nodiscard]] std::unique_ptr<net::HttpCall> Do(net::HttpRequest request,
                                                  std::function<void(StatusOr<Json>)> done);

  // A raw answer, for lists and watches that are read while they arrive.
  [[nodiscard]] std::unique_ptr<net::HttpCall> Stream(net::HttpRequest request,
                                                      net::HttpResponseSink& sink) {
    return transport_.Send(std::move(request), sink);
  }

  static constexpr int kRetriesMax = 5;
  // For the whole of a Do, its repetitions included.
  static constexpr Duration kDeadline = std::chrono::seconds(30);
  // Past it: ResourceExhausted. etcd takes objects of 1.5 MiB; a page of 500 large Pods fits.
  static constexpr std::size_t kResponseBytesMax = 32 * 1024 * 1024;

 private:
  Loop& loop_;
  net::HttpClient& transport_;
};

// The Status of an answer that is no success; `body` may hold a Kubernetes Status object.
Status StatusOfResponse(int http_status, std::string_view body);

// The same for a Status object that came by itself, as in an ERROR event of a watch. The HTTP
// status is its "code".
Status StatusOfObject(const Json& object);

// Retry-After in seconds; nullopt also for its form with a date, which API servers do not send.
std::optional<Duration> RetryAfter(const net::Headers& headers);

}  // namespace galen::kube
