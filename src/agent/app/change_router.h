// What each change means: of a Pod, a claim, a device's health or a driver. Calls the parts that
// have to know, in the order that they need; decides nothing that a part can decide. Belongs to the
// agent's loop.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/app/pod_resources_join.h"
#include "agent/clock_steps.h"
#include "agent/drivers/kubelet_health.h"
#include "agent/drivers/plugin_facts.h"
#include "agent/health/change_log.h"
#include "agent/health/health_keeper.h"
#include "agent/holdings/claim_index.h"
#include "agent/holdings/node_informers.h"
#include "agent/manager/pod_runner.h"
#include "agent/post_mortem/post_mortem_keeper.h"
#include "agent/publish/event_publisher.h"
#include "agent/publish/node_publisher.h"
#include "agent/publish/pod_publisher.h"
#include "base/log.h"
#include "base/loop/loop.h"
#include "base/repeated_log.h"

namespace galen::agent {

// What each Pod of the node is known to have, so that a new device is noticed: its health at that
// moment is recorded for the Pod's owner. Bounded by the Pods there are.
class AssignedDevices {
 public:
  // The devices that `pod` has got since the last call, which are known from now on; none for a Pod
  // that has ended. A device that it lost and gets again counts as new.
  std::vector<DeviceId> TakeNew(const kube::Pod& pod, const std::vector<HeldDevice>& held);
  // The Pod is gone, or another has its name.
  void Forget(const ObjectKey& pod) { known_.erase(pod); }

 private:
  std::map<ObjectKey, std::set<DeviceId>> known_;
};

// The claim index is always first to know: every other part asks it which devices a Pod holds. The
// node's object is always last: it shows what the others made of the change.
class ChangeRouter final : public NodeListener {
 public:
  // Changes that are kept until the API's lists are known. Further ones get no Event and no
  // measured delay; their Pods are looked at all the same.
  static constexpr std::size_t kEarlyChangesMax = 4096;

  // The node's object is written once the API's lists are known, or after this long without them.
  static constexpr Duration kSyncPatience = std::chrono::seconds(30);

  // A fault that is reported this long after a Pod ended may be why it did; later it is another
  // Pod's story.
  static constexpr Duration kLateFaults = std::chrono::minutes(5);

  // Everything here outlives the router.
  struct Parts {
    Loop& loop;
    Log& log;
    ClockSteps& clock;
    const NodeView& view;
    ClaimIndex& claims;
    HealthKeeper& keeper;
    ChangeLog& journal;
    KubeletHealth& kubelet;
    EventPublisher& events;
    PostMortemKeeper& post_mortems;
    PodPublisher& publisher;
    NodePublisher& node;
    PodRunner* runner = nullptr;  // where Pods are run: the manager's
    HealthOf health_of;
    std::function<std::vector<DriverInfo>()> drivers;
    std::function<void()> on_devices_changed;   // after everybody else, for each such change
    PodResourcesJoin* pod_resources = nullptr;  // beside a kubelet
  };

  explicit ChangeRouter(Parts parts);

  // Starts to count kSyncPatience. Once.
  void Start();

  // In this order:
  // 1. the publisher forgets what waits for a Pod that was replaced: it is not for its successor;
  // 2. the index learns what the Pod holds now;
  // 3. what is kept of a Pod that is gone goes, and its Events once they are written;
  // 4. devices that are new to the Pod are recorded, with their health of this moment;
  // 5. a Pod that ended keeps its devices for kLateFaults;
  // 6. crashes are recorded, before the post-mortem that reads them from the journal;
  // 7. the runner looks at the old Pod before the new one, which needs what the old one gives back;
  // 8. the node's object follows if the Pod held devices before or holds some now.
  void OnPod(const ObjectKey& key, const kube::Pod* before, const kube::Pod* after) override;
  // The same steps for the Pods that name the claim.
  void OnClaim(const ObjectKey& key) override;
  // The same steps for Pods whose devices of device plugins changed.
  void OnPluginDevices(const std::vector<ObjectKey>& pods);
  // Health, holder, serial or driver of some device may have changed, as the node's object or
  // `inspect` shows it. The kubelet's reports are read anew first.
  void OnDevicesChanged() override;
  // Another server may accept what the one before it refused.
  void OnServerBack() override { parts_.publisher.Retry(); }
  // Health, Pods and claims are all known from here on, in whatever order they came: the publisher
  // opens, changes that came too early are published, then every Pod is looked at.
  void OnSynced() override;

  // From the keeper, after the journal has them.
  void OnChanges(const std::vector<HealthChange>& changes);
  // Drivers came, went or are not authority any more: what Pods show of devices without a report
  // names the reason, and Pods whose claims wait for a driver are tried.
  void OnDriversChanged();
  // The Pod's claims are prepared: their devices have CDI ids now, which the index has not seen.
  void OnPrepared(const ObjectKey& pod);
  // The Pod shows this health now.
  void OnPublished(const kube::Pod& pod, const DeviceHealth& health, const Publication& how);

  // Asks the publisher to look at every Pod.
  void MarkEveryPod();

 private:
  // Marks the Pods that hold the device, and gives them an Event if the change is worth one.
  void Publish(const HealthChange& change);
  // Logs the change; for a driver that flaps, only a bounded number of them (changes_logged_).
  void LogChange(const HealthChange& change);
  void NoteAssigned(const ObjectKey& key);
  // Records the assignment in the journal, and writes an Event if the device was not healthy then.
  void RecordAssigned(const kube::Pod& pod, const DeviceId& id);
  // A Pod that holds devices and has ended takes late faults for a while.
  void AwaitLateFaults(const ObjectKey& key, const kube::Pod* pod);
  // Records containers that ended badly while their Pod holds devices: which of the two came first
  // is what people ask.
  void NoteCrashes(const kube::Pod* before, const kube::Pod& after);
  // A Pod whose containers do not say when they ended counts as not affected; so does one whose
  // times may be wrong because the clock was set back since.
  bool HappenedTo(const kube::Pod& ended, const DeviceHealth& health) const;
  // Marks the Pod for the publisher; evidence of one that has ended is kept at once.
  void Mark(const ObjectKey& pod);
  void Mark(const std::vector<ObjectKey>& pods);

  Parts parts_;
  bool synced_ = false;
  bool impatient_ = false;
  std::vector<HealthChange> early_changes_;
  LogSparsely changes_logged_;
  AssignedDevices assigned_;
  struct LateFaults {
    Timer until;
    Duration set_back{};  // of the clock, when the Pod was seen to have ended
  };
  std::map<ObjectKey, LateFaults> late_faults_;  // by Pods that ended
  // Names of drivers that are connected, each with the socket of the instance that is authority.
  std::set<std::pair<std::string, std::string>> connected_drivers_;
  Timer patience_;
};

}  // namespace galen::agent
