// Tested by examination_test.cc, which plays every health stream that can go wrong.
#include <algorithm>
#include <utility>

#include "conformance/probes.h"

namespace galen::conformance {
namespace {

// How long an unannounced service may take to say that it is not there.
constexpr Duration kUnannouncedLimit = std::chrono::seconds(1);
constexpr Duration kListenLeast = std::chrono::seconds(2);

StreamSeen Unopened(const std::string& version, const Status& status) {
  StreamSeen seen{.version = version};
  seen.end = status;
  return seen;
}

}  // namespace

HealthProbe::HealthProbe(const Edges& edges, std::string endpoint, const Info& info)
    : edges_(edges), endpoint_(std::move(endpoint)) {
  for (const char* version : {"v1", "v1alpha1"}) {
    const bool offered = info.Offers(std::string(version) + ".DRAResourceHealth");
    (offered ? versions_ : others_).emplace_back(version);
  }
}

void HealthProbe::OpenSteady() {
  std::vector<Subscription*> subscriptions;
  for (const std::string& version : versions_) {
    steady_.push_back(Open(version));
    if (steady_.back().subscription) subscriptions.push_back(steady_.back().subscription.get());
  }
  AwaitFirst(subscriptions);
}

void HealthProbe::Crowd() {
  // If one reader receives nothing, more of them would show nothing new.
  const bool reported = std::any_of(steady_.begin(), steady_.end(), [](const Stream& stream) {
    return stream.subscription && stream.subscription->reported();
  });
  if (!reported) return;
  CrowdAtOnce();
  ShareConnection();
  seen_.with_unknown_field = OpenAndHear(versions_.front(), kUnknownField);
  CancelAndAskAgain();
  BreakAndComeAgain();
}

void HealthProbe::AskUnannounced() {
  for (const std::string& version : others_) {
    const StatusOr<std::unique_ptr<Link>> link = Link::Open(edges_, endpoint_);
    if (!link.ok()) continue;
    const auto stream = (*link)->Subscribe(version);
    edges_.waiter.WaitUntil([&] { return stream->ended() || stream->reported(); },
                            kUnannouncedLimit);
    const std::optional<Status> end = stream->Seen().end;
    seen_.unannounced[version] =
        stream->reported() || !end ? OkStatus() : *end;  // OK: the service exists after all
  }
}

void HealthProbe::Listen(Duration patience) {
  if (steady_.empty()) return;
  const auto listened = [&] {
    Duration longest{};
    for (const Stream& stream : steady_) {
      if (stream.subscription) longest = std::max(longest, stream.subscription->Seen().watched);
    }
    return longest;
  };
  const auto over = [&] {
    // At least a moment, or a driver that floods could not be distinguished from one that repeats
    // early.
    return listened() >= kListenLeast &&
           std::all_of(steady_.begin(), steady_.end(), [&](const Stream& stream) {
             return !stream.subscription || RepeatedOrOver(stream.subscription->Seen());
           });
  };
  // Silence causes no event, so the wait is divided into short looks.
  constexpr Duration kLook = std::chrono::milliseconds(100);
  const Time end = edges_.loop.Now() + patience - listened();
  while (!over() && edges_.loop.Now() < end && !edges_.waiter.interrupted()) {
    edges_.waiter.WaitUntil(over, std::min<Duration>(kLook, end - edges_.loop.Now()));
  }
}

HealthSeen HealthProbe::Finish() {
  for (std::size_t i = 0; i < steady_.size(); ++i) {
    const Stream& stream = steady_[i];
    seen_.steady.push_back(stream.subscription
                               ? stream.subscription->Seen()
                               : Unopened(versions_[i], Unavailable("nobody listens")));
  }
  steady_.clear();
  return std::move(seen_);
}

HealthProbe::Stream HealthProbe::Open(const std::string& version, std::string_view request) {
  StatusOr<std::unique_ptr<Link>> link = Link::Open(edges_, endpoint_);
  if (!link.ok()) return {};
  Stream stream{.link = std::move(*link), .subscription = nullptr};
  stream.subscription = stream.link->Subscribe(version, request);
  return stream;
}

void HealthProbe::AwaitFirst(const std::vector<Subscription*>& subscriptions) {
  edges_.waiter.WaitUntil(
      [&] {
        return std::all_of(subscriptions.begin(), subscriptions.end(),
                           [](const Subscription* one) { return one->reported() || one->ended(); });
      },
      kFirstReportLimit);
}

StreamSeen HealthProbe::OpenAndHear(const std::string& version, std::string_view request) {
  const Stream stream = Open(version, request);
  if (!stream.subscription) return Unopened(version, Unavailable("nobody listens"));
  AwaitFirst({stream.subscription.get()});
  return stream.subscription->Seen();
}

void HealthProbe::CrowdAtOnce() {
  std::vector<Stream> streams;
  std::vector<Subscription*> subscriptions;
  for (int i = 0; i < kCrowd; ++i) {
    const std::string& version = versions_[static_cast<std::size_t>(i) % versions_.size()];
    streams.push_back(Open(version));
    if (streams.back().subscription) subscriptions.push_back(streams.back().subscription.get());
  }
  AwaitFirst(subscriptions);
  for (std::size_t i = 0; i < streams.size(); ++i) {
    seen_.crowd.push_back(streams[i].subscription
                              ? streams[i].subscription->Seen()
                              : Unopened(versions_.front(), Unavailable("nobody listens")));
  }
}

void HealthProbe::ShareConnection() {
  const StatusOr<std::unique_ptr<Link>> link = Link::Open(edges_, endpoint_);
  if (!link.ok()) return;
  const auto first = (*link)->Subscribe(versions_.front());
  const auto second = (*link)->Subscribe(versions_.back());
  AwaitFirst({first.get(), second.get()});
  seen_.shared = {first->Seen(), second->Seen()};
}

void HealthProbe::CancelAndAskAgain() {
  const StatusOr<std::unique_ptr<Link>> link = Link::Open(edges_, endpoint_);
  if (!link.ok()) return;
  auto stream = (*link)->Subscribe(versions_.front());
  AwaitFirst({stream.get()});
  stream.reset();
  stream = (*link)->Subscribe(versions_.front());
  AwaitFirst({stream.get()});
  seen_.after_cancel = stream->Seen();
}

void HealthProbe::BreakAndComeAgain() {
  {
    Stream broken = Open(versions_.front());
    if (broken.subscription) AwaitFirst({broken.subscription.get()});
    // As for a killed kubelet, the socket closes without a message.
  }
  seen_.after_break = OpenAndHear(versions_.front());
}

bool HealthProbe::RepeatedOrOver(const StreamSeen& seen) const {
  if (seen.end || seen.reports.empty()) return true;
  const HealthReportSeen& first = seen.reports.front();
  return std::all_of(first.devices.begin(), first.devices.end(), [&](const auto& device) {
    // its timeout has passed, so the result is known either way
    if (seen.watched > device.Timeout()) return true;
    return std::any_of(seen.reports.begin() + 1, seen.reports.end(),
                       [&](const auto& report) { return report.Find(device.Key()) != nullptr; });
  });
}

}  // namespace galen::conformance
