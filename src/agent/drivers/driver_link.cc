#include "agent/drivers/driver_link.h"

#include <utility>
#include <vector>

#include "base/check.h"

namespace galen::agent {
namespace {

std::string HealthMethod(HealthService service) {
  return service == HealthService::kV1 ? "/v1.DRAResourceHealth/NodeWatchResources"
                                       : "/v1alpha1.DRAResourceHealth/NodeWatchResources";
}

}  // namespace

DriverLink::DriverLink(Edges edges, std::uint64_t number, PluginFacts facts, bool subscribe)
    : edges_(edges), number_(number), facts_(std::move(facts)), subscribe_(subscribe) {
  edges_.room.Join();
}

DriverLink::~DriverLink() {
  Close();
  edges_.room.Leave(this);
}

void DriverLink::Call(std::string_view method, std::string request, Duration deadline,
                      std::function<void(StatusOr<std::string>)> done) {
  const std::uint64_t id = next_call_++;
  Pending& pending = pending_[id];
  pending.done = std::move(done);
  // Refused a turn later: `done` never runs inside Call.
  if (!up()) {
    pending.refusal = edges_.loop.After(Duration::zero(), [this, id] {
      Answer(id, Unavailable("driver {} is not connected", facts_.driver));
    });
    return;
  }
  pending.call =
      channel_->Unary(method, std::move(request), deadline,
                      [this, id](StatusOr<std::string> reply) { Answer(id, std::move(reply)); });
}

void DriverLink::FailCalls(const Status& why) {
  std::vector<std::function<void(StatusOr<std::string>)>> waiting;
  // Moved out first: a callback may call again.
  for (auto& [id, pending] : std::exchange(pending_, {})) {
    if (pending.done) waiting.push_back(std::move(pending.done));
  }
  for (const auto& done : waiting) done(why);
}

void DriverLink::OnMessage(std::string_view message) {
  unread_ = true;
  whole_timer_.Cancel();
  edges_.listener.OnLinkReport(*this, message);
}

void DriverLink::Read(std::int64_t steps) {
  GALEN_CHECK(unread_);
  edges_.room.GiveBack(this);
  const Time now = edges_.loop.Now();
  pace_.Spend(now, edges_.room.CostOf(steps));
  const Duration wait = ending_ ? Duration::zero() : pace_.Wait(now, 0);
  waits_ += wait > Duration::zero();
  // In a later turn even without a wait: one report a turn, so that other sockets are served in
  // between.
  next_timer_ = edges_.loop.After(wait, [this] { ReadNext(); });
}

void DriverLink::ReadNext() {
  next_timer_.Cancel();
  unread_ = false;
  stream_->Next();
}

bool DriverLink::ReadAnew() {
  if (stream_ == nullptr || ending_) return false;
  CloseStream();
  OpenStream();
  return true;
}

void DriverLink::OnLongMessage(std::size_t bytes) {
  edges_.room.Ask(this, bytes, [this, bytes] {
    stream_->Admit();
    whole_timer_ = edges_.loop.After(kWholeWithin, [this, bytes] {
      LoseStream(DeadlineExceeded("a health report of {} bytes was not sent whole within {} s",
                                  bytes, kWholeWithin / std::chrono::seconds(1)));
    });
  });
}

void DriverLink::OnEnding() {
  ending_ = true;
  if (!next_timer_) return;
  next_timer_ = edges_.loop.After(Duration::zero(), [this] { ReadNext(); });
}

void DriverLink::OnEnd(const Status& status) {
  // A turn later: this stream is the caller, so it cannot be destroyed here.
  stream_timer_ = edges_.loop.After(Duration::zero(), [this, status] { LoseStream(status); });
}

void DriverLink::Dial() {
  dialling_ = edges_.dialer.Dial({.target = "unix:" + facts_.endpoint,
                                  .tls = {},
                                  .connect_timeout = kDialTimeout,
                                  .stream_window_bytes = ReportRoom::kStreamWindowBytes},
                                 [this](StatusOr<std::unique_ptr<net::Connection>> connection) {
                                   OnDialled(std::move(connection));
                                 });
}

void DriverLink::OnDialled(StatusOr<std::unique_ptr<net::Connection>> connection) {
  if (!connection.ok()) return DialLater(connection.status());
  connection_ = std::move(connection).value();
  // A turn later: the connection is the caller, and OnDisconnected destroys it.
  connection_->OnClosed([this](const Status& why) {
    down_timer_ = edges_.loop.After(Duration::zero(), [this, why] { OnDisconnected(why); });
  });
  channel_ = std::make_unique<rpc::Channel>(
      edges_.loop, *connection_,
      rpc::Channel::Options{.stream_window_bytes = ReportRoom::kStreamWindowBytes});
  up_timer_ = edges_.loop.After(Duration::zero(), [this] { OnConnected(); });
}

void DriverLink::DialLater(const Status& why) {
  // NotFound: there is no socket file.
  Backoff& backoff = why.code() == Code::kNotFound ? backoff_without_socket_ : backoff_;
  dial_timer_ = edges_.loop.After(backoff.Next(edges_.random), [this] { Dial(); });
}

void DriverLink::OnConnected() {
  up_since_ = edges_.loop.WallNow();
  connected_at_ = edges_.loop.Now();
  // The driver accepted the connection; whether it keeps it decides about the other backoff.
  backoff_.Reset();
  backoff_without_socket_.Reset();
  edges_.listener.OnLinkUp(*this);
  if (wants_health()) OpenStream();
}

// The connection is gone. A driver that kept it for long is dialled again at once; one that closes
// it again and again, after longer and longer waits.
void DriverLink::OnDisconnected(const Status& why) {
  // The stream's end follows what it brought, and comes back here.
  if (ending_) return;
  Close();
  up_since_.reset();
  FailCalls(Unavailable("driver {} closed the connection", facts_.driver));
  dial_timer_ = edges_.loop.After(DelayAfter(connected_at_), [this] { Dial(); });
  edges_.listener.OnLinkDown(*this, why);
}

void DriverLink::OpenStream() {
  opened_ = edges_.loop.Now();
  stream_ = channel_->PacedStream(HealthMethod(facts_.health), "", *this);
}

void DriverLink::CloseStream() {
  next_timer_.Cancel();
  whole_timer_.Cancel();
  stream_.reset();
  unread_ = ending_ = false;
  edges_.room.GiveBack(this);
}

void DriverLink::LoseStream(const Status& why) {
  CloseStream();
  // Final for this registration, as in the kubelet since 1.37: asking every few seconds would only
  // fill the driver's log.
  if (why.code() == Code::kUnimplemented) {
    facts_.health = HealthService::kNone;
    return edges_.listener.OnLinkWithoutHealth(*this);
  }
  // The stream ended because the connection did; its own notice may come later or never.
  if (!connection_->usable()) return OnDisconnected(why);
  stream_timer_ = edges_.loop.After(DelayAfter(opened_), [this] { OpenStream(); });
  edges_.listener.OnLinkStreamLost(*this, why);
}

Duration DriverLink::DelayAfter(Time since) {
  if (edges_.loop.Now() - since >= kSoundAfter) short_lived_.Reset();
  const bool at_once = short_lived_.failures() == 0;
  const Duration delay = short_lived_.Next(edges_.random);
  return at_once ? Duration::zero() : delay;
}

void DriverLink::Answer(std::uint64_t id, StatusOr<std::string> reply) {
  const auto it = pending_.find(id);
  if (it == pending_.end() || !it->second.done) return;
  const auto done = std::exchange(it->second.done, nullptr);
  // In a later turn: the call that is answering cannot be destroyed here.
  sweep_timer_ = edges_.loop.After(Duration::zero(), [this] {
    std::erase_if(pending_, [](const auto& item) { return !item.second.done; });
  });
  done(std::move(reply));
}

void DriverLink::Close() {
  // Calls are destroyed before the connection that carries them; timers too, since they use both.
  for (auto& [id, pending] : pending_) pending.call.reset();
  dial_timer_.Cancel();
  stream_timer_.Cancel();
  down_timer_.Cancel();
  up_timer_.Cancel();
  CloseStream();
  channel_.reset();
  connection_.reset();
}

}  // namespace galen::agent
