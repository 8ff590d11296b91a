// What must hold of a cluster, whatever goes wrong. Each rule has a name and gives its breaches as
// sentences.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/data/fnv1a.h"
#include "tests/sim/agent_devices.h"
#include "tests/sim/sim_world.h"

namespace galen::sim {

// A rule that broke, and how.
struct Breach {
  std::string rule;  // "deadline"
  std::string text;
};

// The longest backoff of a part that was disturbed, and what follows from it.
inline constexpr Duration kCalmAfter = std::chrono::seconds(45);
// What was so before a Pod's end and for so long was surely known at it, or not known at all.
inline constexpr Duration kKnownFor = SimDriver::kTimeout + std::chrono::seconds(5);

// What a Pod's annotation says of the device: "Healthy" of "gpu-0 Healthy; gpu-1 Unhealthy since
// …"; "" where it names no such device.
std::string Annotated(const kube::Pod& pod, const std::string& device);

// Looked at after each step. Belongs to one run.
class SimRules {
 public:
  // The world outlives this, and is not run any more afterwards.
  explicit SimRules(SimWorld& world);

  // Breaches of what must hold at any moment, faults or not; each is reported once:
  // "holding"     neither a Pod's annotation nor the list in its status names a device that it does
  //               not hold, or, when it has ended, did not hold then; not for a moment either. A
  //               Pod of a group that lived for a moment only is left out
  // "allocation"  no device is in two claims
  // "deadline"    no Pod shows Healthy for a device whose driver is gone or silent for longer than
  //               its deadline while its agent could publish: moments later where the network was
  //               fair, and the longest backoff later where it was not
  // "kept"        what was published before is in the journal with which an agent starts, unless
  //               the disk failed; and the agent itself knows each device as that journal had it
  //               last
  // "recorded"    no write to a Pod leaves an agent with a state that its journal does not have on
  //               the disk, unless the disk failed
  // "prepared"    what a Pod that runs holds is prepared for it, on nodes whose agent runs Pods
  // "evidence"    a Pod that has ended shows no fault that came after its end, but for a moment of
  //               an agent that was cut off; it goes on showing the one that it ended with, when
  //               the device is well again
  // "counted"     an Event of a device's change on a Pod counts no more than the journal has of
  //               such changes, and one more for each further start of the agent, unless the disk
  //               failed
  // "order"       the time since which the node's object has a device's state never goes back,
  //               unless the clock was set or the agent started anew; Unknown is a silence in
  //               between. The journal has a driver's changes of a device in the driver's order
  // "identity"    the node's object never names a device by the serial of another
  // "record"      the post-mortem record of a Pod that has a device's fault goes on having it,
  //               unless the disk failed; it names no device that the Pod never held
  // "ours"        an agent's write to a Pod has no annotation but its own, and an observer's no
  //               condition and no other member of the status either
  // "cause"       where nothing is wrong an agent writes nothing that is written already
  std::vector<Breach> Check();

  // What is not yet as it must be once faults have ended and time has passed; checked in addition
  // to Check:
  // "converged"   each Pod runs and shows exactly the state of the hardware, in each of its places,
  //               and so do the nodes' objects, which name no Pod that does not hold the device
  // "prepared"    where an agent runs Pods, drivers have set up, recorded and described for
  //               containers exactly what the Pods that live hold, unless the agent's disk failed
  // "counted"     a Pod that came while its agent ran and shows a fault has an Event of it; what
  //               happened to a Pod's device since the same agent showed it is counted in full
  // "record"      a Pod that ended and showed a fault, then or now, has a record with that fault;
  //               one that is gone and had a device has a record
  // "identity"    the node's object has serial and model of each device by the newest slice
  std::vector<Breach> CheckConverged();

  // A rest begins: from here on "cause" also says that nobody writes at all.
  void Rest(bool rests) { rests_ = rests; }
  // Writes of all agents since the beginning, to Pods and to nodes' objects.
  std::uint64_t writes() const { return writes_; }
  // Over each of these writes: when, to what and its bytes. Two runs of one case have the same
  // digest.
  std::uint64_t digest() const { return digest_; }

 private:
  using Breaches = std::vector<Breach>;
  // What is known of a node's agent.
  struct Agent {
    int starts = 0;
    // The devices as they were published by an agent whose disk was sound.
    std::map<DeviceId, kube::NodeDevice> published;
    // The same by one whose disk failed.
    std::map<DeviceId, kube::NodeDevice> doubted;
    // Since when each driver has been unreachable for an agent that could have published.
    std::map<std::string, Time> unheard_since;
  };

