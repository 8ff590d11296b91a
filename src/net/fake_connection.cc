#include "net/fake_connection.h"

#include <utility>

#include "base/check.h"
#include "net/exchange_notices.h"

namespace galen::net {

Duration FakeDelay(Random& random, const LinkWeather& weather) {
  const Duration spread = weather.delay_most - weather.delay_least;
  if (spread <= Duration::zero()) return weather.delay_least;
  // The bound itself can be drawn.
  const auto bound = static_cast<std::uint64_t>(spread.count()) + 1;
  return weather.delay_least + Duration(static_cast<Duration::rep>(random.Below(bound)));
}

void FakePipe::Put(Task deliver) {
  // Due times need not rise: what is due earlier than its forerunner waits behind it.
  messages_.push_back({loop_.Now() + FakeDelay(random_, weather_), std::move(deliver)});
  Arm();
}

void FakePipe::Resume() { Arm(); }

void FakePipe::Clear() {
  timer_.Cancel();
  // Out of the member first: what a message holds may come back to us when it dies.
  const std::deque<Message> lost = std::exchange(messages_, {});
}

void FakePipe::Arm() {
  // A stalled or dead link arms nothing, so an idle simulation has nothing to run; Resume looks
  // again.
  if (timer_ || messages_.empty() || weather_.stalled || weather_.down) return;
  timer_ = loop_.At(messages_.front().due, [this] {
    const Timer ran = std::exchange(timer_, Timer());
    DeliverFirst();
  });
}

void FakePipe::DeliverFirst() {
  // The weather may have changed between arming and arriving.
  if (weather_.stalled || weather_.down) return;
  Task deliver = std::move(messages_.front().deliver);
  messages_.pop_front();
  // Before the delivery, which may destroy this pipe and everything around it.
  Arm();
  deliver();  // last: it may destroy this
}

class FakeConnection::Call final : public HttpCall {
 public:
  Call(FakeConnection& connection, std::uint64_t id) : connection_(&connection), id_(id) {}
  ~Call() override {
    if (connection_ != nullptr) connection_->Cancel(id_);
  }
  void Take(std::size_t bytes) override {
    if (connection_ != nullptr) connection_->Take(id_, bytes);
  }
  // What the window has room for again comes later, as from a real server.
  void DeliverLater(Loop& loop) {
    delivering_ = loop.At(loop.Now(), [this] {
      if (connection_ != nullptr) connection_->DeliverHeld(id_);
    });
  }
  void Forget() { connection_ = nullptr; }
  void EndLater(Loop& loop, const Status& status) {
    ending_ = loop.At(loop.Now(), [this, status] {
      if (connection_ != nullptr) connection_->DeliverEnd(id_, status, {});
    });
  }

 private:
  FakeConnection* connection_;
  const std::uint64_t id_;
  Timer delivering_, ending_;
};

class FakeConnection::Exchange final : public HttpExchange {
 public:
  Exchange(FakeConnection& connection, std::uint64_t id, HttpRequest request)
      : connection_(&connection),
        id_(id),
        request_(std::move(request)),
        local_(connection.target().starts_with("unix:")),
        notices_(connection.parts_.loop) {}
  // What a real server does: a stream that is given up is reset with INTERNAL_ERROR.
  ~Exchange() override {
    if (connection_ == nullptr) return;
    connection_->exchanges_.erase(id_);
    if (!ended_)
      Send([](FakeConnection& to, std::uint64_t id) {
        to.DeliverEnd(id, Unavailable("{} cut the answer off: INTERNAL_ERROR", to.target()), {});
      });
  }

  const HttpRequest& request() const override { return request_; }
  // Credentials of nobody in particular; that there are some is what handlers look at.
  std::optional<PeerCredentials> peer() const override {
    return local_ ? std::optional<PeerCredentials>(PeerCredentials{}) : std::nullopt;
  }

  void Head(int status, Headers headers) override {
    GALEN_CHECK(!std::exchange(has_head_, true));
    // As over HTTP/2, whose place this takes.
    std::erase_if(headers, [](const Header& header) { return header.name == "connection"; });
    Send([status, headers = std::move(headers)](FakeConnection& to, std::uint64_t id) {
      if (HttpResponseSink* sink = to.FindSink(id)) sink->OnHead(status, headers);
    });
  }

