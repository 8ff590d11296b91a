#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "agent/post_mortem/post_mortem_end.h"
#include "agent/post_mortem/post_mortem_keeper.h"

namespace galen::agent {
namespace {

using history::PostMortem;

// Only the driver itself reports this: no other sign of it reaches the agent.
constexpr std::string_view kDriverMismatchCode = "DriverMismatch";
// A cause with that code has the versions of the kernel module and of the library as its figures.
const std::string& KernelVersionOf(const Cause& mismatch) { return mismatch.value; }
const std::string& LibraryVersionOf(const Cause& mismatch) { return mismatch.threshold; }

bool IsIn(const PostMortem& record, WallTime time) {
  return time >= record.from() && time <= record.until();
}

const kube::OwnerReference* ControllerOf(const kube::Pod& pod) {
  const auto it = std::ranges::find_if(pod.meta.owners, &kube::OwnerReference::controller);
  return it == pod.meta.owners.end() ? nullptr : &*it;
}

// The end of a container inside the record's window, or nullopt.
std::optional<ContainerEnd> EndOfContainer(const std::vector<ContainerEnd>& ends,
                                           const std::string& name, const PostMortem& record) {
  for (const ContainerEnd& end : ends) {
    if (end.container == name && end.finished && IsIn(record, *end.finished)) return end;
  }
  return std::nullopt;
}

// Whether the container was running at `t` and still is. One that waits for its image, or that
// began later, lived through nothing.
bool RunsSince(const kube::Pod& pod, const std::string& container, WallTime time) {
  const auto runs = [&](const kube::ContainerStatus& status) {
    return status.name == container && status.running &&
           (!status.running_since || *status.running_since < time);
  };
  return std::ranges::any_of(pod.statuses, runs) || std::ranges::any_of(pod.init_statuses, runs);
}

// Gathers the neighbours of one record's Pod.
class Neighbourhood {
 public:
  Neighbourhood(const PostMortem& record, const Surroundings& around)
      : record_(record), around_(around) {
    for (const history::PostMortemDevice& device : record.devices) own_.insert(device.identity.id);
  }

  std::vector<Neighbour> All() {
    around_.view.ForEachPod([&](const kube::Pod& pod) { AddPresent(pod); });
    for (const PostMortem* other : around_.ended) AddEnded(*other);
    // Siblings are the strongest evidence, so they are kept first.
    std::ranges::stable_sort(neighbours_, [](const Neighbour& a, const Neighbour& b) {
      return std::pair(a.same_device, a.same_workload) > std::pair(b.same_device, b.same_workload);
    });
    if (neighbours_.size() > kNeighboursMax) neighbours_.resize(kNeighboursMax);
    return std::move(neighbours_);
  }

 private:
  // From another Pod that is there: each of its containers that ended with the record's Pod, or
  // lived through its end.
  void AddPresent(const kube::Pod& pod) {
    if (pod.meta.uid == record_.pod.uid) return;
    std::set<DeviceId> devices;
    for (const HeldDevice& held : around_.claims.DevicesOf(pod.meta.key)) {
      // A Pod with admin access, such as a monitor, does not work on the device.
      if (!held.admin_access) devices.insert(held.device);
    }
    const kube::OwnerReference* owner = ControllerOf(pod);
    const std::vector<ContainerEnd> ends = ContainerEndsOf(pod);
    Neighbour neighbour{.pod = pod.ref(), .container = "", .devices = WorstOf(devices), .end = {}};
    neighbour.same_device = Shares(devices);
    neighbour.same_workload = owner != nullptr && owner->uid == record_.owner;
    for (const kube::Container& container : pod.containers) {
      if (container.kind == kube::Container::Kind::kInit) continue;
      neighbour.container = container.name;
      neighbour.end = EndOfContainer(ends, container.name, record_);
      if (!neighbour.end && !RunsSince(pod, container.name, record_.first)) continue;
      neighbours_.push_back(neighbour);
    }
    present_.insert(pod.meta.uid);
  }

  // The same from the record of a Pod that is gone: nothing is known of a container without an end
  // in the window, and none of them goes on.
  void AddEnded(const PostMortem& other) {
    if (other.pod.uid == record_.pod.uid || present_.contains(other.pod.uid)) return;
    if (!IsIn(record_, other.ended)) return;
    std::set<DeviceId> devices;
    for (const history::PostMortemDevice& device : other.devices) {
      if (!device.admin) devices.insert(device.identity.id);
    }
    for (const ContainerEnd& end : other.containers) {
      if (end.init || !end.finished || !IsIn(record_, *end.finished)) continue;
      neighbours_.push_back({.pod = other.pod,
                             .container = end.container,
                             .same_device = Shares(devices),
                             .same_workload = !other.owner.empty() && other.owner == record_.owner,
                             .devices = WorstOf(devices),
                             .end = end});
    }
  }

  bool Shares(const std::set<DeviceId>& devices) const {
    return std::ranges::any_of(devices, [&](const DeviceId& id) { return own_.contains(id); });
  }

  std::optional<HealthState> WorstOf(const std::set<DeviceId>& devices) const {
    std::optional<HealthState> worst;
    for (const DeviceId& id : devices) {
      const HealthState state = around_.worst_of(id, record_.from(), record_.ended);
      worst = worst ? Worse(*worst, state) : state;
    }
    return worst;
  }

  const PostMortem& record_;
  const Surroundings& around_;
  std::set<DeviceId> own_;
  std::set<std::string> present_;  // uids
  std::vector<Neighbour> neighbours_;
};

void AddReboot(const PostMortem& rebooted, std::vector<NodeEvent>& events) {
  events.push_back({NodeEvent::Kind::kReboot, rebooted.ended, "the node was started anew"});
}

std::optional<DriverMismatch> MismatchOf(const PostMortem& record) {
  for (const history::PostMortemDevice& device : record.devices) {
    for (const history::ReceivedFinding& finding : device.findings) {
      const Cause& cause = finding.health.cause;
      if (cause.code != kDriverMismatchCode) continue;
      return DriverMismatch{.driver = device.identity.id.driver,
                            .kernel_version = KernelVersionOf(cause),
                            .library_version = LibraryVersionOf(cause)};
    }
  }
  return std::nullopt;
}

}  // namespace

CrashEvidence EvidenceOf(const PostMortem& record, const Surroundings& around) {
  CrashEvidence evidence{.pod = record.pod,
                         .node = record.node,
                         .pod_reason = record.reason,
                         .deleted = record.asked,
                         .containers = record.containers,
                         .devices = {},
                         .neighbours = Neighbourhood(record, around).All(),
                         .node_events = {},
                         .driver_mismatch = MismatchOf(record)};
  for (const history::PostMortemDevice& device : record.devices) {
    DeviceTimeline timeline{
        .identity = device.identity, .containers = device.containers, .findings = {}};
    for (const history::ReceivedFinding& finding : device.findings) {
      timeline.findings.push_back(finding.health);
    }
    evidence.devices.push_back(std::move(timeline));
  }
  if (record.end == history::PodEnd::kNodeReboot) AddReboot(record, evidence.node_events);
  for (const PostMortem* other : around.ended) {
    // The node is the same, so its reboot is everybody's; once is enough.
    if (!evidence.node_events.empty()) break;
    const bool reboot = other->end == history::PodEnd::kNodeReboot;
    if (reboot && IsIn(record, other->ended)) AddReboot(*other, evidence.node_events);
  }
  std::ranges::move(NodeEventsOf(around.view, record.from(), record.until()),
                    std::back_inserter(evidence.node_events));
  return evidence;
}

}  // namespace galen::agent
