// Tested by examination_test.cc, whose drivers answer, refuse, hang and break off.
#include "conformance/link.h"

#include <utility>

namespace galen::conformance {
namespace {

// Long enough that the call's own deadline ends it first.
constexpr Duration kBeyond = std::chrono::seconds(1);

}  // namespace

OpenCall::OpenCall(const Edges& edges, rpc::Channel& channel, std::string_view method,
                   std::string request, Duration limit)
    : loop_(edges.loop), started_(edges.loop.Now()) {
  call_ = channel.Unary(method, std::move(request), limit,
                        [this, &waiter = edges.waiter](StatusOr<std::string> bytes) {
                          ended_ = loop_.Now();
                          answer_ = std::move(bytes);
                          waiter.Wake();
                        });
}

Answer OpenCall::Outcome() const {
  if (!done()) return {DeadlineExceeded("no answer"), loop_.Now() - started_};
  return {answer_->status(), ended_ - started_};
}

Subscription::Subscription(const Edges& edges, rpc::Channel& channel, std::string_view version,
                           std::string_view request)
    : edges_(edges), opened_(edges.loop.Now()) {
  seen_.version = version;
  const std::string method = "/" + seen_.version + ".DRAResourceHealth/NodeWatchResources";
  call_ = channel.ServerStream(method, std::string(request), *this);
}

StreamSeen Subscription::Seen() const {
  StreamSeen seen = seen_;
  seen.watched = (ended() ? ended_at_ : edges_.loop.Now()) - opened_;
  return seen;
}

void Subscription::OnMessage(std::string_view message) {
  const Duration after = edges_.loop.Now() - opened_;
  if (seen_.report_count++ == 0) seen_.first_after = after;
  if (seen_.reports.size() < StreamSeen::kReportsKept) {
    seen_.reports.push_back(ReadHealthReport(message));
    seen_.reports.back().after = after;
  }
  edges_.waiter.Wake();
}

void Subscription::OnEnd(const Status& status) {
  ended_at_ = edges_.loop.Now();
  seen_.end = status;
  edges_.waiter.Wake();
}

StatusOr<std::unique_ptr<Link>> Link::Open(const Edges& edges, const std::string& path,
                                           Duration limit) {
  using Made = StatusOr<std::unique_ptr<net::Connection>>;
  std::optional<Made> made;
  net::DialOptions options;
  options.target = "unix:" + path;
  options.connect_timeout = limit;
  const auto dialling = edges.dialer.Dial(options, [&](Made connection) {
    made = std::move(connection);
    edges.waiter.Wake();
  });
  if (!edges.waiter.WaitUntil([&] { return made.has_value(); }, limit + kBeyond)) {
    return DeadlineExceeded("connecting to {} takes more than {} s", path,
                            std::chrono::duration_cast<std::chrono::seconds>(limit).count());
  }
  if (!made->ok()) return made->status();
  return std::unique_ptr<Link>(new Link(edges, std::move(*made).value()));
}

std::unique_ptr<OpenCall> Link::Start(std::string_view method, std::string request,
                                      Duration limit) {
  return std::make_unique<OpenCall>(edges_, channel_, method, std::move(request), limit);
}

std::unique_ptr<OpenCall> Link::Call(std::string_view method, std::string request, Duration limit) {
  auto call = Start(method, std::move(request), limit);
  edges_.waiter.WaitUntil([&] { return call->done(); }, limit + kBeyond);
  return call;
}

std::unique_ptr<Subscription> Link::Subscribe(std::string_view version, std::string_view request) {
  return std::make_unique<Subscription>(edges_, channel_, version, request);
}

}  // namespace galen::conformance
