#include "api_sim/serving/local_transport.h"

#include <deque>
#include <utility>
#include <variant>

namespace galen::api_sim {
namespace {

// An answer in pieces, on its way through the loop.
struct HeadPart {
  int status;
  net::Headers headers;
};
struct EndPart {
  Status status;
  net::Headers trailers;
};
using Part = std::variant<HeadPart, std::string, EndPart>;

// What the two ends of a call have in common. Shared because either end may go first: the exchange
// at the server or the call at the client.
struct Link {
  explicit Link(Loop& loop_in) : loop(loop_in) {}

  Loop& loop;
  net::HttpResponseSink* sink = nullptr;  // null: the client is gone
  std::deque<Part> parts;                 // on the way to the client
  // Bytes of `parts`.
  std::size_t queued = 0;
  // A turn that delivers is posted; at most one.
  bool delivering = false;
  std::function<void()> on_drained;
  std::function<void()> on_gone;
};

// False once the client is gone or was notified of the end. The sink may end the call at any time,
// so nothing of the sink is touched after it was called.
bool DeliverOne(Link& link) {
  Part part = std::move(link.parts.front());
  link.parts.pop_front();
  if (auto* head = std::get_if<HeadPart>(&part)) {
    link.sink->OnHead(head->status, head->headers);
  } else if (auto* bytes = std::get_if<std::string>(&part)) {
    link.queued -= bytes->size();
    link.sink->OnData(*bytes);
  } else {
    const EndPart& end = std::get<EndPart>(part);
    // Cleared first: OnEnd may destroy the call, which would otherwise notify the server that the
    // client went away.
    std::exchange(link.sink, nullptr)->OnEnd(end.status, end.trailers);
  }
  return link.sink != nullptr;
}

void Deliver(const std::shared_ptr<Link>& link) {
  // First, so that what a sink causes to be written is delivered by a turn of its own.
  link->delivering = false;
  const bool had = link->queued > 0;
  while (link->sink != nullptr && !link->parts.empty()) {
    // What is still queued is for nobody.
    if (!DeliverOne(*link)) return;
  }
  if (had && link->queued == 0 && link->on_drained) link->on_drained();
}

void Queue(const std::shared_ptr<Link>& link, Part part) {
  link->parts.push_back(std::move(part));
  if (std::exchange(link->delivering, true)) return;
  link->loop.Post([link] { Deliver(link); });
}

class LocalExchange final : public net::HttpExchange {
 public:
  LocalExchange(std::shared_ptr<Link> link, net::HttpRequest request)
      : link_(std::move(link)), request_(std::move(request)) {}

  ~LocalExchange() override {
    // They may hold what holds this exchange.
    link_->on_drained = nullptr;
    link_->on_gone = nullptr;
    // A handler that drops an exchange resets a real stream; the client gets Unavailable.
    if (!ended_) Queue(link_, EndPart{Unavailable("the server gave the request up"), {}});
  }

  const net::HttpRequest& request() const override { return request_; }
  std::optional<net::PeerCredentials> peer() const override { return std::nullopt; }
  void Head(int status, net::Headers headers) override {
    Queue(link_, HeadPart{status, std::move(headers)});
  }
  void Write(std::string bytes) override {
    link_->queued += bytes.size();
    Queue(link_, std::move(bytes));
  }
  void End(net::Headers trailers) override {
    ended_ = true;
    Queue(link_, EndPart{OkStatus(), std::move(trailers)});
  }
  std::size_t queued() const override { return link_->queued; }
  void OnDrained(std::function<void()> callback) override {
    link_->on_drained = std::move(callback);
  }
  void OnGone(std::function<void()> callback) override { link_->on_gone = std::move(callback); }

 private:
  // Shared with the call, see Link.
  const std::shared_ptr<Link> link_;
  const net::HttpRequest request_;
  bool ended_ = false;
};

class LocalCall final : public net::HttpCall {
 public:
  explicit LocalCall(std::shared_ptr<Link> link) : link_(std::move(link)) {}
  ~LocalCall() override {
    // The end was delivered already: nothing is left to notify the server of.
    if (std::exchange(link_->sink, nullptr) == nullptr) return;
    link_->loop.Post([link = link_] {
      if (const auto on_gone = std::exchange(link->on_gone, nullptr)) on_gone();
    });
  }

 private:
  const std::shared_ptr<Link> link_;  // with the exchange, see Link
};

}  // namespace

std::unique_ptr<net::HttpCall> LocalTransport::Send(net::HttpRequest request,
                                                    net::HttpResponseSink& sink) {
  auto link = std::make_shared<Link>(loop_);
  link->sink = &sink;
  for (const net::Header& header : headers_) {
    if (!net::FindHeader(request.headers, header.name)) request.headers.push_back(header);
  }
  loop_.Post([link, &handler = handler_, request = std::move(request)]() mutable {
    // Cancelled before it got there; a real request could have been seen, none has to be.
    if (link->sink == nullptr) return;
    handler.Handle(std::make_unique<LocalExchange>(link, std::move(request)));
  });
  return std::make_unique<LocalCall>(std::move(link));
}

}  // namespace galen::api_sim
