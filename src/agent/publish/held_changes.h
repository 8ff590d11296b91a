// Changes of devices that Pods do not show yet, and how long a storm of them is held back: each
// device of each Pod has its pace (ChangePacer), and each Pod's annotation another. Does no I/O;
// belongs to the agent's loop.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "base/time.h"
#include "model/claim.h"
#include "model/health.h"

namespace galen::agent {

// Decides when a Pod shows what one of its devices became. A single change or a worse state: at
// once. Further changes within moments of the last one wait until the device rests, so that a storm
// of changes is two writes, and its end is always published. One for each device of each Pod; `now`
// never goes back.
class ChangePacer {
 public:
  // A change that comes this long after the one before is a single one, unless that one is still
  // held.
  static constexpr Duration kCalm = std::chrono::milliseconds(250);
  // How long a device that changed again within kCalm must then stay unchanged; with each further
  // change twice as long, up to the most, so that a storm with short pauses is one storm.
  static constexpr Duration kRest = std::chrono::milliseconds(100);
  static constexpr Duration kRestMost = std::chrono::milliseconds(500);
  // However long the storm lasts, the Pod lags no further behind than this: well below the 30 s
  // that a driver's report holds by default.
  static constexpr Duration kHoldMost = std::chrono::seconds(5);

  // The device is in `state` from now on, or has another cause.
  void Changed(HealthState state, Time now);
  // Every change is being written to the Pod, or the Pod shows it already.
  void Sent();
  // The write failed: what is to be published is not held back any more.
  void Failed() { *this = ChangePacer(); }

  // Until when the Pod is not to be written; nullopt: nothing is held.
  std::optional<Time> not_before() const;
  // Whether the last change is so old that the next one is a single one.
  bool calm(Time now) const { return !changed_ || now - *changed_ >= kCalm; }

 private:
  std::optional<Time> changed_;     // the last time
  std::optional<Time> held_since_;  // when the first change came that was not sent
  bool urgent_ = false;             // a held change must not wait
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
  // of pkg/kubelet/kubelet.go). A single change is written whole, for its sync comes anyway. If
  // devices of the Pod change again before they have rested for more than two relists, the
  // annotation waits until they have; the condition does not, since it causes no sync.
  static constexpr Duration kAnnotationCalm = std::chrono::milliseconds(2500);
  // However long they do not rest, the annotation lags no further behind than this. Each write
  // delays the kubelet's next one or two fields by up to 1 s: with 5 s its field was half again as
  // slow on average.
  static constexpr Duration kAnnotationHoldMost = std::chrono::seconds(60);

  // The Pod is to show this. A later change of the same device takes its place.
  void Expect(const ObjectKey& pod, const DeviceHealth& health, Time now);
  // How long the Pod need not be looked at, because all its changes are held back. Zero when one is
  // not, or when there is none.
  Duration HoldOf(const ObjectKey& pod, Time now) const;
  // How long the annotation of the Pod need not be written, if the condition shows the change.
  Duration AnnotationHoldOf(const ObjectKey& pod, Time now) const;
  // How many of its devices changed since the Pod was written.
  std::size_t UnpublishedOf(const ObjectKey& pod) const;
  // A write with all changes of the Pod is being sent: returns them, for OnWritten. They count as
  // unpublished until then.
  Changes Send(const ObjectKey& pod);
  // The write that is being sent has the annotation, too.
  void SendAnnotation(const ObjectKey& pod);
  // That write failed: nothing of it is held back any more.
  void Failed(const ObjectKey& pod);
  // The write arrived. Changes from during the write stay.
  void OnWritten(const ObjectKey& pod, const Changes& sent);
  // The Pod shows all changes without a write.
  void NothingToWrite(const ObjectKey& pod);
  void Forget(const ObjectKey& pod) { pods_.erase(pod); }

 private:
  // A device that changed lately.
  struct Change {
    // The health that the Pod does not show yet; a pointer, since most devices have none.
    std::unique_ptr<DeviceHealth> unpublished;
    ChangePacer pacer;
  };

  struct Held {
    std::map<DeviceId, Change> devices;
    std::optional<Time> changed;       // the last time, whichever device
    std::optional<Time> behind_since;  // when the first change came that the annotation lacks
    bool single = true;                // that change was a single one
  };

  std::map<ObjectKey, Held> pods_;
};

}  // namespace galen::agent
