#include "bench/pod_watch.h"

#include <utility>

#include "bench/manifest.h"

namespace galen::bench {
namespace {

kube::ResourceHealth FirstDevice(const kube::Pod& pod) {
  for (const kube::ContainerStatus& status : pod.statuses) {
    for (const kube::ResourceStatus& resource : status.allocated) {
      if (!resource.resources.empty()) return resource.resources.front();
    }
  }
  return {};
}

std::string ConditionOf(const kube::Pod& pod) {
  const kube::PodCondition* condition = kube::FindDevicesCondition(pod);
  return condition == nullptr ? "" : condition->message;
}

}  // namespace

PodWatch::PodWatch(EpollLoop& loop, kube::Client& client, Random& random)
    : loop_(loop),
      pods_(loop, client, random, {.resource = kube::kPods, .ns = std::string(kNamespace)},
            kube::DecodePod) {
  pods_.AddListener([this](const ObjectKey& key, const kube::Pod*, const kube::Pod* after) {
    OnChange(key, after);
  });
}

const PodWatch::Line& PodWatch::Of(const std::string& pod) const {
  static const Line kNone;
  const auto it = lines_.find(pod);
  return it == lines_.end() ? kNone : it->second;
}

void PodWatch::OnChange(const ObjectKey& key, const kube::Pod* after) {
  // First: what is done with the news is no part of how late it came.
  const WallTime now = loop_.WallNow();
  if (after == nullptr) {
    lines_.erase(key.name);
    return loop_.Stop();
  }
  Line& line = lines_[key.name];
  kube::ResourceHealth device = FirstDevice(*after);
  std::string condition = ConditionOf(*after);
  const bool same = device == line.device && after->devices_annotation == line.annotation &&
                    condition == line.condition;
  if (line.seen == WallTime{} || !same) line.seen = now;
  if (on_device_ && device != line.device) on_device_(key.name, device);
  line.device = std::move(device);
  line.annotation = after->devices_annotation;
  line.condition = std::move(condition);
  line.phase = after->phase;
  loop_.Stop();
}

}  // namespace galen::bench
