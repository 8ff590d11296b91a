// Tested by tests/e2e/watch_test.cc, as galen watch.
#include "cli/fleet/live_fleet.h"

#include <utility>

namespace galen::cli {
namespace {

// A person waits: tries again sooner than a daemon would.
kube::Watcher::Options All(const kube::Resource& resource, std::string_view ns = "") {
  kube::Watcher::Options options;
  options.resource = resource;
  options.ns = ns;
  options.backoff = {.first = std::chrono::milliseconds(50),
                     .most = WatchTrouble::kTriesAgainWithin};
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
      trouble_(session.loop(), session.client(), [this] { MarkChanged(); }),
      pods_(session.loop(), session.client(), random, All(kube::kPods), kube::DecodePod),
      claims_(session.loop(), session.client(), random, All(kube::kResourceClaims),
              kube::DecodeClaim),
      slices_(session.loop(), session.client(), random, All(kube::kResourceSlices),
              kube::DecodeSlice),
      healths_(session.loop(), session.client(), random, All(kube::kNodeDeviceHealths),
               kube::DecodeNodeDeviceHealth),
      nodes_(session.loop(), session.client(), random, All(kube::kNodes), DecodeNodeReady),
      leases_(session.loop(), session.client(), random, All(kube::kLeases, kNodeLeases),
              DecodeNodeLease) {}

template <typename T>
void LiveFleet::Follow(kube::Informer<T>& informer, const kube::Resource& resource,
                       std::string_view ns) {
  informer.OnSynced([this] { MarkChanged(); });
  informer.OnWatchTrouble([this, &resource, ns = std::string(ns)](const Status& status) {
    Missed(resource, ns, status);
  });
  informer.Start();
}

void LiveFleet::Start() {
  const auto mark = [this](const ObjectKey&, const auto*, const auto*) { MarkChanged(); };
  pods_.AddListener(mark);
  claims_.AddListener(mark);
  slices_.AddListener(mark);
  healths_.AddListener(mark);
  nodes_.AddListener(mark);
  // Leases are not watched: each renewal would be a change without any effect. The periodic redraw
  // notices one that expired.
  Follow(pods_, kube::kPods);
  Follow(claims_, kube::kResourceClaims);
  Follow(slices_, kube::kResourceSlices);
  Follow(healths_, kube::kNodeDeviceHealths);
  Follow(nodes_, kube::kNodes);
  Follow(leases_, kube::kLeases, kNodeLeases);
}

void LiveFleet::Missed(const kube::Resource& resource, const std::string& ns,
                       const Status& status) {
  // A cluster without our definition, as for `galen get`; and optional signs of life.
  const bool undefined = resource == kube::kNodeDeviceHealths && status.code() == Code::kNotFound;
  const bool sign = resource == kube::kNodes || resource == kube::kLeases;
  if (undefined || (sign && !IsRetryable(status))) {
    if (!undefined && !done_without_.contains(resource)) {
      notes_.push_back(status.message() + "; so a node that fell silent may be shown as it was");
    }
    done_without_.insert(resource);
    return MarkChanged();
  }
  trouble_.Report(resource, ns, status);
}

bool LiveFleet::kind_missing() const {
  return done_without_.contains(kube::kNodeDeviceHealths) && !healths_.synced();
}

std::vector<std::string> LiveFleet::notes() const {
  std::vector<std::string> notes = notes_;
  if (kind_missing()) notes.emplace_back(kKindMissing);
  return notes;
}

bool LiveFleet::synced() const {
  const auto known = [&](const auto& informer, const kube::Resource& resource) {
    return informer.synced() || done_without_.contains(resource);
  };
  return pods_.synced() && claims_.synced() && slices_.synced() &&
         known(healths_, kube::kNodeDeviceHealths) && known(nodes_, kube::kNodes) &&
         known(leases_, kube::kLeases);
}

Fleet LiveFleet::Join(WallTime now) const {
  NodeSigns signs;
  if (nodes_.synced()) signs.nodes = Values(nodes_.objects());
  if (leases_.synced()) signs.leases = Values(leases_.objects());
  return JoinFleet({.pods = Values(pods_.objects()),
                    .claims = Values(claims_.objects()),
                    .slices = Values(slices_.objects()),
                    .healths = Values(healths_.objects()),
                    .signs = std::move(signs),
                    .kind_missing = kind_missing()},
                   now);
}

void LiveFleet::MarkChanged() {
  // A first list brings thousands of objects in one turn.
  if (std::exchange(marked_, true)) return;
  turn_ = loop_.After(Duration::zero(), [this] {
    marked_ = false;
    on_change_();
  });
}

}  // namespace galen::cli
