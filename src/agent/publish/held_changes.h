// Changes of devices that Pods do not show yet, and how long a storm of them is held back: each
// device of each Pod has its pace (change_pacer.h). Pure; belongs to the agent's loop.
#pragma once

#include <map>
#include <memory>

#include "agent/publish/change_pacer.h"
#include "model/claim.h"
#include "model/health.h"

namespace galen::agent {

class HeldChanges {
 public:
  using Changes = std::map<DeviceId, DeviceHealth>;

  // The Pod is to show this. A later change of the same device takes its place.
  void Expect(const ObjectKey& pod, const DeviceHealth& health, Time now);
  // How long the Pod need not be looked at: it has changes to show, and all of them are held back.
  // Zero when one is not, or when there is none.
  Duration HoldOf(const ObjectKey& pod, Time now) const;
  // A write with all that the Pod is to show goes out now. They stay until they arrive.
  Changes Send(const ObjectKey& pod);
  // That write failed: nothing of it is held back any more.
  void Failed(const ObjectKey& pod);
  // It arrived. What changed while it was under way stays.
  void Arrived(const ObjectKey& pod, const Changes& sent);
  // The Pod shows all of it without a write.
  void Settled(const ObjectKey& pod);
  void Forget(const ObjectKey& pod) { pods_.erase(pod); }

 private:
  // A device that changed lately.
  struct Change {
    // What the Pod does not show yet; apart, for a device that it shows is one of thousands.
    std::unique_ptr<DeviceHealth> unpublished;
    ChangePacer pacer;
  };

  std::map<ObjectKey, std::map<DeviceId, Change>> pods_;
};

}  // namespace galen::agent
