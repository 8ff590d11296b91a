// One instance of a driver: the connection to its endpoint, its health stream, the calls to it.
// Dials again for as long as it lives, at once after a loss and then with jittered backoff.
// Belongs to the agent's loop. Events go to a listener, never from inside a method call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agent/drivers/plugin_facts.h"
#include "base/loop/backoff.h"
#include "base/loop/loop.h"
#include "base/time.h"
#include "base/token_bucket.h"
#include "model/device.h"
#include "net/connection.h"
#include "rpc/channel.h"

namespace galen::agent {

// Bounds what the reports of all drivers together may take of the agent: bytes of long reports that
// are being received, and a share of the loop's time. Outlives the links that it serves. A report
// within half of its stream's window needs no room: the window bounds it. A longer one is admitted
// whole or waits its turn, so that two half-received reports never wait for each other.
class ReportRoom {
 public:
  // How many unread bytes a driver may have sent. HTTP/2's own first window (RFC 9113, section
  // 6.9.2), and about 800 devices with a sentence each.
  static constexpr std::uint32_t kStreamWindowBytes = 64 * 1024;
  // Bytes of all long reports together: two of the longest that gRPC takes (4 MiB). At the limit
  // the next one waits at its driver, in the order of asking.
  static constexpr std::size_t kLongBytesMax = std::size_t{8} << 20;

  // A step of work is one device that changed: journal, metrics and Pods. What else a report costs
  // is counted in such steps. So many a second for all drivers together. With 4,000, one driver
  // that floods kept the journal so busy that changes of a quiet driver were published three times
  // as late as without the flood (galen-bench flood).
  static constexpr std::int64_t kStepsPerSecond = 1'000;
  // The burst that all drivers together may have before the pace limits them: every device of a
  // full node goes once through each of the four states, as when a whole node's hardware is lost
  // and comes back.
  static constexpr std::int64_t kStepsAtOnce = std::int64_t{4} * kNodeDevicesMax;

  ReportRoom() = default;
  ReportRoom(const ReportRoom&) = delete;

  // A link joins or leaves. Each has an equal part of the pace.
  void Join() { ++links_; }
  void Leave(const void* link);

  // Asks for room for a long report of `link`; `admitted` is called once there is room, perhaps
  // inside this call. A link asks for one report at a time.
  void Ask(const void* link, std::size_t bytes, std::function<void()> admitted);
  // The report was read, or will not come. Does nothing where none was asked for.
  void GiveBack(const void* link);

  // The tokens that so many steps of one link take from its bucket.
  std::int64_t CostOf(std::int64_t steps) const { return steps * links_; }
  static TokenBucket MakeBucket() {
    return {kStepsAtOnce, Duration(std::chrono::seconds(1)) / kStepsPerSecond};
  }

  // Admitted and not given back.
  std::size_t long_bytes() const { return long_bytes_; }

 private:
  struct Asked {
    const void* link = nullptr;
    std::size_t bytes = 0;
    std::function<void()> admitted;
  };

  void Admit();

  std::int64_t links_ = 0;
  std::deque<Asked> waiting_;
  std::map<const void*, std::size_t> held_;
  std::size_t long_bytes_ = 0;
};

class DriverLink;

// Called for a link, on the loop. May destroy the link in OnLinkDown only.
class LinkListener {
 public:
  virtual ~LinkListener() = default;
  // Connected; calls can be made. The health stream, if one is wanted, is opened next.
  virtual void OnLinkUp(const DriverLink& link) = 0;
  // An undecoded NodeWatchResourcesResponse, at most as large as a gRPC message may be; the bytes
  // live until DriverLink::Read, and no other comes before that.
  virtual void OnLinkReport(const DriverLink& link, std::string_view report) = 0;
  // The health stream ended although the connection stands; it is opened again.
  virtual void OnLinkStreamLost(const DriverLink& link, const Status& why) = 0;
  // The driver answered that it has no health; not asked again on this link.
  virtual void OnLinkWithoutHealth(const DriverLink& link) = 0;
  // The connection is gone; calls under way were answered with Unavailable, and dialling goes on.
  virtual void OnLinkDown(const DriverLink& link, const Status& why) = 0;
};

// One HTTP/2 connection carries calls and stream, as the kubelet's does. The listener is notified
// of a stream's end after it has read all reports that came before it.
class DriverLink final : private rpc::StreamSink {
 public:
  // While a socket exists its driver may listen soon; without one only a new registration helps.
  // Both are unix sockets on this node: a try costs microseconds.
  static constexpr BackoffPolicy kBackoff{.first = std::chrono::milliseconds(20),
                                          .most = std::chrono::milliseconds(500)};
  static constexpr BackoffPolicy kBackoffWithoutSocket{.first = std::chrono::milliseconds(500),
                                                       .most = std::chrono::seconds(10)};
  // The kubelet's timeout for dialling a registration socket, here used for the endpoint.
  static constexpr Duration kDialTimeout = std::chrono::seconds(10);
  // A connection or stream that lived this long counts as stable, and the next one is opened at
  // once. After a shorter one only the first retry is immediate: else a driver that ends each
  // stream after one message would flip its devices to Unknown and back, with a write of every Pod
  // each time. The longest wait is the kubelet's between two streams.
  static constexpr Duration kSoundAfter = std::chrono::seconds(10);
  static constexpr BackoffPolicy kBackoffShortLived{.first = std::chrono::milliseconds(500),
                                                    .most = std::chrono::seconds(5)};
  // A long report that was admitted must be complete within this time, or its stream is ended:
  // others wait for the room that it holds. On this node's sockets it takes milliseconds.
  static constexpr Duration kWholeWithin = std::chrono::seconds(5);