  void OnWrite(SimNode& node, const ApiGate::Write& write);
  void OnEvent(SimNode& node, const std::string& object);
  void CheckOrder(SimNode& node, const kube::NodeDeviceHealth& shown,
                  const kube::NodeDevice& device);
  void CheckOurs(SimNode& node, const ApiGate::Write& write);
  void CheckWritten(SimNode& node, const ApiGate::Write& write);
  // A Pod of a group that lived for a moment only.
  bool IsUnclear(const std::string& pod_uid) const;
  void CheckHolding(Breaches& breaches);
  void CheckListed(const std::string& name, const kube::Pod& pod, const std::vector<DeviceId>& held,
                   Breaches& breaches);
  void CheckAllocation(Breaches& breaches);
  void CheckPrepared(Breaches& breaches);
  void CheckEvidence(Breaches& breaches);
  bool IsInventedForLong(const std::string& what, const SimNode& node);
  bool SawAtOnce(const SimWorld::End& end);
  void CheckSilence(Breaches& breaches);
  void CheckSilent(SimNode& node, SimDriver& driver, Breaches& breaches);
  void CheckKept(SimNode& node, Breaches& breaches);
  void CheckRecorded(SimNode& node, const SimNode::Journaled& journaled, Breaches& breaches);
  void CheckKnown(SimNode& node, const SimNode::Journaled& journaled, Breaches& breaches);
  void NotePublished(SimNode& node, Agent& agent);
  void CheckTruth(const std::string& name, const kube::Pod& pod, Breaches& breaches);
  void CheckNodeHealth(SimNode& node, Breaches& breaches);
  void CheckUses(const kube::NodeDevice& device, Breaches& breaches);
  // order_rules.cc
  void CheckTwicePrepared(Breaches& breaches);
  void CheckTidy(SimNode& node, Breaches& breaches);
  void NoteEvent(const Json& event, const std::string& device);
  void CheckEventThere(const kube::Pod& pod, Breaches& breaches);
  void CheckSerials(SimNode& node, Breaches& breaches);
  void CheckIdentities(SimNode& node, Breaches& breaches);
  void CheckRecords(Breaches& breaches);
  void CheckRecordsThere(Breaches& breaches);
  void CheckRecordsOfGone(Breaches& breaches);
  void CheckRecordsAreOf(const ObjectKey& pod, const std::vector<RecordedDevice>& records,
                         Breaches& breaches);
  void NoteShown();
  void CheckCounted(const kube::Pod& pod, Breaches& breaches);
  void CheckCdiDevices(SimNode& node, const std::set<std::string>& given, Breaches& breaches);

  SimWorld& world_;
  std::map<std::string, Agent> agents_;
  // By Pod's uid and device: that a Pod that has ended shows a fault that came later.
  std::map<std::string, Time> invented_since_;
  // Whether a Pod that has ended showed a fault when it was last looked at, at first at its end.
  struct ShownFault {
    bool shown = false;
    bool saw_end = false;
  };
  std::map<std::string, ShownFault> shown_;  // by Pod's uid and device
  // What was published last of each device that was not Unknown, and since when that agent ran.
  struct Shown {
    std::optional<WallTime> agent_since;
    WallTime since{};
  };
  std::map<DeviceId, Shown> shown_since_;
  // A fault that a record was seen to have: since when, and how often the agent had started then.
  struct Recorded {
    int starts = 0;
    Time since{};
  };
  std::map<std::string, Recorded> recorded_;  // by Pod's uid, number of the record and device
  // Pod's uid, reason and device of each Event that was made, and its count.
  std::map<std::string, std::int64_t> events_;
  // How often a Pod's device had changed when it was first seen to be shown, and how often the
  // agent had started.
  struct FirstShown {
    int starts = 0;
    std::map<HealthState, int> changes;
  };
  std::map<std::string, FirstShown> first_shown_;  // by Pod's uid and device
  std::set<std::string> given_;  // Events that began as the one of a device that was given
  Breaches noted_;               // when they happened, to be found by the next look
  bool rests_ = false;
  std::uint64_t writes_ = 0;
  std::uint64_t digest_ = kFnv1aStart;
};

}  // namespace galen::sim
