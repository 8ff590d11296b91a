#include <algorithm>
#include <iterator>

#include "agent/post_mortem/post_mortem_end.h"
#include "agent/post_mortem/post_mortem_keeper.h"
#include "base/text.h"
#include "history/post_mortem/post_mortem_text.h"

namespace galen::agent {

using history::PodEnd;
using history::PostMortem;
using history::PostMortemDevice;
using history::ReceivedFinding;

namespace {

// The same end of a container may show more later, such as its message.
void AddContainers(PostMortem& record, const kube::Pod& pod) {
  for (ContainerEnd& end : ContainerEndsOf(pod)) {
    // Bounded as it is stored, so that the API's copy of the same end compares equal.
    history::Bound(end);
    // An end long before belongs to another record.
    if (end.finished && *end.finished < record.from()) continue;
    const auto same = std::ranges::find_if(record.containers, [&](const ContainerEnd& other) {
      return other.container == end.container && other.finished == end.finished &&
             other.started == end.started;
    });
    if (same == record.containers.end()) {
      record.containers.push_back(end);
    } else {
      *same = end;
    }
  }
}

}  // namespace

bool AddFinding(const PostMortem& record, const ReceivedFinding& finding,
                PostMortemDevice& device) {
  // The first finding is the one that held when the window began, whenever it was reported.
  const auto begin = device.findings.begin() + (device.findings.empty() ? 0 : 1);
  const auto after = std::ranges::upper_bound(begin, device.findings.end(), finding.received, {},
                                              &ReceivedFinding::received);
  // A repeated finding is new only if it ends a silence.
  const bool ends_silence =
      after != device.findings.begin() && std::prev(after)->health.state == HealthState::kUnknown;
  const bool known = std::ranges::any_of(device.findings, [&](const ReceivedFinding& other) {
    const bool same =
        SameFinding(other.health, finding.health) && other.health.since == finding.health.since;
    return same && (!ends_silence || other.received == finding.received);
  });
  if (known) return false;
  device.findings.insert(after, finding);
  if (device.findings.size() <= history::kMortemFindingsMax) return true;
  history::BoundFindings(device.findings, record.first, record.ended);
  return std::ranges::find(device.findings, finding) != device.findings.end();
}

std::vector<PostMortemDevice> DevicesOfHeld(
    const std::vector<HeldDevice>& held,
    const std::function<DeviceIdentity(const DeviceId&)>& identity_of) {
  std::vector<PostMortemDevice> devices;
  for (const HeldDevice& one : held) {
    PostMortemDevice device{.identity = identity_of(one.device),
                            .claim = one.claim,
                            .containers = {},
                            .findings = {},
                            .admin = one.admin_access};
    auto it = std::ranges::find_if(devices, [&](const auto& d) { return IsSame(d, device); });
    if (it == devices.end()) it = devices.insert(it, std::move(device));
    // One request that works on it is work, even if others of the claim only monitor it.
    it->admin = it->admin && one.admin_access;
    for (const ContainerUse& use : one.uses) {
      const bool known = std::ranges::find(it->containers, use.container) != it->containers.end();
      if (!known) it->containers.push_back(use.container);
    }
  }
  return devices;
}

bool IsSame(const PostMortemDevice& a, const PostMortemDevice& b) {
  return a.identity.id == b.identity.id && a.claim == b.claim;
}

std::vector<PostMortemDevice> WithNoted(std::vector<PostMortemDevice> present,
                                        std::vector<PostMortemDevice> noted) {
  for (PostMortemDevice& device : present) {
    const auto before =
        std::ranges::find_if(noted, [&](const auto& other) { return IsSame(other, device); });
    if (before == noted.end()) continue;
    // A card that fell off the bus is in no slice any more; its serial is taken from what was
    // noted.
    DeviceIdentity& identity = device.identity;
    if (identity.serial.empty()) identity.serial = before->identity.serial;
    if (identity.model.empty()) identity.model = before->identity.model;
    noted.erase(before);
  }
  std::ranges::move(present, std::back_inserter(noted));
  return noted;
}

std::optional<WallTime> BeganOf(const kube::Pod& pod) {
  return pod.started ? pod.started : pod.meta.created;
}

void AddPod(PostMortem& record, const kube::Pod& pod) {
  if (pod.asked_to_go) record.asked = pod.asked_to_go;
  record.began = BeganOf(pod);
  for (const kube::OwnerReference& owner : pod.meta.owners) {
    if (owner.controller) record.owner = owner.uid;
  }
  AddContainers(record, pod);
}

EventText EventOf(const PostMortem& record) {
  // A deletion without a crash is no warning, whatever the device had.
  return {.warning = record.end != PodEnd::kDeleted || HasCrash(record),
          .reason = EventReason::kPostMortem,
          .message = CutText(SentenceOf(record), kube::kEventMessageBytesMax),
          .known_by = KnownBy::kSubject};
}

bool IsLast(PodEnd end) { return end != PodEnd::kCrashed && end != PodEnd::kNodeReboot; }

bool BelongsTo(const PostMortem& last, const PodEnding& ending) {
  if (last.over) return true;
  if (last.end == PodEnd::kNodeReboot) return ending.time <= last.until();
  return ending.end != PodEnd::kNodeReboot && ending.time <= last.first + kCrashWindow;
}

void AddEnding(PostMortem& record, const PodEnding& ending) {
  record.over = IsLast(ending.end);
  // The reboot is why the Pod ended, and when. If each later crash moved its time, a Pod that never
  // stops crashing would only ever have this record.
  if (record.end == PodEnd::kNodeReboot) return;
  record.ended = std::max(record.ended, ending.time);
  // The record's containers already show the crash.
  if (!record.over) return;
  record.end = ending.end;
  record.reason = ending.reason;
  record.exact = ending.end != PodEnd::kGone;
}

}  // namespace galen::agent
