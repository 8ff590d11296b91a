#include "agent/app/pod_resources_join.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "agent/agent_metrics.h"
#include "model/plugin_resource.h"

namespace galen::agent {
namespace {

// Whether the kubelet's answer for this Pod may have changed.
bool IsNews(const kube::Pod* before, const kube::Pod& after) {
  return before == nullptr || before->meta.uid != after.meta.uid || before->phase != after.phase ||
         before->started.has_value() != after.started.has_value() ||
         before->claim_names != after.claim_names || before->extended != after.extended;
}

}  // namespace

std::string ClaimDifference(const PodResources& said, const std::vector<HeldDevice>& held) {
  for (const PodResources::ClaimDevice& theirs : said.claim_devices) {
    const bool known = std::ranges::any_of(held, [&](const HeldDevice& ours) {
      return ours.claim == theirs.claim.name && ours.device == theirs.device &&
             (theirs.share_id.empty() || ours.share_id == theirs.share_id);
    });
    if (known) continue;
    return fmt::format("the kubelet has {} for claim {}, the API server has not",
                       ToString(theirs.device), theirs.claim.name);
  }
  return "";
}

PodResourcesJoin::PodResourcesJoin(Edges edges, PodResourcesReader::Options options,
                                   std::function<void(const std::vector<ObjectKey>&)> on_pods)
    : edges_(edges),
      on_pods_(std::move(on_pods)),
      holdings_(edges.view),
      reader_({edges.loop, edges.log, edges.metrics, edges.dialer}, std::move(options),
              {.on_ask = [this] { asked_ = holdings_.PodsNow(); },
               .on_answer = [this](const PodResourcesAnswer& answer) { OnAnswer(answer); },
               .waits =
                   [this] {
                     return SomePod([this](const kube::Pod& pod) { return !holdings_.Knows(pod); });
                   },
               .needs = [this] { return SomePod([](const kube::Pod&) { return true; }); }}) {}

bool PodResourcesJoin::SomePod(const std::function<bool(const kube::Pod&)>& is_it) const {
  bool some = false;
  edges_.view.ForEachPod([&](const kube::Pod& pod) {
    some = some || (!HasEnded(pod) && WantsPluginDevices(pod) && is_it(pod));
  });
  return some;
}

void PodResourcesJoin::OnPod(const ObjectKey& key, const kube::Pod* before,
                             const kube::Pod* after) {
  holdings_.PodChanged(key);
  const bool other = before != nullptr && (after == nullptr || before->meta.uid != after->meta.uid);
  if (other && differences_.erase(key) > 0) ShowDifferences();
  if (after == nullptr || HasEnded(*after) || !IsNews(before, *after)) return;
  if (WantsPluginDevices(*after) || !ClaimKeysOf(*after).empty()) reader_.Look();
}

void PodResourcesJoin::OnChanges(const std::vector<HealthChange>& changes) {
  std::set<ObjectKey> pods;
  for (const HealthChange& change : changes) {
    const DeviceId& id = change.after.id;
    if (!IsPluginResource(id.driver) || !edges_.claims.PodsToNotify(id).empty()) continue;
    for (ObjectKey& pod : holdings_.PodsOf(id)) pods.insert(std::move(pod));
  }
  if (!pods.empty()) on_pods_({pods.begin(), pods.end()});
}

std::vector<HeldDevice> PodResourcesJoin::ShownOf(const kube::Pod& pod) const {
  std::vector<HeldDevice> devices = holdings_.DevicesOf(pod);
  std::erase_if(devices, [this](const HeldDevice& held) {
    return edges_.cache.Find(held.device) == nullptr;
  });
  return devices;
}

bool PodResourcesJoin::Awaits(const kube::Pod& pod) const {
  return !HasEnded(pod) && WantsPluginDevices(pod) && !holdings_.Knows(pod);
}

Duration PodResourcesJoin::PatienceWith(const kube::Pod& pod) const {
  const bool known = !WantsPluginDevices(pod) || holdings_.Knows(pod);
  if (pod.devices_annotation.empty() || known) return Duration::zero();
  // What it held when it ended nobody says any more.
  if (HasEnded(pod)) return Duration::max();
  if (!reader_.first_answer()) return kPatience;
  return std::max(Duration::zero(), *reader_.first_answer() + kPatience - edges_.loop.Now());
}

std::vector<std::string> PodResourcesJoin::differences() const {
  std::vector<std::string> all;
  for (const auto& [pod, difference] : differences_) {
    if (all.size() < kDifferencesShown) all.push_back(ToString(pod) + ": " + difference);
  }
  return all;
}

void PodResourcesJoin::OnAnswer(const PodResourcesAnswer& answer) {
  const std::vector<ObjectKey> changed = holdings_.Apply(answer, asked_);
  if (!changed.empty()) on_pods_(changed);
  Compare(answer);
}

void PodResourcesJoin::Compare(const PodResourcesAnswer& answer) {
  std::map<ObjectKey, std::string> suspected, differences;
  for (const PodResources& said : answer.pods) {
    const auto uid = asked_.find(said.pod);
    const kube::Pod* pod = edges_.view.FindPod(said.pod);
    if (uid == asked_.end() || pod == nullptr || pod->meta.uid != uid->second || HasEnded(*pod)) {
      continue;
    }
    std::string difference = ClaimDifference(said, edges_.claims.DevicesOf(said.pod));
    if (difference.empty()) continue;
    const auto before = suspected_.find(said.pod);
    if (before != suspected_.end() && before->second == difference) {
      differences[said.pod] = difference;
    }
    suspected[said.pod] = std::move(difference);
  }
  for (const auto& [pod, difference] : differences) {
    const auto known = differences_.find(pod);
    if (known != differences_.end() && known->second == difference) continue;
    edges_.log.Warning("kubelet and API name different devices of a Pod's claims",
                       {{"pod", ToString(pod)}, {"difference", difference}});
  }
  differences_ = std::move(differences);
  ShowDifferences();
  // The kubelet is asked again soon: one of the two may only be late.
  if (suspected != suspected_ && !suspected.empty()) reader_.Look();
  suspected_ = std::move(suspected);
}

void PodResourcesJoin::ShowDifferences() const {
  edges_.metrics.Set(metric::kPodResourcesDifferences, {},
                     static_cast<double>(differences_.size()));
}

}  // namespace galen::agent
