// Records how Pods with devices ended, and what was reported of their devices around that time:
// also for Pods that are gone from the API, and faults that are reported after the devices were
// given back. Which Pod holds which device is kept on disk, so that an end that nobody saw is known
// too. Belongs to the agent's loop.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/clock_steps.h"
#include "agent/holdings/claim_index.h"
#include "agent/holdings/node_view.h"
#include "agent/post_mortem/post_mortem_end.h"
#include "agent/post_mortem/recent_findings.h"
#include "agent/publish/event_publisher.h"
#include "base/files/file_system.h"
#include "base/log.h"
#include "base/loop/loop.h"
#include "history/post_mortem/post_mortem.h"
#include "history/post_mortem/post_mortem_store.h"
#include "history/store/store.h"
#include "kube/objects/pod.h"

namespace galen::agent {

// Identifies the node's boot, so that an agent that starts knows whether only it was away or the
// whole node.
struct NodeBoot {
  std::string id;                // ReadBootId; "" where it cannot be read
  std::optional<WallTime> time;  // ReadBootTime
};
NodeBoot ReadNodeBoot(FileSystem& files);

class PostMortemKeeper {
 public:
  // How late an event of a record's window may still be reported, say by a driver that was away.
  static constexpr Duration kReceivedLateMax = std::chrono::hours(1);
  // The most records that still take findings; beyond it the one that ended first takes no more.
  static constexpr std::size_t kOpenMax = 1024;
  // How long a record's findings are gathered into one write: the journal has them already.
  static constexpr Duration kGather = std::chrono::seconds(1);
  // A Pod is judged again, and its Event written, this long after a crash became known: when other
  // Pods of the same job crash as well, they do so within seconds, and that is evidence.
  static constexpr Duration kRejudgeAfter = std::chrono::seconds(5);
  // How often a disk that failed is tried again.
  static constexpr Duration kSyncAgain = std::chrono::seconds(30);
  // How often records that are too old for more findings are looked for.
  static constexpr Duration kStopOldEvery = std::chrono::minutes(5);
  static constexpr std::size_t kNotableMax = 16;  // records that NodeDeviceHealth shows
  // How many records are judged in one turn of the loop: after a reboot each Pod of the node has a
  // record.
  static constexpr std::size_t kRejudgedAtOnceMax = 32;
  // After a watch of the Pods was interrupted for longer than this, an end that it shows may be
  // old.
  static constexpr Duration kUnseenMin = std::chrono::seconds(5);

  // What it needs of the agent; borrowed.
  struct Parts {
    Loop& loop;
    Log& log;
    ClockSteps& clock;
    history::PostMortemStore& store;
    const history::Store& journal;
    const ClaimIndex& claims;
    const NodeView& view;
    std::string node;
    // Since when Pods may have gone unnoticed; nullopt while the watch is well.
    std::function<std::optional<WallTime>()> unseen_since;
    std::function<DeviceHealth(const DeviceId&)> health_of;
    std::function<DeviceIdentity(const DeviceId&)> identity_of;
    // As EventPublisher::Publish.
    std::function<void(const PodRef&, const std::string& subject, const EventText&,
                       EventPublisher::OnEnd on_end)>
        publish_event;
    std::function<void()> on_notable;  // notable() changed
  };

  explicit PostMortemKeeper(Parts parts) : parts_(std::move(parts)) {}

  // Reopens the records that were open when the agent last ran. `boot` is the node's present boot:
  // if it is another one than then, each Pod that held devices gets a record of the reboot. Once,
  // after the health of the devices was restored and before this run's first change.
  void Start(const NodeBoot& boot);
  // Every list of the API server was read: Pods that are not in it are gone. Records from before
  // are judged now that the neighbours are known.
  void OnSynced();
  // As NodeListener::OnPod, after the claim index has seen it.
  void OnPod(const ObjectKey& key, const kube::Pod* before, const kube::Pod* after);
  // The Pod's claims may have changed.
  void OnClaims(const ObjectKey& key);
  // Called after the journal has the changes.
  void OnChanges(const std::vector<HealthChange>& changes);
  // How the device was when a Pod ended at `end`: as it was reported then, or a worse fault that
  // happened until then and was reported later. NotReportedHealth where nothing is known of that
  // time.
  DeviceHealth HealthAt(const DeviceId& device, WallTime end) const {
    return findings_.AtEnd(parts_.health_of(device), end, parts_.loop.WallNow());
  }
  // The device has left the node.
  void Forget(const DeviceId& device) { findings_.Forget(device); }
  // Writes what waits; called when the process ends, and before a query is answered.
  void Flush() {
    StoreDirty();
    Sync();
  }

