// Tested by tests/e2e, as galen watch.
#include "cli/live_fleet.h"

#include <utility>

namespace galen::cli {
namespace {

// People wait: try again sooner than a daemon would.
kube::Watcher::Options All(const kube::Resource& resource) {
  kube::Watcher::Options options;
  options.resource = resource;
  options.backoff = {.first = std::chrono::milliseconds(50), .most = std::chrono::seconds(2)};
  return options;
}

template <typename T>
std::vector<T> Values(const std::map<ObjectKey, T>& objects) {
  std::vector<T> values;
  for (const auto& [key, object] : objects) values.push_back(object);
  return values;
}

}  // namespace

LiveFleet::LiveFleet(Session& session, Random& random, std::function<void()> on_change)
    : loop_(session.loop()),
      on_change_(std::move(on_change)),
      pods_(session.loop(), session.client(), random, All(kube::kPods), kube::DecodePod),
      claims_(session.loop(), session.client(), random, All(kube::kResourceClaims),
              kube::DecodeClaim),
      slices_(session.loop(), session.client(), random, All(kube::kResourceSlices),
              kube::DecodeSlice),
      healths_(session.loop(), session.client(), random, All(kube::kNodeDeviceHealths),
               kube::DecodeNodeDeviceHealth) {}

void LiveFleet::Start() {
  const auto listen = [this](auto& informer) {
    informer.AddListener([this](const ObjectKey&, const auto*, const auto*) { MarkChanged(); });
    informer.OnSynced([this] { MarkChanged(); });
    informer.Start();
  };
  listen(pods_);
  listen(claims_);
  listen(slices_);
  listen(healths_);
}

bool LiveFleet::synced() const { return pods_.synced() && claims_.synced() && slices_.synced(); }

Fleet LiveFleet::Join() const {
  return JoinFleet({.pods = Values(pods_.objects()),
                    .claims = Values(claims_.objects()),
                    .slices = Values(slices_.objects()),
                    .healths = Values(healths_.objects())});
}

void LiveFleet::MarkChanged() {
  if (std::exchange(marked_, true)) return;
  turn_ = loop_.After(Duration::zero(), [this] {
    marked_ = false;
    on_change_();
  });
}

}  // namespace galen::cli
