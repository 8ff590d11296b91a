// Makes Pods show how their devices are. Each look (pod_write_queue.h) compares the Pod as it is
// with what it should show, and writes only the difference, in one patch that only that Pod, by its
// UID, accepts. What a storm of changes holds back is in held_changes.h, what a Pod that has ended
// keeps in EndedFindings. Belongs to the agent's loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/api_edges.h"
#include "agent/health/change_log.h"
#include "agent/holdings/claim_index.h"
#include "agent/holdings/node_view.h"
#include "agent/publish/held_changes.h"
#include "agent/publish/pod_status.h"
#include "agent/publish/pod_write_queue.h"
#include "base/data/json.h"

namespace galen::agent {

// How a device was at a time, as far as is known by now.
using HealthAt = std::function<DeviceHealth(const DeviceId&, WallTime)>;

// What Pods that have ended show of their devices, as evidence: each device as it was at the Pod's
// end, or a worse fault that happened until then and was reported later. Faults after the end do
// not count. Does no I/O.
class EndedFindings {
 public:
  // The devices of a Pod that ended at `end` are like this now. To be called at once when it is
  // seen, and for each later change. `health_at` is asked about devices that changed since the end,
  // as after a restart of the agent.
  // `is_only_its` says whether no other Pod has had a device since. Where `now` lies before the end
  // the clock was set back, so that nothing learnt now can be dated: nothing is added. `set_back`
  // is how far it was set back in all by now (ClockSteps): what is dated since such a step is taken
  // to have happened that much later.
  struct Clock {
    WallTime now{};
    Duration set_back{};
  };
  void Keep(const ObjectKey& pod, WallTime end, const Clock& clock,
            const std::vector<HeldDevice>& devices, const HealthOf& health_of,
            const HealthAt& health_at, const std::function<bool(const DeviceId&)>& is_only_its);
  // What the Pod shows of the device. REQUIRES: kept before.
  const DeviceHealth& Of(const ObjectKey& pod, const DeviceId& device) const {
    return kept_.at(pod).devices.at(device);
  }
  // Whether every device of the Pod was reported at least once before its end.
  bool KnowsAllOf(const ObjectKey& pod) const;
  void Forget(const ObjectKey& pod) { kept_.erase(pod); }

 private:
  struct Ended {
    // as first given: if no container has a time, a later call would give a later one
    WallTime end;
    Duration set_back;  // of the clock, at the first call
    Duration behind;    // how far the clock was behind the end then
    std::map<DeviceId, DeviceHealth> devices;
  };
  std::map<ObjectKey, Ended> kept_;
};

// The conditions that this agent wrote and the informer does not show yet: a transition's time must
// follow the server's last condition. Does no I/O.
class WrittenConditions {
 public:
  // The most conditions that are remembered so; beyond it the informer is believed.
  static constexpr std::size_t kBehindMax = 16;

  // The Pod as the server has it, where the informer's `pod` is known to be older; nullopt: it is
  // as the informer shows it.
  std::optional<kube::Pod> Newer(const kube::Pod& pod);
  // The server answered a write to the Pod, which was looked at as `before`, with `after`.
  void Note(const kube::Pod& before, const kube::Pod& after);
  void Forget(const ObjectKey& pod) { pods_.erase(pod); }

