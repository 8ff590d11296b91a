// One connection to a driver's socket and the calls made over it, recorded. Belongs to its loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/files/file_system.h"
#include "base/random.h"
#include "conformance/observations.h"
#include "conformance/waiter.h"
#include "kube/client.h"
#include "net/connection.h"
#include "rpc/channel.h"

namespace galen::conformance {

// What an examination needs; all borrowed.
struct Edges {
  Loop& loop;
  Waiter& waiter;
  net::Dialer& dialer;
  FileSystem& files;
  Random& random;
  kube::Client* api = nullptr;  // nullptr: no cluster was given
  // `path` without symlinks, "." and "..".
  std::function<StatusOr<std::string>(const std::string& path)> real_path;
};

// A field that no version of Kubernetes' messages has; a later version may add one, and old drivers
// must still read the rest (proto3 readers skip unknown fields).
inline constexpr std::string_view kUnknownField = "\x80\xEA\x30\x01";  // number 100000, varint 1

// A unary call under way. Destroying it cancels.
class OpenCall {
 public:
  OpenCall(const Edges& edges, rpc::Channel& channel, std::string_view method, std::string request,
           Duration limit);

  bool done() const { return answer_.has_value(); }
  // REQUIRES: done.
  const StatusOr<std::string>& bytes() const { return *answer_; }
  // The outcome; DeadlineExceeded when the call has not ended.
  Answer Outcome() const;

 private:
  Loop& loop_;
  const Time started_;
  Time ended_{};
  std::optional<StatusOr<std::string>> answer_;
  std::unique_ptr<rpc::Call> call_;
};

// A health stream that is being read. Destroying it cancels the stream.
class Subscription final : private rpc::StreamSink {
 public:
  // `version` is "v1" or "v1alpha1".
  Subscription(const Edges& edges, rpc::Channel& channel, std::string_view version,
               std::string_view request);

  bool reported() const { return seen_.report_count > 0; }
  bool ended() const { return seen_.end.has_value(); }
  // The observations so far.
  StreamSeen Seen() const;

 private:
  void OnMessage(std::string_view message) override;
  void OnEnd(const Status& status) override;

  const Edges& edges_;
  const Time opened_;
  Time ended_at_{};
  StreamSeen seen_;
  std::unique_ptr<rpc::Call> call_;
};

// An established connection. Calls and subscriptions die before it.
class Link {
 public:
  // Dials `path`; waits at most `limit`.
  static StatusOr<std::unique_ptr<Link>> Open(const Edges& edges, const std::string& path,
                                              Duration limit = kDialLimit);

  std::unique_ptr<OpenCall> Start(std::string_view method, std::string request, Duration limit);
  // Starts the call and waits for its end. A call that the driver never answers ends at `limit`.
  std::unique_ptr<OpenCall> Call(std::string_view method, std::string request, Duration limit);
  std::unique_ptr<Subscription> Subscribe(std::string_view version, std::string_view request = "");

  // The kubelet's own limit (operation_generator.go: dialTimeoutDuration).
  static constexpr Duration kDialLimit = std::chrono::seconds(10);

 private:
  Link(const Edges& edges, std::unique_ptr<net::Connection> connection)
      : edges_(edges),
        connection_(std::move(connection)),
        channel_(edges.loop, *connection_, {.message_bytes_max = kMessageBytesMax}) {}

  // Far more than the kubelet takes, so that a message beyond its limit can be reported.
  static constexpr std::size_t kMessageBytesMax = 64 * 1024 * 1024;

  const Edges& edges_;
  std::unique_ptr<net::Connection> connection_;
  rpc::Channel channel_;
};

}  // namespace galen::conformance