  void Write(std::string bytes) override {
    GALEN_CHECK(has_head_ && !ended_);
    if (connection_ == nullptr || bytes.empty()) return;
    queued_ += bytes.size();
    Send([bytes = std::move(bytes)](FakeConnection& to, std::uint64_t id) {
      to.DeliverData(id, bytes);
    });
  }

  void End(Headers trailers) override {
    GALEN_CHECK(has_head_ && !std::exchange(ended_, true));
    Send([trailers = std::move(trailers)](FakeConnection& to, std::uint64_t id) {
      to.DeliverTrailers(id, trailers);
    });
  }

  std::size_t queued() const override { return queued_; }
  void OnDrained(std::function<void()> callback) override {
    notices_.SetOnDrained(std::move(callback));
  }
  void OnGone(std::function<void()> callback) override { notices_.SetOnGone(std::move(callback)); }

  // Arriving is what drains the writer's queue.
  void Took(std::size_t size) {
    queued_ -= size;
    if (queued_ == 0) notices_.Drained();
  }
  // The other end is gone: from here on everything that is written goes nowhere.
  void Detach() {
    connection_ = nullptr;
    queued_ = 0;
    if (!ended_) notices_.Gone();
  }

 private:
  template <typename F>
  void Send(F message) {
    if (connection_ == nullptr) return;
    // The connection outlives its pipes' messages; the exchange may not, hence its number.
    connection_->to_client_.Put([connection = connection_, id = id_, message = std::move(message)] {
      message(*connection, id);
    });
  }

  FakeConnection* connection_;
  const std::uint64_t id_;
  const HttpRequest request_;
  const bool local_;
  bool has_head_ = false;
  bool ended_ = false;
  std::size_t queued_ = 0;
  ExchangeNotices notices_;
};

FakeConnection::FakeConnection(Parts parts)
    : parts_(std::move(parts)),
      to_server_(parts_.loop, parts_.random, parts_.weather),
      to_client_(parts_.loop, parts_.random, parts_.weather) {}

FakeConnection::~FakeConnection() {
  // Both ends may outlive the connection and must not come back to it.
  for (auto& [id, caller] : calls_) caller.call->Forget();
  for (auto& [id, exchange] : exchanges_) exchange->Detach();
  if (parts_.on_destroyed) parts_.on_destroyed();
}

std::unique_ptr<HttpCall> FakeConnection::Send(HttpRequest request, HttpResponseSink& sink) {
  const std::uint64_t id = next_++;
  auto call = std::make_unique<Call>(*this, id);
  Caller& caller = calls_[id];
  caller.call = call.get();
  caller.sink = &sink;
  caller.paced = request.paced;
  // As on a real one, the answer comes later in each case.
  if (!usable_) {
    EndCallSoon(id, closed_);
  } else if (parts_.weather.down || parts_.random.Chance(parts_.weather.call_failure)) {
    EndCallSoon(id, Unavailable("call to {}: lost on the way", target()));
  } else {
    to_server_.Put(
        [this, id, request = std::move(request)]() mutable { Arrive(id, std::move(request)); });
  }
  return call;
}

void FakeConnection::EndCallSoon(std::uint64_t id, const Status& status) {
  // Not through the pipe: a dead link carries nothing.
  calls_.at(id).call->EndLater(parts_.loop, status);
}

void FakeConnection::Arrive(std::uint64_t id, HttpRequest request) {
  if (!calls_.contains(id)) return;  // cancelled on its way
  // What :authority becomes at a real server.
  if (!FindHeader(request.headers, "host")) {
    request.headers.insert(request.headers.begin(), {"host", parts_.options.authority});
  }
  auto exchange = std::make_unique<Exchange>(*this, id, std::move(request));
  exchanges_[id] = exchange.get();
  parts_.handler.Handle(std::move(exchange));
}

HttpResponseSink* FakeConnection::FindSink(std::uint64_t id) {
  const auto found = calls_.find(id);
  return found == calls_.end() ? nullptr : found->second.sink;
}

void FakeConnection::DeliverData(std::uint64_t id, std::string bytes) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) {
    const auto writer = exchanges_.find(id);
    if (writer != exchanges_.end()) writer->second->Took(bytes.size());
    return;
  }
  found->second.held.push_back(std::move(bytes));
  DeliverHeld(id);
}