 private:
  struct Written {
    std::string uid;
    std::vector<kube::PodCondition> passed;  // older conditions that the informer may still show
    kube::PodCondition present;
  };
  std::map<ObjectKey, Written> pods_;
};

// ---- The one write that makes a Pod say what it should, or none when it already does
// (pod_patch.cc). Pure.

// Observer: annotation and condition, compared with the informer's Pod. A strategic merge patch for
// pods/status that only fits the Pod of this uid: conditions merge by type there, so the kubelet's
// stay as they are, and a service account that may only patch pods/status can write the annotation
// with it (seen on Kubernetes 1.37). nullopt: it shows everything already.
std::optional<Json> FindingsPatch(const kube::Pod& pod, const WantedPodStatus& wanted,
                                  WallTime now);
// The same patch without the annotation.
std::optional<Json> ConditionPatch(const kube::Pod& pod, const WantedPodStatus& wanted,
                                   WallTime now);

// Manager: whether the informer's Pod already shows everything, so that the server need not be
// asked. `wanted` is nullopt for a Pod without devices.
bool ShowsStatus(const kube::Pod& pod, const std::optional<WantedPodStatus>& wanted, bool running);

// Manager: the same, and the container statuses, which the manager owns. `object` is the Pod as
// the server has it now: the lists are replaced as a whole, so the patch only fits that version.
// `running`: its claims are prepared, so its containers are shown as running.
std::optional<Json> WholePatch(const Json& object, const kube::Pod& pod,
                               const std::optional<WantedPodStatus>& wanted, bool running,
                               WallTime now);

// Manager that runs containers: whether the informer's Pod already shows all of `run`
// (RunStatusOf), apart from times of transitions.
bool SaysRun(const kube::Pod& pod, const Json& run);

// Manager that runs containers: a strategic merge patch of pods/status that fits only this version
// of the Pod, since lists are replaced as a whole. `object` is the Pod as the server has it now,
// `wanted` what is to be said of its devices, if it has any. A Pod that has ended keeps what it
// says of its containers.
std::optional<Json> RunPatch(const Json& object, const std::optional<WantedPodStatus>& wanted,
                             const Json& run, WallTime now);

// An observer writes the annotation and the condition, a manager also allocatedResourcesStatus and,
// for its virtual node, that containers run. Of what the kubelet owns an observer writes nothing:
// it would be overwritten.
class PodPublisher {
 public:
  // How often a server that does not know health of extended resources is tried again: an upgrade
  // need not close our connection.
  static constexpr Duration kExtendedAgain = std::chrono::minutes(10);

  // What it needs of the agent; borrowed.
  struct Edges : ApiEdges {
    const NodeView& view;
    const ClaimIndex& index;
  };
  // Callbacks run on the loop, while a Pod is looked at; they must not destroy the publisher.
  struct Options {
    bool manager = false;
    DegradedAs degraded = DegradedAs::kHealthy;
    HealthOf health_of;
    // A device's health at an earlier time: for Pods that had ended before this agent began.
    HealthAt health_at = [](const DeviceId& id, WallTime) { return DeviceHealth{.id = id}; };
    // How far the clock on the wall was set back in all (ClockSteps).
    std::function<Duration()> set_back = [] { return Duration::zero(); };
    // How much longer what the Pod shows of other devices than those known stays as it is, since
    // not all that it holds is known yet; Duration::max(): for good.
    std::function<Duration(const kube::Pod& pod)> patience_with = [](const kube::Pod&) {
      return Duration::zero();
    };
    // Manager: whether the Pod's claims are ready, so that its containers run.
    std::function<bool(const kube::Pod& pod)> runs = [](const kube::Pod&) { return false; };
    // Manager that runs containers: the state of the Pod's containers (run_status.h); nullopt: none
    // yet.
    std::function<std::optional<Json>(const kube::Pod& pod)> run_of = [](const kube::Pod&) {
      return std::optional<Json>();
    };
    // The Pod shows the device's present health now.
    std::function<void(const kube::Pod& pod, const DeviceHealth& health, const Publication& how)>
        on_published = [](const kube::Pod&, const DeviceHealth&, const Publication&) {};
  };

  PodPublisher(Edges edges, Options options);

  // Nothing is written before this: unread lists must not look like missing devices. Marks that
  // came before are not kept; whoever opens marks every Pod.
  void Open();
  // The server may accept now what it refused, for instance after an upgrade: one Pod with left-out
  // entries is tried, and the others once it is accepted.
  void Retry();
  // Stores the present health of an ended Pod's devices for it to show. To be called as soon as its
  // end is known, before they change again; does nothing for any other Pod.
  void KeepEvidence(const ObjectKey& pod);
  // Has the Pod looked at. Cheap; merges with a mark that is already there. While all changes of a
  // running Pod are held back, the look waits with them.
  void MarkDirty(const ObjectKey& pod);
  // A change that the Pod is to show; its delay is measured, and on_published called, when a write
  // of it arrives. A later change of the same device takes its place.
  void Expect(const ObjectKey& pod, const DeviceHealth& health);
  // Nothing is held back from here on: the agent stops.
  void Flush();
  // The Pod is gone, or another has its name: what it was to show is dropped. A write under way
  // ends by itself, and fits only the old one.
  void Forget(const ObjectKey& pod);

