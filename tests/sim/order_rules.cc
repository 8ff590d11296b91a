// What must hold of things that come one after the other: claims that are prepared, Events and
// records that are left, devices that go from slice to slice; rules of sim_rules.h.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>

#include "agent/holdings/claim_index.h"
#include "tests/sim/sim_rules.h"

namespace galen::sim {
namespace {

using namespace std::chrono_literals;

// So many of the Pods that ended last are looked at: older ones hold still.
constexpr std::size_t kEndsMost = 6;
// A record is on the disk by then, if that takes it at all.
constexpr Duration kOnDiskWithin = 10s;

std::string EventName(const std::string& uid, std::string_view reason, std::string_view device) {
  return fmt::format("{} {} {}", uid, reason, device);
}

// The reasons of Events, by the state in which a device's change ends.
constexpr std::pair<HealthState, std::string_view> kEventReasons[] = {
    {HealthState::kHealthy, "DeviceRecovered"},
    {HealthState::kUnknown, "DeviceUnknown"},
    {HealthState::kUnhealthy, "DeviceUnhealthy"}};

std::string Listing(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "nothing" : text;
}

}  // namespace

void SimRules::CheckTwicePrepared(Breaches& breaches) {
  for (const auto& node : world_.nodes()) {
    const std::set<std::string> given = node->CdiDevices();
    CheckCdiDevices(*node, given, breaches);
    for (const auto& driver : node->drivers()) {
      for (const auto& [device, state] : driver->truths()) {
        const auto count = std::ranges::count_if(
            given, [&](const std::string& name) { return name.ends_with("-" + device); });
        if (count < 2) continue;
        breaches.push_back({"prepared", fmt::format("{} of {} is in the CDI files of {} claims",
                                                    device, node->name(), count)});
      }
    }
  }
}

void SimRules::CheckCdiDevices(SimNode& node, const std::set<std::string>& given,
                               Breaches& breaches) {
  for (const std::string& name : given) {
    // "UID-gpu-0", where a UID has dashes, too.
    const std::size_t number = name.rfind('-');
    const std::size_t device = name.rfind('-', number - 1);
    if (world_.EverAllocated(name.substr(0, device), name.substr(device + 1))) continue;
    breaches.push_back({"prepared", fmt::format("CDI device {} of {} is of no allocation that ever "
                                                "was",
                                                name, node.name())});
  }
}

void SimRules::CheckTidy(SimNode& node, Breaches& breaches) {
  // The agent's own list of what it has had prepared is on that disk.
  if (node.role() != agent::Role::kManager || node.disk_was_doubtful()) return;
  std::set<std::string> given;
  std::map<std::string, std::set<std::string>> recorded, set_up;  // by driver
  for (const auto& [pod_key, pod] : world_.pods()) {
    if (pod.node != node.name() || agent::HasEnded(pod)) continue;
    for (const auto& [claim_key, claim] : world_.claims()) {
      if (!SimWorld::IsHeldBy(claim, pod)) continue;
      for (const AllocatedDevice& allocated : claim.devices) {
        given.insert(claim.uid + "-" + allocated.device.device);
        recorded[allocated.device.driver].insert(claim.uid);
        set_up[allocated.device.driver].insert(allocated.device.device);
      }
    }
  }
  const auto compare = [&](const std::string& what, const std::set<std::string>& is,
                           const std::set<std::string>& right) {
    if (is == right) return;
    breaches.push_back({"prepared", fmt::format("{} of {} are {}, and Pods hold {}", what,
                                                node.name(), Listing(is), Listing(right))});
  };
  compare("CDI devices", node.CdiDevices(), given);
  for (const auto& driver : node.drivers()) {
    compare("records of " + driver->name(), driver->Records(), recorded[driver->name()]);
    std::set<std::string> is_set_up;
    for (const auto& [device, state] : driver->truths()) {
      if (!driver->set_up_for(device).empty()) is_set_up.insert(device);
    }
    compare("devices set up by " + driver->name(), is_set_up, set_up[driver->name()]);
  }
}

void SimRules::NoteEvent(const Json& event, const std::string& device) {
  events_[EventName(event["involvedObject"]["uid"].AsString(), event["reason"].AsString(),
                    device)] = event["count"].AsInt();
}

void SimRules::CheckEventThere(const kube::Pod& pod, Breaches& breaches) {
  SimNode* node = world_.node(pod.node);
  if (node == nullptr || node->disk_was_doubtful() || !pod.meta.created) return;
  // An agent before this one may have been killed with the Event in its hands.
  if (*pod.meta.created < node->agent_started_at()) return;
  for (const DeviceId& id : world_.DevicesOf(pod)) {
    if (node->driver(id.driver).truth(id.device) != HealthState::kUnhealthy) continue;
    if (Annotated(pod, id.device) != "Unhealthy") continue;
    if (events_.contains(EventName(pod.meta.uid, "DeviceUnhealthy", id.device))) continue;
    breaches.push_back({"counted", fmt::format("{} shows a fault of {} and has no Event of it",
                                               pod.meta.key.name, ToString(id))});
  }
}

// What an agent shows of a Pod's device it follows from then on.
void SimRules::NoteShown() {
  for (const auto& [key, pod] : world_.pods()) {
    SimNode* node = world_.node(pod.node);
    if (node == nullptr || node->agent() == nullptr || agent::HasEnded(pod)) continue;
    for (const DeviceId& id : world_.DevicesOf(pod)) {
      if (Annotated(pod, id.device).empty()) continue;
      const auto [it, first] = first_shown_.try_emplace(pod.meta.uid + " " + id.device);
      if (!first) continue;
      it->second.starts = node->agent_starts();
      for (const auto& [state, reason] : kEventReasons) {
        it->second.changes[state] = node->TimesChanged(id, state);
      }
    }
  }
}

void SimRules::CheckCounted(const kube::Pod& pod, Breaches& breaches) {
  SimNode* node = world_.node(pod.node);
  // An agent that was killed may have had some of it in its hands.
  if (node == nullptr || node->disk_was_doubtful()) return;
  for (const DeviceId& id : world_.DevicesOf(pod)) {
    const auto shown = first_shown_.find(pod.meta.uid + " " + id.device);
    if (shown == first_shown_.end() || shown->second.starts != node->agent_starts()) continue;
    for (const auto& [state, reason] : kEventReasons) {
      const int happened = node->TimesChanged(id, state) - shown->second.changes.at(state);
      const auto made = events_.find(EventName(pod.meta.uid, reason, id.device));
      const std::int64_t counted = made == events_.end() ? 0 : made->second;
      if (counted >= happened) continue;
      breaches.push_back(
          {"counted", fmt::format("the Event {} of {} on {} counts {}, and it "
                                  "happened {} times",
                                  reason, ToString(id), pod.meta.key.name, counted, happened)});
    }
  }
}

void SimRules::CheckSerials(SimNode& node, Breaches& breaches) {
  const kube::NodeDeviceHealth* health = world_.NodeHealth(node.name());
  if (health == nullptr) return;
  for (const kube::NodeDevice& device : health->devices) {
    const DeviceIdentity& identity = device.identity;
    if (identity.serial.empty() || identity.serial == SerialOf(identity.id.device)) continue;
    breaches.push_back({"identity", fmt::format("NodeDeviceHealth {} shows {} with {}", node.name(),
                                                ToString(identity.id), identity.serial)});
  }
}

void SimRules::CheckIdentities(SimNode& node, Breaches& breaches) {
  const kube::NodeDeviceHealth* health = world_.NodeHealth(node.name());
  if (health == nullptr) return;
  for (const kube::NodeDevice& device : health->devices) {
    const auto right = world_.IdentityOf(device.identity.id);
    if (!right || device.identity == *right) continue;
    breaches.push_back(
        {"identity", fmt::format("NodeDeviceHealth {} shows {} as '{}' '{}', which is '{}' '{}'",
                                 node.name(), ToString(right->id), device.identity.serial,
                                 device.identity.model, right->serial, right->model)});
  }
}

void SimRules::CheckRecords(Breaches& breaches) {
  const auto& ends = world_.ends();
  const std::size_t first = ends.size() - std::min(ends.size(), kEndsMost);
  for (std::size_t i = first; i < ends.size(); ++i) {
    SimNode& node = *world_.node(ends[i].node);
    if (node.agent() == nullptr || node.disk_was_doubtful()) continue;
    std::map<std::string, bool> present;
    const auto records = node.PostMortems(ends[i].pod.key);
    CheckRecordsAreOf(ends[i].pod.key, records, breaches);
    for (const RecordedDevice& r : records) {
      if (r.uid == ends[i].pod.uid)
        present[fmt::format("{} {}", r.number, ToString(r.device))] |= r.fault;
    }
    const std::string prefix = ends[i].pod.uid + " ";
    for (const auto& [what, fault] : present) {
      if (!fault) continue;
      recorded_.try_emplace(prefix + what, Recorded{node.agent_starts(), world_.loop().Now()});
    }
    for (auto it = recorded_.lower_bound(prefix);
         it != recorded_.end() && it->first.starts_with(prefix); ++it) {
      const auto now = present.find(it->first.substr(prefix.size()));
      if (now != present.end() && now->second) continue;
      // An agent that was killed at once may not have written it.
      const bool written = world_.loop().Now() - it->second.since >= kOnDiskWithin;
      if (it->second.starts != node.agent_starts() && !written) continue;
      breaches.push_back({"record", fmt::format("the record {} of {} had a fault and has none now",
                                                it->first, ends[i].pod.key.name)});
    }
  }
}

void SimRules::CheckRecordsAreOf(const ObjectKey& pod, const std::vector<RecordedDevice>& records,
                                 Breaches& breaches) {
  for (const RecordedDevice& r : records) {
    if (world_.EverHeld(r.uid, r.device) || IsUnclear(r.uid)) continue;
    breaches.push_back({"record", fmt::format("a record of {} has {}, which it never held",
                                              pod.name, ToString(r.device))});
  }
}

void SimRules::CheckRecordsOfGone(Breaches& breaches) {
  const auto& gone = world_.gone();
  const std::size_t first = gone.size() - std::min(gone.size(), kEndsMost);
  for (std::size_t i = first; i < gone.size(); ++i) {
    const kube::Pod& pod = gone[i].pod;
    SimNode* node = world_.node(pod.node);
    if (node == nullptr || node->agent() == nullptr || node->disk_was_doubtful()) continue;
    // By a clock that jumped, it may have ended long ago.
    if (node->loop().wall_steps() != 0) continue;
    const auto records = node->PostMortems(pod.meta.key);
    CheckRecordsAreOf(pod.meta.key, records, breaches);
    bool found = false, fault = false;
    for (const RecordedDevice& r : records) {
      if (r.uid != pod.meta.uid) continue;
      found = true;
      fault |= r.fault;
    }
    const bool showed =
        agent::HasEnded(pod) && pod.devices_annotation.find(" Unhealthy") != std::string::npos;
    if (found && (fault || !showed)) continue;
    breaches.push_back(
        {"record", fmt::format("{} is gone since {} s and has no record{}", pod.meta.key.name,
                               (world_.loop().Now() - gone[i].at) / 1s,
                               found ? " of the fault that it showed" : "")});
  }
}

void SimRules::CheckRecordsThere(Breaches& breaches) {
  const auto& ends = world_.ends();
  const std::size_t first = ends.size() - std::min(ends.size(), kEndsMost);
  for (std::size_t i = first; i < ends.size(); ++i) {
    const SimWorld::End& end = ends[i];
    SimNode& node = *world_.node(end.node);
    // Who has only a clock that jumps cannot know what came first.
    if (node.agent() == nullptr || node.disk_was_doubtful() || node.loop().wall_steps() != 0)
      continue;
    for (const DeviceId& id : end.devices) {
      const std::string mark = "; " + id.device + " Unhealthy";
      const bool shown = ("; " + end.annotation).find(mark) != std::string::npos;
      const bool lasted = !node.driver(id.driver).WasEver(HealthState::kHealthy, id.device,
                                                          end.at - kKnownFor, end.at);
      const auto pod = world_.pods().find(end.pod.key);
      const bool shows = pod != world_.pods().end() && pod->second.ref() == end.pod &&
                         Annotated(pod->second, id.device) == "Unhealthy";
      if (!(shown && lasted) && !shows) continue;
      const auto records = node.PostMortems(end.pod.key);
      if (std::ranges::any_of(records, [&](const RecordedDevice& r) {
            return r.uid == end.pod.uid && r.device == id && r.fault;
          })) {
        continue;
      }
      breaches.push_back({"record", fmt::format("{} ended with a fault of {}, and no record has it",
                                                end.pod.key.name, ToString(id))});
    }
  }
}

}  // namespace galen::sim