void FakeConnection::DeliverHeld(std::uint64_t id) {
  Liveness::Watch watch(liveness_);
  while (watch.alive()) {
    const auto found = calls_.find(id);
    if (found == calls_.end()) return;
    Caller& caller = found->second;
    if (caller.held.empty()) break;
    const std::size_t window = parts_.options.stream_window_bytes;
    const std::size_t room = caller.paced ? window - caller.untaken : caller.held.front().size();
    if (room == 0) return;
    const std::string piece = caller.held.front().substr(0, room);
    caller.held.front().erase(0, room);
    if (caller.held.front().empty()) caller.held.pop_front();
    if (caller.paced) caller.untaken += piece.size();
    const auto writer = exchanges_.find(id);
    if (writer != exchanges_.end()) writer->second->Took(piece.size());
    caller.sink->OnData(piece);
  }
  if (!watch.alive()) return;
  if (const auto end = std::exchange(calls_.at(id).held_end, std::nullopt)) {
    DeliverEnd(id, OkStatus(), *end);
  }
}

void FakeConnection::Take(std::uint64_t id, std::size_t bytes) {
  Caller& caller = calls_.at(id);
  GALEN_CHECK(!caller.paced || bytes <= caller.untaken);
  if (!caller.paced) return;
  caller.untaken -= bytes;
  caller.call->DeliverLater(parts_.loop);
}

void FakeConnection::DeliverTrailers(std::uint64_t id, const Headers& trailers) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return;
  if (found->second.held.empty()) return DeliverEnd(id, OkStatus(), trailers);
  found->second.held_end = trailers;
}

void FakeConnection::DeliverEnd(std::uint64_t id, const Status& status, const Headers& trailers) {
  // Out of the map first: the sink may destroy the call, whose end would look for it here.
  const auto node = calls_.extract(id);
  if (!node) return;
  node.mapped().call->Forget();
  node.mapped().sink->OnEnd(status, trailers);
}

void FakeConnection::Cancel(std::uint64_t id) {
  calls_.erase(id);
  // The server is notified a delay later, as by a RST_STREAM.
  to_server_.Put([this, id] { LoseExchange(id); });
}

void FakeConnection::LoseExchange(std::uint64_t id) {
  const auto node = exchanges_.extract(id);
  if (node) node.mapped()->Detach();
}

void FakeConnection::OnClosed(std::function<void(const Status&)> callback) {
  on_closed_ = std::move(callback);
  if (!usable_) EndSoon(closed_);
}

void FakeConnection::EndSoon(Status why) {
  if (ending_) return;
  // At once, so that a handler that has stopped listening is not handed a request any more.
  to_server_.Clear();
  if (std::exchange(usable_, false)) closed_ = why;
  ending_ = parts_.loop.At(parts_.loop.Now(), [this, why = std::move(why)] {
    const Timer ran = std::exchange(ending_, Timer());
    End(why);
  });
}

void FakeConnection::FeelWeather() {
  const Time now = parts_.loop.Now();
  if (!parts_.weather.stalled) {
    stalled_since_.reset();
    to_server_.Resume();
    to_client_.Resume();
  } else if (!stalled_since_) {
    stalled_since_ = now;
  }
  // As Http2Session: one ping_after of silence, then as long again for the answer.
  const Duration patience = 2 * parts_.options.ping_after;
  if (parts_.weather.down) return End(Unavailable("connection to {}: the link is down", target()));
  if (patience > Duration::zero() && stalled_since_ && now - *stalled_since_ >= patience) {
    End(Unavailable("connection to {}: silent, and no answer to a PING", target()));
  }
}

void FakeConnection::End(const Status& why) {
  if (std::exchange(usable_, false)) closed_ = why;
  to_server_.Clear();
  to_client_.Clear();
  // Exchanges only take note, their callbacks run later; sinks run now and may destroy this.
  while (!exchanges_.empty()) LoseExchange(exchanges_.begin()->first);
  Liveness::Watch watch(liveness_);
  while (!calls_.empty()) {
    DeliverEnd(calls_.begin()->first, closed_, {});
    if (!watch.alive()) return;
  }
  if (const auto on_closed = std::exchange(on_closed_, nullptr)) on_closed(closed_);
}

}  // namespace galen::net