  // Whether every Pod shows what it should, as far as is known; false while a Pod waits for its
  // turn or for the server.
  bool idle() const { return queue_.idle(); }
  // Patches sent since the start, whatever their answer.
  std::uint64_t writes() const { return writes_; }
  // Which Pod the server refuses, and why; "" when it refuses none.
  std::string trouble() const { return queue_.trouble(); }

 private:
  using Done = PodWriteQueue::Done;

  // One look at one Pod. The queue never runs two for the same Pod.
  void Reconcile(const ObjectKey& key, Done done);
  // Stores how the devices of an ended Pod are now.
  void KeepIfEnded(const kube::Pod& pod);
  // Remembers whether the Pod's next write is without entries of extended resources.
  void NoteLeftOut(const kube::Pod& pod);
  // Whether the Pod has nothing but its devices to show. One that starts, ends or is deleted, or
  // whose containers did where a manager runs them, is not held back in a storm.
  bool MayWait(const kube::Pod& pod) const;
  // Observer: writes what the Pod lacks; in a storm the annotation later, to spare its kubelet
  // syncs.
  void WriteFindings(const kube::Pod& pod, const WantedPodStatus& wanted, Done done);
  // How long the annotation may wait for the storm's end.
  Duration AnnotationHoldOf(const kube::Pod& pod) const;
  // Manager: whether nothing is to be written, and what is.
  bool NeedsNoWrite(const kube::Pod& pod, const std::optional<WantedPodStatus>& wanted) const;
  std::optional<Json> PatchOf(const Json& object, const kube::Pod& pod) const;
  // Manager: reads the Pod from the server before writing, since the patch replaces whole lists.
  void ReadThenWrite(const kube::Pod& pod, Done done);
  void WriteIfNeeded(const kube::Pod& pod, const std::optional<Json>& patch, Done done);
  void Write(const kube::Pod& pod, const Json& patch, Done done);
  // What one write was to show.
  struct Written {
    HeldChanges::Changes changes;
    bool annotated = false;
  };
  void Conclude(const kube::Pod& pod, const Written& written, const StatusOr<Json>& reply,
                Done done);
  // The server does not know entries of extended resources: the Pod is written without them.
  void LeaveOutExtended(const kube::Pod& pod, const Status& status, const Done& done);
  // The server knows them now: the Pods that were written without are looked at again.
  void MarkLeftOut();
  // Whether this Pod still exists, and not another one of its name.
  bool IsPresent(const kube::Pod& pod) const;
  // The write arrived: the delay of each change is measured and handed on.
  void OnShown(const kube::Pod& pod, const Written& written);
  // What the Pod should show; nullopt without devices. REQUIRES of one that has ended: kept.
  std::optional<WantedPodStatus> WantedOf(const kube::Pod& pod) const;

  Edges edges_;
  const Options options_;
  bool open_ = false;
  bool stopping_ = false;
  std::uint64_t writes_ = 0;
  // The server takes no entry of an extended resource in a container's status, as before 1.37. Such
  // entries are left out then: with them the server would refuse the whole write.
  bool leave_out_extended_ = false;
  bool leaving_out_logged_ = false;
  std::set<ObjectKey> left_out_;  // Pods that were written without, at most as many as the node has
  Timer ask_again_;
  // One call for each Pod: the queue sees to it. A Pod may go during its write.
  std::map<ObjectKey, std::unique_ptr<net::HttpCall>> calls_;
  HeldChanges changes_;
  EndedFindings ended_;
  WrittenConditions conditions_;  // for observers only: a manager reads the Pod before each write
  PodWriteQueue queue_;
};

}  // namespace galen::agent
