#include "agent/app/change_router.h"

#include <algorithm>
#include <utility>

#include "agent/post_mortem/post_mortem_end.h"
#include "model/fault.h"

namespace galen::agent {

ChangeRouter::ChangeRouter(Parts parts) : parts_(std::move(parts)) {}

void ChangeRouter::Start() {
  // An API server that cannot list may still accept a write, and the node's object then says that
  // the agent is not ready.
  patience_ = parts_.loop.After(kSyncPatience, [this] {
    impatient_ = true;
    OnDevicesChanged();
  });
}

void ChangeRouter::OnPod(const ObjectKey& key, const kube::Pod* before, const kube::Pod* after) {
  const bool replaced =
      before != nullptr && after != nullptr && before->meta.uid != after->meta.uid;
  if (replaced) parts_.publisher.Forget(key);
  if (parts_.pod_resources != nullptr) parts_.pod_resources->OnPod(key, before, after);
  // Asked before and after: a Pod that lets go of a device changes the node's object as well.
  const bool held = !parts_.claims.DevicesOf(key).empty();
  Mark(parts_.claims.PodChanged(key));
  if (after == nullptr) parts_.publisher.Forget(key);
  if (replaced || after == nullptr) {
    parts_.events.Forget(before->ref());
    late_faults_.erase(key);
    assigned_.Forget(key);
  }
  NoteAssigned(key);
  AwaitLateFaults(key, after);
  if (after != nullptr) NoteCrashes(before, *after);
  parts_.post_mortems.OnPod(key, before, after);
  if (parts_.runner != nullptr) {
    if (before != nullptr) parts_.runner->MarkDirty(before->ref());
    if (after != nullptr) parts_.runner->MarkDirty(after->ref());
  }
  if (held || !parts_.claims.DevicesOf(key).empty()) OnDevicesChanged();
}

void ChangeRouter::OnClaim(const ObjectKey& key) {
  const std::vector<ObjectKey> pods = parts_.claims.ClaimChanged(key);
  if (pods.empty()) return;
  if (parts_.pod_resources != nullptr) parts_.pod_resources->OnClaim();
  Mark(pods);
  for (const ObjectKey& pod : pods) {
    NoteAssigned(pod);
    parts_.post_mortems.OnClaims(pod);
    const kube::Pod* present = parts_.view.FindPod(pod);
    // The claim may be what the Pod was waiting for.
    if (present != nullptr && parts_.runner != nullptr) parts_.runner->MarkDirty(present->ref());
  }
  OnDevicesChanged();
}

void ChangeRouter::OnPluginDevices(const std::vector<ObjectKey>& pods) {
  for (const ObjectKey& pod : pods) {
    Mark(parts_.claims.PodChanged(pod));
    NoteAssigned(pod);
    parts_.post_mortems.OnClaims(pod);
  }
  OnDevicesChanged();
}

void ChangeRouter::OnDevicesChanged() {
  if (synced_) parts_.kubelet.Look();
  if (synced_ || impatient_) parts_.node.MarkDirty();
  parts_.on_devices_changed();
}

void ChangeRouter::OnSynced() {
  synced_ = true;
  parts_.log.Info("lists of the API server are known",
                  {{"pods_with_claims", parts_.claims.pods()}});
  parts_.publisher.Open();
  for (const HealthChange& change : std::exchange(early_changes_, {})) Publish(change);
  MarkEveryPod();
  if (parts_.runner != nullptr) parts_.runner->Open();
  parts_.post_mortems.OnSynced();
  OnDevicesChanged();
}

void ChangeRouter::OnChanges(const std::vector<HealthChange>& changes) {
  parts_.clock.Look();
  parts_.post_mortems.OnChanges(changes);
  for (const HealthChange& change : changes) {
    LogChange(change);
    if (synced_) {
      Publish(change);
    } else if (early_changes_.size() < kEarlyChangesMax) {
      early_changes_.push_back(change);
    }
  }
  OnDevicesChanged();
}

void ChangeRouter::OnDriversChanged() {
  for (const DeviceId& id : parts_.claims.HeldDevices()) {
    // Devices that somebody reported are published by their own changes.
    if (parts_.keeper.cache().Find(id) == nullptr) Mark(parts_.claims.PodsOf(id));
  }
  // By instance: in a rolling update the new one may do at once what the old one could not.
  decltype(connected_drivers_) connected;
  for (const DriverInfo& driver : parts_.drivers()) {
    if (driver.connected && driver.authority) connected.emplace(driver.name, driver.socket);
  }
  const auto before = std::exchange(connected_drivers_, connected);
  const bool is_new = !std::ranges::includes(before, connected);
  if (is_new && parts_.runner != nullptr) parts_.runner->OnDriverConnected();
  OnDevicesChanged();
}

void ChangeRouter::OnPrepared(const ObjectKey& pod) { Mark(parts_.claims.PodChanged(pod)); }

void ChangeRouter::OnPublished(const kube::Pod& pod, const DeviceHealth& health,
                               const Publication& how) {
  parts_.journal.Published(pod.ref(), health, how, parts_.loop.WallNow());
  parts_.keeper.SyncLater();
}

void ChangeRouter::MarkEveryPod() {
  parts_.view.ForEachPod([this](const kube::Pod& pod) { Mark(pod.meta.key); });
}

void ChangeRouter::Publish(const HealthChange& change) {
  const std::optional<EventText> event = EventOf(change);
  for (const ObjectKey& key : parts_.claims.PodsToNotify(change.after.id)) {
    const kube::Pod* pod = parts_.view.FindPod(key);
    if (pod == nullptr) continue;
    // A Pod that has ended shows what may have ended it, and nothing of the time after: the device
    // may be another Pod's by now.
    if (HasEnded(*pod) && !(IsFault(change.after.state) && HappenedTo(*pod, change.after))) {
      continue;
    }
    // Expected before it is marked, so that the write that follows is measured.
    parts_.publisher.Expect(key, change.after);
    Mark(key);
    if (event) parts_.events.Publish(pod->ref(), ToString(change.after.id), *event);
  }
}

bool ChangeRouter::HappenedTo(const kube::Pod& ended, const DeviceHealth& health) const {
  const std::optional<WallTime> end = EndOf(ended);
  // An end that lies in the future: the clock was set back since, and nothing that comes now can be
  // dated before it.
  if (!end || *end > parts_.loop.WallNow()) return false;
  const auto seen = late_faults_.find(ended.meta.key);
  const Duration later = seen == late_faults_.end()
                             ? Duration::zero()
                             : parts_.clock.set_back() - seen->second.set_back;
  return IsUntilEnd(health.since + later, *end, parts_.claims.IsOnlyOf(ended.meta.key, health.id));
}

void ChangeRouter::LogChange(const HealthChange& change) {
  const auto left_out = changes_logged_.Take(change.after.id.driver, parts_.loop.Now());
  if (!left_out) return;
  parts_.log.Info("device changed", {{"device", ToString(change.after.id)},
                                     {"from", ToString(change.before.state)},
                                     {"to", ToString(change.after.state)},
                                     {"code", change.after.cause.code}});
  if (*left_out == 0) return;
  parts_.log.Info("too many changes of this driver's devices to log each; all are published",
                  {{"driver", change.after.id.driver}, {"left_out", *left_out}});
}

void ChangeRouter::NoteAssigned(const ObjectKey& key) {
  const kube::Pod* pod = parts_.view.FindPod(key);
  if (pod == nullptr) return;
  for (const DeviceId& id : assigned_.TakeNew(*pod, parts_.claims.DevicesOf(key))) {
    RecordAssigned(*pod, id);
  }
}

void ChangeRouter::RecordAssigned(const kube::Pod& pod, const DeviceId& id) {
  const bool found = !synced_;
  // The Pod is older than the journal, and an agent before us has written its status.
  if (found && kube::FindDevicesCondition(pod) != nullptr) return;
  const DeviceHealth health = parts_.health_of(id);
  // An agent before us recorded it.
  if (!parts_.journal.Assigned({pod.ref(), health, found}, parts_.loop.WallNow())) return;
  parts_.keeper.SyncLater();
  parts_.publisher.Expect(pod.meta.key, health);
  if (const std::optional<EventText> event = EventOfAssignment(health)) {
    parts_.events.Publish(pod.ref(), ToString(id), *event);
  }
}

void ChangeRouter::AwaitLateFaults(const ObjectKey& key, const kube::Pod* pod) {
  const bool waits = pod != nullptr && HasEnded(*pod) && !parts_.claims.DevicesOf(key).empty();
  if (!waits) {
    late_faults_.erase(key);
    return;
  }
  if (late_faults_.contains(key)) return;
  parts_.clock.Look();
  Timer until = parts_.loop.After(kLateFaults, [this, key] {
    parts_.claims.LetGo(key);
    late_faults_.erase(key);
  });
  late_faults_[key] = {std::move(until), parts_.clock.set_back()};
}

void ChangeRouter::NoteCrashes(const kube::Pod* before, const kube::Pod& after) {
  std::vector<DeviceId> devices;
  for (const HeldDevice& held : parts_.claims.DevicesOf(after.meta.key)) {
    devices.push_back(held.device);
  }
  if (devices.empty()) return;
  for (const Crash& crash : NewCrashes(before, after)) {
    parts_.journal.Crashed(crash, devices);
    parts_.keeper.SyncLater();
  }
}

void ChangeRouter::Mark(const std::vector<ObjectKey>& pods) {
  for (const ObjectKey& pod : pods) Mark(pod);
}

void ChangeRouter::Mark(const ObjectKey& pod) {
  parts_.publisher.KeepEvidence(pod);
  parts_.publisher.MarkDirty(pod);
}

}  // namespace galen::agent