  // The records for `galen`: newest first; of all Pods, or of those of this name.
  std::vector<history::PostMortem> Records(const std::optional<ObjectKey>& pod) {
    StoreDirty();
    const WallTime now = parts_.loop.WallNow();
    return pod ? parts_.store.OfPod(*pod, now) : parts_.store.All(now);
  }
  history::PostMortemStore::Answer Newest(const history::PostMortemStore::Query& query) {
    StoreDirty();
    return parts_.store.Newest(query, parts_.loop.WallNow());
  }
  std::optional<ObjectKey> PodNamed(const std::string& name) const {
    return parts_.store.PodNamed(name, parts_.loop.WallNow());
  }
  // The newest records in which a device had a fault.
  const std::vector<history::PostMortem>& notable() const { return notable_; }
  // Records that still take findings, and are held in memory for that.
  std::size_t open() const { return open_.size(); }
  // What is wrong, as a sentence; "" when nothing is.
  const std::string& trouble() const { return trouble_; }

 private:
  using Id = std::pair<std::string, int>;  // the Pod's uid, and the record's number

  // How a Pod ended, and the earliest time at which that can have happened.
  struct Ended {
    PodEnding ending;
    WallTime first{};
  };

  // Records which devices the Pod holds, and its containers' new crashes.
  void Observe(const kube::Pod& pod, const kube::Pod* before);
  void NoteHolding(const kube::Pod& pod);
  // `pod` null: only what was noted of the Pod is known.
  void End(const PodRef& ref, const Ended& ended, const kube::Pod* pod);
  history::PostMortem Begin(const PodRef& ref, const Ended& ended, int number) const;
  void Enrich(const kube::Pod& pod);
  // Adds the Pod's devices that the record lacks.
  void AddDevices(history::PostMortem& record) const;
  // What is noted of the Pod and what the index knows of it.
  std::vector<history::PostMortemDevice> DevicesOf(const PodRef& ref) const;
  void NoteReboot(const NodeBoot& boot);
  // Enters what was reported since the record was written; true if there was anything.
  bool CatchUp(history::PostMortem& record) const;
  // Judges the record, as far as its neighbours are known, and stores it.
  void JudgeAndStore(history::PostMortem record);
  // Takes the record to the store; the disk has it a little later.
  void Store(history::PostMortem record);
  history::PostMortem Judged(history::PostMortem record) const;
  Verdict VerdictOn(const history::PostMortem& record) const;
  // From now on findings of the record's devices are entered into it.
  void StartCollecting(const history::PostMortem& record);
  void StopCollecting(const Id& id);
  // It takes no more, and is published anew should it be taken up again.
  void LetGo(const Id& id);
  // Whether the health may be of the time after the record's end although it is dated before it:
  // the clock was set back since. REQUIRES: the record is open.
  bool MayBeLater(const Id& id, const DeviceHealth& health) const {
    const WallTime ended = open_.at(id).ended;
    const Duration later = parts_.clock.set_back() - opened_at_.at(id);
    return ended > parts_.loop.WallNow() || (health.since <= ended && health.since + later > ended);
  }
  // Closes records that are too old for findings, and the oldest where there are too many.
  void StopCollectingOld();
  // Puts the record into notable(), if it belongs there; records that are no longer kept leave it.
  void NoteNotable(const history::PostMortem& record);
  void ShowNotable(std::vector<history::PostMortem> notable);
  // Stores the records that got findings since they were stored.
  void StoreDirty();
  // Judges the record once more, after kRejudgeAfter, and publishes it.
  void RejudgeLater(const Id& id);
  void RejudgeDue();
  // Its Event is written: the agent after this one has nothing to do for it. Else it is tried
  // again.
  void NotePublished(const Id& id, bool written);
  void SyncAfter(Duration delay);
  void Sync();
  void OnWritten(const Status& status);

