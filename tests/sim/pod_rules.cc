// What must hold of each Pod: what it holds and shows, while it lives and after; rules of
// sim_rules.h.
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "agent/holdings/claim_index.h"
#include "tests/sim/sim_rules.h"

namespace galen::sim {
namespace {

using namespace std::chrono_literals;

// Ends have whole seconds, and what is seen soon after one counts while nobody else has the device.
constexpr Duration kEndsWithin = agent::kSeenWithin + 2s;
// So soon an agent that nothing hinders sees an end.
constexpr Duration kSeenAtOnce = 150ms;
// A state may stand so long on a Pod that cannot be written: an outage, and a backoff.
constexpr Duration kPublishedMost = 15min;
// Whether an id of the list in a Pod's status is this device's: "gpu.example.com/claim=UID-gpu-0"
// as its driver prepared it (sdk::CdiId), or its name in full where it has no such id.
bool IsIdOf(const std::string& resource_id, const DeviceId& device) {
  return resource_id == ToString(device) || (resource_id.starts_with(device.driver + "/claim=") &&
                                             resource_id.ends_with("-" + device.device));
}

// "gpu-1" is not named by "gpu-10": the name ends at a space.
bool Names(const std::string& annotation, const std::string& device) {
  const std::size_t at = annotation.find(device + " ");
  return at != std::string::npos && (at == 0 || annotation[at - 1] == ' ');
}

// The state of a reason that changes of devices have.
std::optional<HealthState> StateOf(const std::string& reason) {
  static const std::map<std::string, HealthState> kStates = {
      {"DeviceRecovered", HealthState::kHealthy},
      {"DeviceUnknown", HealthState::kUnknown},
      {"DeviceDegraded", HealthState::kDegraded},
      {"DeviceUnhealthy", HealthState::kUnhealthy}};
  const auto it = kStates.find(reason);
  return it == kStates.end() ? std::nullopt : std::optional(it->second);
}

// The devices that any node has.
const std::vector<std::string>& DeviceNames() {
  static const std::vector<std::string> kNames = {"gpu-0", "gpu-1", "gpu-2", "gpu-3",
                                                  "nic-0", "nic-1", "nic-2", "nic-3"};
  return kNames;
}

constexpr std::string_view kGiven = "This Pod was given ";

}  // namespace

void SimRules::OnEvent(SimNode& node, const std::string& object) {
  const StatusOr<Json> json = Json::Parse(object);
  if (!json.ok()) return;
  const Json& event = *json;
  const std::optional<HealthState> state = StateOf(event["reason"].AsString());
  if (!state) return;
  const std::string& name = event["metadata"]["name"].AsString();
  std::string device = event["message"].AsString();
  if (device.starts_with(kGiven)) {
    given_.insert(name);
    device = device.substr(kGiven.size());
  }
  device = device.substr(0, device.find_first_of(" :"));
  NoteEvent(event, device);
  if (node.disk_was_doubtful()) return;
  const int most = node.JournaledChanges(device, *state) + node.agent_starts() - 1 +
                   static_cast<int>(given_.count(name));
  const std::int64_t count = event["count"].AsInt();
  if (count <= most) return;
  noted_.push_back({"counted", fmt::format("the agent on {} counts {} of '{}', which happened {} "
                                           "times at most",
                                           node.name(), count, event["message"].AsString(), most)});
}

void SimRules::CheckOrder(SimNode& node, const kube::NodeDeviceHealth& shown,
                          const kube::NodeDevice& device) {
  const DeviceId& id = device.identity.id;
  if (node.loop().wall_steps() > 0 || device.state == HealthState::kUnknown) return;
  const Shown now{shown.agent_since, *device.since};
  const Shown before = std::exchange(shown_since_[id], now);
  // The API has times of signs in milliseconds.
  if (now.agent_since > before.agent_since || now.since + 1ms >= before.since) return;
  noted_.push_back(
      {"order", fmt::format("{} is shown as {} since {}, and was in another state "
                            "since {}",
                            ToString(id), ToString(device.state), FormatRfc3339(now.since, 3),
                            FormatRfc3339(before.since, 3))});
}

void SimRules::CheckOurs(SimNode& node, const ApiGate::Write& write) {
  const StatusOr<Json> json = Json::Parse(write.body);
  if (!json.ok() || write.object.find("/pods/") == std::string::npos) return;
  const auto found = [&](const std::string& what) {
    noted_.push_back({"ours", fmt::format("the agent on {} writes {} of {}, which is not its own",
                                          node.name(), what, write.object)});
  };
  for (const auto& [key, value] : (*json)["metadata"]["annotations"].members()) {
    if (key != kube::kDevicesAnnotation) found(key);
  }
  if (node.role() == agent::Role::kManager) return;
  for (const auto& [key, value] : (*json)["status"].members()) {
    if (key != "conditions") found(key);
  }
  for (const Json& condition : (*json)["status"]["conditions"].items()) {
    const std::string& type = condition["type"].AsString();
    if (type != kube::kDevicesCondition) found(type);
  }
}

std::string Annotated(const kube::Pod& pod, const std::string& device) {
  const std::string text = "; " + pod.devices_annotation;
  const std::size_t at = text.find("; " + device + " ");
  if (at == std::string::npos) return "";
  const std::size_t state = at + device.size() + 3;
  return text.substr(state, text.find_first_of(" ;", state) - state);
}

// What the agent itself corrects a moment later is found only here.
void SimRules::CheckWritten(SimNode& node, const ApiGate::Write& write) {
  if (write.object.find("/pods/") == std::string::npos) return;
  const StatusOr<Json> object = Json::Parse(write.after);
  const StatusOr<kube::Pod> pod =
      object.ok() ? kube::DecodePod(*object) : StatusOr<kube::Pod>(object.status());
  // What these held may be taken from them already.
  if (!pod.ok() || pod->meta.deleted || agent::HasEnded(*pod)) return;
  const std::vector<DeviceId> held = world_.DevicesOf(*pod);
  for (const std::string& name : DeviceNames()) {
    const bool holds =
        std::ranges::any_of(held, [&](const DeviceId& id) { return id.device == name; });
    if (holds || !Names(pod->devices_annotation, name)) continue;
    noted_.push_back(
        {"holding", fmt::format("the agent on {} writes to {} that it has {}, which it "
                                "does not hold",
                                node.name(), pod->meta.key.name, name)});
  }
}

// Whose of two allocations of a group's claim a Pod is, nobody knows who was not there: their times
// have whole seconds, of clocks that may be apart (agent/holdings/claim_index.cc).
bool SimRules::IsUnclear(const std::string& pod_uid) const {
  constexpr Duration kClearAfter = 3s;
  return std::ranges::any_of(world_.ends(), [&](const SimWorld::End& end) {
    return end.pod.uid == pod_uid && end.is_of_group && end.lived < kClearAfter;
  });
}

void SimRules::CheckHolding(Breaches& breaches) {
  std::map<std::string, std::vector<DeviceId>> at_end;  // by uid of those that have ended
  for (const SimWorld::End& end : world_.ends()) at_end[end.pod.uid] = end.devices;
  for (const auto& [key, pod] : world_.pods()) {
    if (IsUnclear(pod.meta.uid)) continue;
    const auto ended = at_end.find(pod.meta.uid);
    const std::vector<DeviceId> held =
        ended != at_end.end() ? ended->second : world_.DevicesOf(pod);
    // A Pod whose claim is just being taken away may still show its old line.
    if (held.empty()) continue;
    for (const std::string& name : DeviceNames()) {
      const bool holds = std::any_of(held.begin(), held.end(),
                                     [&](const DeviceId& id) { return id.device == name; });
      if (!holds && Names(pod.devices_annotation, name)) {
        breaches.push_back(
            {"holding", fmt::format("{} shows {}, which it does not hold", key.name, name)});
      }
    }
    CheckListed(key.name, pod, held, breaches);
  }
}

void SimRules::CheckListed(const std::string& name, const kube::Pod& pod,
                           const std::vector<DeviceId>& held, Breaches& breaches) {
  for (const kube::ContainerStatus& status : pod.statuses) {
    for (const kube::ResourceStatus& resource : status.allocated) {
      for (const kube::ResourceHealth& listed : resource.resources) {
        const bool holds = std::ranges::any_of(
            held, [&](const DeviceId& id) { return IsIdOf(listed.resource_id, id); });
        if (holds) continue;
        breaches.push_back({"holding", fmt::format("{} lists {}, which it does not hold", name,
                                                   listed.resource_id)});
      }
    }
  }
}

void SimRules::CheckAllocation(Breaches& breaches) {
  // First come, first named: the second claim of a device is the breach.
  std::map<DeviceId, std::string> claimed;
  for (const auto& [key, claim] : world_.claims()) {
    for (const AllocatedDevice& allocated : claim.devices) {
      const auto [it, fresh] = claimed.emplace(allocated.device, key.name);
      if (fresh) continue;
      breaches.push_back(
          {"allocation", fmt::format("{} is in claims {} and {}", ToString(allocated.device),
                                     it->second, key.name)});
    }
  }
}

void SimRules::CheckPrepared(Breaches& breaches) {
  std::map<std::string, std::set<std::string>> given;
  for (const auto& node : world_.nodes()) given[node->name()] = node->CdiDevices();
  for (const auto& [key, pod] : world_.pods()) {
    SimNode* node = world_.node(pod.node);
    const bool runs = pod.phase == "Running" && !pod.meta.deleted;
    if (!runs || node == nullptr || node->role() != agent::Role::kManager) continue;
    for (const auto& [claim_key, claim] : world_.claims()) {
      if (!SimWorld::IsHeldBy(claim, pod)) continue;
      for (const AllocatedDevice& allocated : claim.devices) {
        const DeviceId& id = allocated.device;
        const bool in_files = given[node->name()].contains(claim.uid + "-" + id.device);
        if (in_files && node->driver(id.driver).set_up_for(id.device) == claim.uid) continue;
        breaches.push_back({"prepared", fmt::format("{} runs and holds {}, which is not prepared "
                                                    "for it",
                                                    key.name, ToString(id))});
      }
    }
  }
}

// Whoever is cut off writes to a Pod that has ended what is true of one that runs; once it sees the
// end, it takes it back.
bool SimRules::IsInventedForLong(const std::string& what, const SimNode& node) {
  const Time now = world_.loop().Now();
  const Time since = invented_since_.try_emplace(what, now).first->second;
  return now - std::max(since, node.api_disturbed_at()) >= kCalmAfter;
}

// Whether nothing kept the node's agent from seeing the Pod's end when it came. Asked soon after.
bool SimRules::SawAtOnce(const SimWorld::End& end) {
  SimNode& node = *world_.node(end.node);
  return node.undisturbed() && world_.loop().Now() - node.disturbed_at() >= kCalmAfter &&
         world_.loop().Now() - node.api_disturbed_at() >= kCalmAfter;
}

void SimRules::CheckEvidence(Breaches& breaches) {
  for (const SimWorld::End& end : world_.ends()) {
    const auto it = world_.pods().find(end.pod.key);
    if (it == world_.pods().end() || it->second.ref() != end.pod) continue;
    const NodeLoop& clock = world_.node(end.node)->loop();
    // Who has only a clock that jumps cannot know what came first.
    if (clock.wall_steps() != 0) continue;
    for (const DeviceId& id : end.devices) {
      const SimDriver& driver = world_.node(end.node)->driver(id.driver);
      const auto was = [&](HealthState state, Duration before) {
        return driver.WasEver(state, id.device, end.at - before, end.at + kEndsWithin);
      };
      const std::string said = Annotated(it->second, id.device);
      const std::string key = end.pod.uid + ToString(id);
      const bool invented = said == "Unhealthy" && !was(HealthState::kUnhealthy, kPublishedMost);
      if (invented && IsInventedForLong(key, *world_.node(end.node))) {
        breaches.push_back({"evidence", fmt::format("{} has ended and shows a fault of {} that "
                                                    "came later",
                                                    end.pod.key.name, ToString(id))});
      }
      const bool at_end =
          ("; " + end.annotation).find("; " + id.device + " Unhealthy") != std::string::npos;
      ShownFault& fault = shown_.try_emplace(key, ShownFault{at_end, SawAtOnce(end)}).first->second;
      // Whatever became of the device after the end; ends have whole seconds.
      const bool ended_with_it =
          !driver.WasEver(HealthState::kHealthy, id.device, end.at - kKnownFor,
                          end.at + (fault.saw_end ? kSeenAtOnce : 1s));
      if (!invented) invented_since_.erase(key);
      if (fault.shown && ended_with_it && said == "Healthy") {
        breaches.push_back({"evidence", fmt::format("{} ended with a fault of {}, showed it and "
                                                    "does no more",
                                                    end.pod.key.name, ToString(id))});
      }
      fault.shown = said == "Unhealthy";
    }
  }
}

}  // namespace galen::sim