  // What it needs of the agent; borrowed.
  struct Edges {
    Loop& loop;
    Random& random;
    net::Dialer& dialer;
    LinkListener& listener;
    ReportRoom& room;
  };
  // `number` keeps instances of a driver apart: a later one is higher. `subscribe`: whether health
  // is asked for, if the driver has it.
  DriverLink(Edges edges, std::uint64_t number, PluginFacts facts, bool subscribe);
  ~DriverLink() override;

  void Start() { Dial(); }
  // One call on the connection; the request and the reply are encoded messages. `done` runs once,
  // later, also when the link goes down (Unavailable) or the deadline passes (DeadlineExceeded);
  // not when the link is destroyed first.
  void Call(std::string_view method, std::string request, Duration deadline,
            std::function<void(StatusOr<std::string>)> done);

  // The caller has read the last report, at a cost of so many steps (ReportRoom). The next comes in
  // a later turn, and not before the link's part of the pace allows it: until then the driver is
  // held back by its stream's window, and nothing that it reports is dropped.
  void Read(std::int64_t steps);
  // Opens the health stream anew, so that the driver reports all that it knows. False when no
  // stream is open.
  bool ReadAnew();

  // Answers every call under way with `why`, now; for when the link is about to be destroyed.
  void FailCalls(const Status& why);

  std::uint64_t number() const { return number_; }
  const PluginFacts& facts() const { return facts_; }
  bool up() const { return up_since_.has_value(); }
  // Whether reports are to be expected: subscribed, and the driver has a health service.
  bool wants_health() const { return subscribe_ && facts_.health != HealthService::kNone; }
  // Reports after which the link had to wait for its part of the pace.
  std::uint64_t waits() const { return waits_; }
  // nullopt while it is not connected.
  std::optional<WallTime> up_since() const { return up_since_; }

 private:
  struct Pending {
    std::unique_ptr<rpc::Call> call;
    Timer refusal;  // reports the refusal when there is no connection
    std::function<void(StatusOr<std::string>)> done;
  };

  // The health stream.
  void OnMessage(std::string_view message) override;
  void OnLongMessage(std::size_t bytes) override;
  void OnEnding() override;
  void OnEnd(const Status& status) override;

  void ReadNext();
  void CloseStream();

  void Dial();
  void DialLater(const Status& why);
  void OnDialled(StatusOr<std::unique_ptr<net::Connection>> connection);
  // Connected. The listener is notified a turn later, since it may call or destroy this.
  void OnConnected();
  // The connection is gone: fails open calls, dials again, notifies the listener.
  void OnDisconnected(const Status& why);
  void OpenStream();
  // The stream is gone, the connection perhaps not.
  void LoseStream(const Status& why);
  // How long to wait after a connection or stream that existed since `since` has ended.
  Duration DelayAfter(Time since);
  void Answer(std::uint64_t id, StatusOr<std::string> reply);
  void Close();

  Edges edges_;
  const std::uint64_t number_;
  PluginFacts facts_;
  const bool subscribe_;            // false: an operator's `subscribe: never`
  Time connected_at_{}, opened_{};  // when the connection and the stream began
  std::optional<WallTime> up_since_;
  Backoff backoff_{kBackoff};
  Backoff backoff_without_socket_{kBackoffWithoutSocket};
  Backoff short_lived_{kBackoffShortLived};
  std::unique_ptr<net::Dialling> dialling_;
  std::unique_ptr<net::Connection> connection_;
  std::unique_ptr<rpc::Channel> channel_;
  std::unique_ptr<rpc::Call> stream_;
  TokenBucket pace_ = ReportRoom::MakeBucket();
  bool unread_ = false;  // a report was handed on and Read was not called yet
  bool ending_ = false;  // the stream is ending; its last reports are read as fast as they come
  std::uint64_t waits_ = 0;
  // Calls that are not answered yet, and answered ones until they are swept.
  std::map<std::uint64_t, Pending> pending_;
  std::uint64_t next_call_ = 0;
  // One timer for each thing that may have to wait for the next turn: all of them may wait at once.
  Timer dial_timer_, stream_timer_, down_timer_, sweep_timer_, up_timer_, next_timer_, whole_timer_;
};

}  // namespace galen::agent