  Parts parts_;
  RecentFindings findings_;
  std::map<Id, history::PostMortem> open_;
  std::map<Id, Duration> opened_at_;  // set_back of the clock when the record was begun
  std::map<DeviceId, std::set<Id>> open_of_device_;
  std::set<Id> dirty_;
  std::map<Id, Time> to_rejudge_;  // when to judge them once more, and to publish
  std::set<Id> publishing_;        // open ones whose Events are queued and not known to be written
  std::vector<history::PostMortem> notable_;
  bool synced_ = false;
  WallTime last_alive_{};  // when the process before this one last recorded that it ran
  std::string trouble_;
  std::optional<Time> sync_at_;
  bool writing_ = false;
  Timer sync_, gather_, rejudge_, old_timer_;
};

// ---- What is entered into a record after it was begun, and which endings of a Pod make one record
// (post_mortem_entry.cc). Pure, all of it.

// Enters a finding into a device of the record, in the order in which findings were reported. False
// when the record is as before: a driver that is back repeats what it said, and one whose device
// flaps reports more than a record keeps.
bool AddFinding(const history::PostMortem& record, const history::ReceivedFinding& finding,
                history::PostMortemDevice& device);

// Each device once for each claim, with every container that sees it; several shares of a device,
// or requests that got it, are merged.
std::vector<history::PostMortemDevice> DevicesOfHeld(
    const std::vector<HeldDevice>& held,
    const std::function<DeviceIdentity(const DeviceId&)>& identity_of);
// Whether both are the same device through the same claim.
bool IsSame(const history::PostMortemDevice& a, const history::PostMortemDevice& b);

// The devices of `noted` that were given back meanwhile, then what is held now. The identity of a
// device that is no longer known is taken from `noted`.
std::vector<history::PostMortemDevice> WithNoted(std::vector<history::PostMortemDevice> present,
                                                 std::vector<history::PostMortemDevice> noted);

// When the Pod began to run, or was created if it never ran; nullopt: not known.
std::optional<WallTime> BeganOf(const kube::Pod& pod);
// What the Pod shows of its containers' ends in the record's window, who owns it and whether
// somebody asked for it to go. The same end may show more later.
void AddPod(history::PostMortem& record, const kube::Pod& pod);

// The one Event of the record on its Pod: a Warning, unless the Pod was only deleted.
EventText EventOf(const history::PostMortem& record);

// Whether a Pod that ended so will not run again.
bool IsLast(history::PodEnd end);

// Whether the ending belongs to `last`, the newest record of its Pod. A reboot of the node begins a
// record of its own, to which belongs what the containers show of it afterwards.
bool BelongsTo(const history::PostMortem& last, const PodEnding& ending);

// Takes the ending into a record to which it belongs and that is not over.
void AddEnding(history::PostMortem& record, const PodEnding& ending);

// ---- What is known around the end of a Pod, gathered for the verdict on it: its own record, and
// what became of its neighbours on the node (post_mortem_evidence.cc). Pure.

// The most containers of a node that are considered for one verdict; beyond it those that share a
// device with the Pod are left out last.
inline constexpr std::size_t kNeighboursMax = 256;

// Everything here lives until the call returns.
struct Surroundings {
  const NodeView& view;
  const ClaimIndex& claims;
  // The worst state of a device between the two times.
  std::function<HealthState(const DeviceId& device, WallTime from, WallTime until)> worst_of;
  // Records of other Pods, which may be gone from the view.
  std::vector<const history::PostMortem*> ended;
};

// Everything that `record` and its surroundings show, in the form that Judge takes.
CrashEvidence EvidenceOf(const history::PostMortem& record, const Surroundings& around);

}  // namespace galen::agent
