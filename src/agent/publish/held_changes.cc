#include "agent/publish/held_changes.h"

#include <algorithm>
#include <optional>

namespace galen::agent {

void ChangePacer::Changed(HealthState state, Time now) {
  // A change whose predecessor is still held belongs to the same storm, however long its driver
  // paused.
  const bool single = calm(now) && !held_since_;
  // A Pod must not show a device as better than it is during a storm.
  const bool worse = sent_state_ && state > *sent_state_;
  rest_ = single ? kRest / 2 : std::min(rest_ * 2, kRestMost);
  if (!held_since_) held_since_ = now;
  urgent_ = urgent_ || single || worse;
  changed_ = now;
  state_ = state;
}

void ChangePacer::Sent() {
  held_since_.reset();
  urgent_ = false;
  sent_state_ = state_;
}

std::optional<Time> ChangePacer::not_before() const {
  if (!held_since_ || urgent_) return std::nullopt;
  return std::min(*changed_ + rest_, *held_since_ + kHoldMost);
}

void HeldChanges::Expect(const ObjectKey& pod, const DeviceHealth& health, Time now) {
  Held& held = pods_[pod];
  if (!held.behind_since) {
    held.behind_since = now;
    held.single = !held.changed || now - *held.changed >= kAnnotationCalm;
  }
  held.changed = now;
  // Nothing need be remembered of a device that the Pod shows and that is calm.
  std::erase_if(held.devices, [now](const auto& item) {
    return !item.second.unpublished && item.second.pacer.calm(now);
  });
  Change& change = held.devices[health.id];
  change.unpublished = std::make_unique<DeviceHealth>(health);
  change.pacer.Changed(health.state, now);
}

Duration HeldChanges::HoldOf(const ObjectKey& pod, Time now) const {
  const auto changes = pods_.find(pod);
  if (changes == pods_.end()) return Duration::zero();
  Time first = Time::max();
  for (const auto& [id, change] : changes->second.devices) {
    if (!change.unpublished) continue;
    const std::optional<Time> when = change.pacer.not_before();
    if (!when) return Duration::zero();
    first = std::min(first, *when);
  }
  return first == Time::max() ? Duration::zero() : first - now;
}

Duration HeldChanges::AnnotationHoldOf(const ObjectKey& pod, Time now) const {
  const auto held = pods_.find(pod);
  if (held == pods_.end() || !held->second.behind_since || held->second.single)
    return Duration::zero();
  const Time due = std::min(*held->second.changed + kAnnotationCalm,
                            *held->second.behind_since + kAnnotationHoldMost);
  return std::max(due - now, Duration::zero());
}

std::size_t HeldChanges::UnpublishedOf(const ObjectKey& pod) const {
  const auto held = pods_.find(pod);
  if (held == pods_.end()) return 0;
  return static_cast<std::size_t>(std::ranges::count_if(
      held->second.devices, [](const auto& item) { return item.second.unpublished != nullptr; }));
}

void HeldChanges::SendAnnotation(const ObjectKey& pod) {
  if (const auto held = pods_.find(pod); held != pods_.end()) held->second.behind_since.reset();
}

HeldChanges::Changes HeldChanges::Send(const ObjectKey& pod) {
  Changes sent;
  const auto changes = pods_.find(pod);
  if (changes == pods_.end()) return sent;
  for (auto& [id, change] : changes->second.devices) {
    if (change.unpublished) sent.emplace(id, *change.unpublished);
    change.pacer.Sent();
  }
  return sent;
}

void HeldChanges::Failed(const ObjectKey& pod) {
  const auto changes = pods_.find(pod);
  if (changes == pods_.end()) return;
  for (auto& [id, change] : changes->second.devices) change.pacer.Failed();
}

void HeldChanges::OnWritten(const ObjectKey& pod, const Changes& sent) {
  const auto changes = pods_.find(pod);
  if (changes == pods_.end()) return;
  for (const auto& [id, health] : sent) {
    const auto it = changes->second.devices.find(id);
    if (it == changes->second.devices.end() || !it->second.unpublished) continue;
    if (*it->second.unpublished == health) it->second.unpublished.reset();
  }
}

void HeldChanges::NothingToWrite(const ObjectKey& pod) {
  OnWritten(pod, Send(pod));
  SendAnnotation(pod);
}

}  // namespace galen::agent
