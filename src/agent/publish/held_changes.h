// Changes of devices that Pods do not show yet, and how long a storm of them is held back: each
// device of each Pod has its pace (ChangePacer), and each Pod's annotation another. Pure; belongs
// to the agent's loop.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "base/time.h"
#include "model/claim.h"
#include "model/health.h"

namespace galen::agent {

// When a Pod is to show what one of its devices became. A single change and bad news: at once. What
// else a device does within moments of its last change waits until it rests, so that a storm of
// changes is two writes, and its end is always published. One for each device of each Pod; `now`
// never goes back.
class ChangePacer {
 public:
  // A change that comes this long after the one before is a single one, unless that is still held.
  static constexpr Duration kCalm = std::chrono::milliseconds(250);
  // How long a device has to stay as it is that changed again within kCalm; with each further
  // change twice as long, up to the most: a storm whose driver pauses for breath is one storm.
  static constexpr Duration kRest = std::chrono::milliseconds(100);
  static constexpr Duration kRestMost = std::chrono::milliseconds(500);
  // However long the storm lasts, the Pod is never further behind: well below the 30 s that a
  // driver's report holds by default.
  static constexpr Duration kHoldMost = std::chrono::seconds(5);

  // The device is in `state` from now on, or is there for another reason.
  void Changed(HealthState state, Time now);
  // All of it is on its way to the Pod, or the Pod says it already.
  void Sent();
  // It did not arrive: what is to be published waits for nothing more.
  void Failed() { *this = ChangePacer(); }

  // Before when the Pod is not to be written; nullopt: no matter when.
  std::optional<Time> not_before() const;
  // Whether the last change is so long ago that it makes no storm of the next.
  bool calm(Time now) const { return !changed_ || now - *changed_ >= kCalm; }

 private:
  std::optional<Time> changed_;     // the last time
  std::optional<Time> held_since_;  // when the first change came that was not sent
  bool urgent_ = false;             // one of those is not to wait
  Duration rest_ = kRest;
  HealthState state_ = HealthState::kUnknown;
  std::optional<HealthState> sent_state_;  // as it was sent last
};

// The changes of all Pods. Belongs to the agent's loop.
class HeldChanges {
 public:
  using Changes = std::map<DeviceId, DeviceHealth>;

  // A kubelet that sees another annotation syncs the Pod, and its next sync, which would write the
  // kubelet's own field, waits for the next relist of its containers: up to 1 s (genericPlegRelist
  // of pkg/kubelet/kubelet.go). A single change is written whole, for its sync comes anyway. What
  // changes again before the devices of the Pod have rested for more than two relists waits with
  // its annotation, not with its condition, which wakes no kubelet, until they have.
  static constexpr Duration kAnnotationCalm = std::chrono::milliseconds(2500);
  // However long they do not rest, the annotation is never further behind. Each costs the kubelet's
  // next one or two fields up to 1 s: with 5 s its field was slower in the mean by half.
  static constexpr Duration kAnnotationHoldMost = std::chrono::seconds(60);

  // The Pod is to show this. A later change of the same device takes its place.
  void Expect(const ObjectKey& pod, const DeviceHealth& health, Time now);
  // How long the Pod need not be looked at: it has changes to show, and all of them are held back.
  // Zero when one is not, or when there is none.
  Duration HoldOf(const ObjectKey& pod, Time now) const;
  // How long the annotation of the Pod need not be written, if the condition carries the news.
  Duration AnnotationHoldOf(const ObjectKey& pod, Time now) const;
  // How many of its devices changed since the Pod was written.
  std::size_t UnpublishedOf(const ObjectKey& pod) const;
  // A write with all changes of the Pod is being sent: gives them, for OnWritten. They count as
  // unpublished until then.
  Changes Send(const ObjectKey& pod);
  // The write that is being sent has the annotation, too.
  void SendAnnotation(const ObjectKey& pod);
  // That write failed: nothing of it is held back any more.
  void Failed(const ObjectKey& pod);
  // It arrived. What changed while it was under way stays.
  void OnWritten(const ObjectKey& pod, const Changes& sent);
  // The Pod shows all of it without a write.
  void NothingToWrite(const ObjectKey& pod);
  void Forget(const ObjectKey& pod) { pods_.erase(pod); }

 private:
  // A device that changed lately.
  struct Change {
    // What the Pod does not show yet; apart, for a device that it shows is one of thousands.
    std::unique_ptr<DeviceHealth> unpublished;
    ChangePacer pacer;
  };

  struct Held {
    std::map<DeviceId, Change> devices;
    std::optional<Time> changed;       // the last time, whichever device
    std::optional<Time> behind_since;  // when the first change came that the annotation lacks
    bool single = true;                // that change came to devices that rested
  };

  std::map<ObjectKey, Held> pods_;
};

}  // namespace galen::agent
