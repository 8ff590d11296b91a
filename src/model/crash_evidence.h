// What is known of the end of a Pod's containers, gathered for Judge (verdict.h): how they ended,
// how their devices were around that time, what became of their neighbours, and what happened to
// the node. Values; no I/O, no clock. Whatever is not known is left empty and counts for nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/claim.h"
#include "model/health.h"

namespace galen {

// How far from an end something may lie and still have to do with it, either way. A program whose
// device is gone may hang before it dies; a driver that polls may report late.
inline constexpr Duration kCrashWindow = std::chrono::minutes(5);
// metav1.Time has whole seconds: what ended "at 14:02:14" did so up to this much later.
inline constexpr Duration kEndPrecision = std::chrono::seconds(1);
// Limit of a termination message. Kubernetes keeps up to 4096 bytes of it, of which the last lines
// are the most useful.
inline constexpr std::size_t kMessageExcerptBytesMax = 512;

// How one container ended, as status.containerStatuses[].state.terminated (or lastState) has it.
struct ContainerEnd {
  std::string container;
  std::optional<int> exit_code;      // 128 + n for one that signal n ended
  std::optional<int> signal;         // where the runtime reports it
  std::string reason;                // "OOMKilled", "Error", "StartError", "ContainerStatusUnknown"
  std::string message;               // the end of its termination message, or ""
  std::optional<WallTime> started;   // of this run
  std::optional<WallTime> finished;  // nullopt: unknown when, or it runs
  int restarts = 0;                  // before this end
  bool init = false;                 // an init container's: it ended before the others began
  bool operator==(const ContainerEnd&) const = default;
};

// A device that the Pod held, and its findings around the end: the one in force when the window
// began, and each that replaced it, in the order of arrival. A finding holds from its `since` (the
// time of its sign, not of its arrival) to the next one's. Findings that arrived after the Pod gave
// the device back belong here too: their `since` shows whether they matter.
struct DeviceTimeline {
  DeviceIdentity identity;
  std::vector<std::string> containers;  // that see it; empty: any of the Pod's may
  std::vector<DeviceHealth> findings;
  bool operator==(const DeviceTimeline&) const = default;
};

// A container of another Pod on the same node that ended with this Pod's or lived through its end.
struct Neighbour {
  PodRef pod;
  std::string container;
  // A sibling: it works on a device that this Pod holds (admin access is not work). Otherwise a
  // peer.
  bool same_device = false;
  bool same_workload = false;  // one owner: another rank of the job, say
  // How its own devices were: the worst finding from kCrashWindow before this Pod's end up to it;
  // nullopt: it holds none, or nobody knows.
  std::optional<HealthState> devices;
  std::optional<ContainerEnd> end;  // bad or good; nullopt: it runs, or ended outside the window
  bool operator==(const Neighbour&) const = default;
};

// Something that happened to the node within the window.
struct NodeEvent {
  // The kind of event.
  enum class Kind {
    kReboot,          // it was started anew: boot id or boot time changed
    kShutdown,        // a graceful one began
    kMemoryPressure,  // the kubelet took Pods down for want of memory
    kDiskPressure,    // likewise for want of another resource, mostly disk
  };
  Kind kind = Kind::kReboot;
  WallTime time{};
  std::string text;  // one sentence, or ""
  bool operator==(const NodeEvent&) const = default;
};

// The parts of a driver that do not fit together: the kernel's module and the library that
// programs load, or that library and what the program was built for.
struct DriverMismatch {
  std::string driver;          // "gpu.example.com", or "" when only a message mentions it
  std::string kernel_version;  // "" when unknown
  std::string library_version;
  bool operator==(const DriverMismatch&) const = default;
};

// Everything known of one Pod's end. A Pod of which several containers ended is judged by the first
// of them that ended badly; the others' ends follow from it or come too late to be evidence.
struct CrashEvidence {
  PodRef pod;
  std::string node;
  // Why the Pod went, where something other than its containers decided: status.reason ("Evicted",
  // "Preempting", "NodeShutdown", "Terminated"), or the reason of its condition DisruptionTarget
  // ("PreemptionByScheduler", "DeletionByTaintManager", "DeletionByDeviceTaintManager",
  // "EvictionByEvictionAPI", "DeletionByPodGC", "TerminationByKubelet").
  std::string pod_reason;
  std::optional<WallTime> deleted;  // when somebody asked for it to go (deletionTimestamp - grace)
  std::vector<ContainerEnd> containers;
  std::vector<DeviceTimeline> devices;
  std::vector<Neighbour> neighbours;
  std::vector<NodeEvent> node_events;
  std::optional<DriverMismatch> driver_mismatch;
  bool operator==(const CrashEvidence&) const = default;
};

// Whether the container ended by an exit code other than 0, or by a signal.
bool EndedBadly(const ContainerEnd& end);
// Whether it ended after somebody had asked for its Pod to go (at `asked`; nullopt: nobody has): it
// was stopped then, whatever its code says. Times of whole seconds that are equal count as after.
bool EndedAsAsked(const ContainerEnd& end, const std::optional<WallTime>& asked);
// The signal that ended it: as reported, else what an exit code above 128 stands for; nullopt:
// none.
std::optional<int> SignalOf(const ContainerEnd& end);
// The container's end that is judged: of those that ended badly the earliest, or the first listed
// when times are not known; nullptr when all ended well or run.
const ContainerEnd* FirstBadEnd(const CrashEvidence& evidence);

}  // namespace galen
