#include "api_sim/serving/local_transport.h"

#include <deque>
#include <optional>
#include <utility>
#include <variant>

#include "base/liveness.h"

namespace galen::api_sim {
namespace {

// An answer is delivered in parts, through the loop.
struct HeadPart {
  int status;
  net::Headers headers;
};
struct EndPart {
  Status status;
  net::Headers trailers;
};
using Part = std::variant<HeadPart, std::string, EndPart>;

// One end's weak reference to the other: either may be destroyed first.
template <typename End>
class OtherEnd {
 public:
  explicit OtherEnd(End& end) : end_(&end), watch_(end.liveness()) {}
  // nullptr: it was destroyed.
  End* Get() const { return watch_.alive() ? end_ : nullptr; }

 private:
  End* end_;
  Liveness::Watch watch_;
};

class LocalExchange;

// The client's end: it owns the parts that are under way, and destroying it drops them.
class LocalCall final : public net::HttpCall {
 public:
  LocalCall(Loop& loop, net::HttpResponseSink& sink) : loop_(loop), sink_(&sink) {}
  ~LocalCall() override;
  LocalCall(const LocalCall&) = delete;

  void Meet(LocalExchange& exchange) { exchange_.emplace(exchange); }
  void Queue(Part part) {
    if (const auto* bytes = std::get_if<std::string>(&part)) queued_ += bytes->size();
    parts_.push_back(std::move(part));
    if (std::exchange(delivering_, true)) return;
    loop_.Post([end = OtherEnd(*this)] {
      if (LocalCall* const call = end.Get()) call->Deliver();
    });
  }
  std::size_t queued() const { return queued_; }
  const Liveness& liveness() const { return liveness_; }

 private:
  void Deliver();
  // False once the client was notified of the end, or was destroyed. The sink may end the call at
  // any time, so no member is used after the sink was called.
  bool DeliverOne() {
    const Liveness::Watch watch(liveness_);
    Part part = std::move(parts_.front());
    parts_.pop_front();
    if (auto* head = std::get_if<HeadPart>(&part)) {
      sink_->OnHead(head->status, head->headers);
    } else if (auto* bytes = std::get_if<std::string>(&part)) {
      queued_ -= bytes->size();
      sink_->OnData(*bytes);
    } else {
      const EndPart& end = std::get<EndPart>(part);
      // Cleared first: OnEnd may destroy the call, which would otherwise notify the server that the
      // client went away.
      std::exchange(sink_, nullptr)->OnEnd(end.status, end.trailers);
      return false;
    }
    return watch.alive();
  }

  Loop& loop_;
  net::HttpResponseSink* sink_;  // null: it was notified of the end
  std::optional<OtherEnd<LocalExchange>> exchange_;
  std::deque<Part> parts_;
  std::size_t queued_ = 0;   // bytes of `parts_`
  bool delivering_ = false;  // a turn that delivers is posted; at most one
  Liveness liveness_;
};

// The server's end.
class LocalExchange final : public net::HttpExchange {
 public:
  LocalExchange(Loop& loop, LocalCall& call, net::HttpRequest request)
      : loop_(loop), call_(call), request_(std::move(request)) {}

  ~LocalExchange() override {
    // A handler that drops an exchange resets a real stream; here the client gets Unavailable.
    if (!ended_) Queue(EndPart{Unavailable("the server dropped the request"), {}});
  }

  const net::HttpRequest& request() const override { return request_; }
  std::optional<net::PeerCredentials> peer() const override { return std::nullopt; }
  void Head(int status, net::Headers headers) override {
    Queue(HeadPart{status, std::move(headers)});
  }
  void Write(std::string bytes) override { Queue(std::move(bytes)); }
  void End(net::Headers trailers) override {
    ended_ = true;
    Queue(EndPart{OkStatus(), std::move(trailers)});
  }
  std::size_t queued() const override {
    const LocalCall* const call = call_.Get();
    return call == nullptr ? 0 : call->queued();
  }
  void OnDrained(std::function<void()> callback) override { on_drained_ = std::move(callback); }
  void OnGone(std::function<void()> callback) override {
    on_gone_ = std::move(callback);
    if (!gone_) return;
    loop_.Post([end = OtherEnd(*this)] {
      if (LocalExchange* const exchange = end.Get()) exchange->NoteGone();
    });
  }

  // Either callback may destroy this.
  void NoteDrained() {
    if (const auto on_drained = on_drained_) on_drained();
  }
  void NoteGone() {
    gone_ = true;
    if (const auto on_gone = std::exchange(on_gone_, nullptr)) on_gone();
  }
  const Liveness& liveness() const { return liveness_; }

 private:
  // Parts for a destroyed client are dropped.
  void Queue(Part part) {
    if (LocalCall* const call = call_.Get()) call->Queue(std::move(part));
  }

  Loop& loop_;
  const OtherEnd<LocalCall> call_;
  const net::HttpRequest request_;
  bool ended_ = false, gone_ = false;
  std::function<void()> on_drained_, on_gone_;
  Liveness liveness_;
};

LocalCall::~LocalCall() {
  // The end was delivered already, so the server need not be notified.
  if (sink_ == nullptr || !exchange_) return;
  loop_.Post([end = *exchange_] {
    if (LocalExchange* const exchange = end.Get()) exchange->NoteGone();
  });
}

void LocalCall::Deliver() {
  // First, so that parts that a sink causes are delivered in another turn.
  delivering_ = false;
  const bool had = queued_ > 0;
  while (!parts_.empty()) {
    // Parts that are still queued after the end are dropped.
    if (sink_ == nullptr || !DeliverOne()) return;
  }
  if (!had || queued_ > 0 || !exchange_) return;
  if (LocalExchange* const exchange = exchange_->Get()) exchange->NoteDrained();
}

}  // namespace

std::unique_ptr<net::HttpCall> LocalTransport::Send(net::HttpRequest request,
                                                    net::HttpResponseSink& sink) {
  auto call = std::make_unique<LocalCall>(loop_, sink);
  for (const net::Header& header : headers_) {
    if (!net::FindHeader(request.headers, header.name)) request.headers.push_back(header);
  }
  loop_.Post([&loop = loop_, end = OtherEnd(*call), &handler = handler_,
              request = std::move(request)]() mutable {
    LocalCall* const client = end.Get();
    // Cancelled before it arrived: a real server might have seen the request, but need not have.
    if (client == nullptr) return;
    auto exchange = std::make_unique<LocalExchange>(loop, *client, std::move(request));
    client->Meet(*exchange);
    handler.Handle(std::move(exchange));
  });
  return call;
}

}  // namespace galen::api_sim
