#include "tests/sim/sim_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "agent/holdings/claim_index.h"

namespace galen::sim {
namespace {

using namespace std::chrono_literals;

// A deadline, and what a slow answer or a storm of other news may take.
constexpr Duration kPublishedWithin = SimDriver::kTimeout + 6s;
// The same, and the longest backoff of whoever asks an API that was away.
constexpr Duration kPublishedWithinBackoff = SimDriver::kTimeout + 35s;

// The node's object has the times of signs so exactly.
constexpr Duration kTimesWithin = 1ms;

// See SimNode::StartStranger.
constexpr std::string_view kStranger = "odd.example.com";

// The status of its one device in the kubelet's list in the Pod's status; empty when there is none.
std::string Listed(const kube::Pod& pod) {
  for (const kube::ContainerStatus& status : pod.statuses) {
    for (const kube::ResourceStatus& resource : status.allocated) {
      for (const kube::ResourceHealth& health : resource.resources) return health.health;
    }
  }
  return "";
}

std::string Condition(const kube::Pod& pod) {
  const kube::PodCondition* condition = kube::FindDevicesCondition(pod);
  return condition == nullptr ? "" : condition->status;
}

}  // namespace

SimRules::SimRules(SimWorld& world) : world_(world) {
  for (const auto& node : world.nodes()) {
    node->gate().OnWrite(
        [this, n = node.get()](const ApiGate::Write& write) { OnWrite(*n, write); });
    node->gate().OnEvent(
        [this, n = node.get()](const std::string& object) { OnEvent(*n, object); });
    node->OnUnrecorded([this, n = node.get()](const std::string& text) {
      if (n->disk_doubtful()) return;
      noted_.push_back({"recorded", fmt::format("the agent on {} writes to a Pod '{}', which its "
                                                "journal does not have",
                                                n->name(), text)});
    });
  }
}

std::vector<Breach> SimRules::Check() {
  Breaches breaches = std::exchange(noted_, {});
  CheckHolding(breaches);
  CheckAllocation(breaches);
  CheckPrepared(breaches);
  CheckTwicePrepared(breaches);
  CheckEvidence(breaches);
  CheckRecords(breaches);
  NoteShown();
  CheckSilence(breaches);
  for (const auto& node : world_.nodes()) {
    CheckKept(*node, breaches);
    for (const std::string& disorder : node->TakeDisorders()) {
      breaches.push_back(
          {"order", fmt::format("the journal of {} has {}", node->name(), disorder)});
    }
    CheckSerials(*node, breaches);
  }
  return breaches;
}

void SimRules::OnWrite(SimNode& node, const ApiGate::Write& write) {
  ++writes_;
  const std::string when = std::to_string(world_.loop().Now().time_since_epoch().count());
  for (const std::string_view part :
       {std::string_view(when), std::string_view(write.object), std::string_view(write.body)}) {
    digest_ = Fnv1a("\n", Fnv1a(part, digest_));
  }
  const auto found = [&](std::string_view what) {
    noted_.push_back(
        {"cause", fmt::format("the agent on {} writes to {} {}", node.name(), write.object, what)});
  };
  CheckOurs(node, write);
  CheckWritten(node, write);
  if (rests_) return found("while nothing changes");
  if (write.changed || !node.undisturbed()) return;
  // An agent that was just disturbed may write again what it cannot know to have arrived.
  if (world_.loop().Now() - node.disturbed_at() >= kCalmAfter) found("what it says already");
}

void SimRules::CheckSilence(Breaches& breaches) {
  for (const auto& node : world_.nodes()) {
    const auto& way = node->api_weather;
    // Slow watches keep nobody from writing.
    GateWeather gate = node->gate().weather();
    gate.watch_delay_most = Duration::zero();
    gate.events_twice = false;
    const bool way_is_fair = !node->sleeps() && !way.down && !way.stalled &&
                             way.call_failure == 0 && gate == GateWeather();
    // Faults note when they begin; so it is known when they ended, too.
    if (!way_is_fair) node->DisturbApi();
    const bool could_tell = node->agent() != nullptr && way_is_fair;
    for (const auto& driver : node->drivers()) {
      // A way that only loses or delays gets something through now and then, so its silence has no
      // beginning.
      const bool unheard = !driver->running() || driver->hangs() || node->driver_weather.stalled ||
                           node->driver_weather.down;
      if (could_tell && unheard) {
        CheckSilent(*node, *driver, breaches);
      } else {
        // The patience begins anew: nobody can be blamed for the time before.
        agents_[node->name()].unheard_since.erase(driver->name());
      }
    }
  }
}

void SimRules::CheckSilent(SimNode& node, SimDriver& driver, Breaches& breaches) {
  const Time now = world_.loop().Now();
  Agent& agent = agents_[node.name()];
  // An agent that started knows nothing of the silence before.
  if (agent.starts != node.agent_starts()) agent.unheard_since.erase(driver.name());
  const Time since = agent.unheard_since.try_emplace(driver.name(), now).first->second;
  const bool fair = now - node.api_disturbed_at() >= kCalmAfter;
  // Still within its deadline, or on its way to be published.
  if (now - since < (fair ? kPublishedWithin : kPublishedWithinBackoff)) return;
  for (const auto& [key, pod] : world_.pods()) {
    const std::vector<DeviceId> held = world_.DevicesOf(pod);
    if (pod.node != node.name() || held.empty() || held[0].driver != driver.name()) continue;
    if (Annotated(pod, held[0].device) != "Healthy" && Listed(pod) != "Healthy") continue;
    breaches.push_back(
        {"deadline", fmt::format("{} says Healthy {} s after {} on {} last reported", key.name,
                                 (now - since) / 1s, driver.name(), node.name())});
  }
}

void SimRules::CheckKept(SimNode& node, Breaches& breaches) {
  Agent& agent = agents_[node.name()];
  const bool started = std::exchange(agent.starts, node.agent_starts()) != node.agent_starts();
  if (started && node.restored()) {
    CheckRecorded(node, *node.restored(), breaches);
    CheckKnown(node, *node.restored(), breaches);
  }
  NotePublished(node, agent);
}

void SimRules::CheckRecorded(SimNode& node, const SimNode::Journaled& journaled,
                             Breaches& breaches) {
  for (const auto& [id, device] : agents_[node.name()].published) {
    const auto it = journaled.changes.find(id);
    const bool kept = it != journaled.changes.end() &&
                      std::ranges::any_of(it->second, [&](const DeviceHealth& health) {
                        return health.state == device.state &&
                               health.since - *device.since < kTimesWithin &&
                               *device.since - health.since < kTimesWithin;
                      });
    if (kept) continue;
    breaches.push_back(
        {"kept",
         fmt::format("the agent on {} started and its journal lacks that {} was published as {}",
                     node.name(), ToString(id), ToString(device.state))});
  }
}

void SimRules::CheckKnown(SimNode& node, const SimNode::Journaled& journaled, Breaches& breaches) {
  for (const auto& [id, health] : journaled.latest) {
    const auto it = node.known().find(id);
    if (it != node.known().end() && it->second.state == health.state &&
        it->second.since == health.since) {
      continue;
    }
    const std::string_view said = it == node.known().end() ? "nothing" : ToString(it->second.state);
    breaches.push_back(
        {"kept",
         fmt::format("the agent on {} started and says {} of {}, which is {} in its journal",
                     node.name(), said, ToString(id), ToString(health.state))});
  }
}

void SimRules::NotePublished(SimNode& node, Agent& agent) {
  agent.published.clear();
  const kube::NodeDeviceHealth* health = world_.NodeHealth(node.name());
  if (health == nullptr) return;
  if (node.disk_doubtful()) agent.doubted.clear();
  for (const kube::NodeDevice& device : health->devices) {
    // A status without a time means that nothing was ever reported.
    if (!device.since) continue;
    const DeviceId& id = device.identity.id;
    if (id.driver != kStranger) CheckOrder(node, *health, device);
    if (node.disk_doubtful()) {
      agent.doubted[id] = device;
      continue;
    }
    // What was published while the disk failed may stand there long after: the API may be away.
    const auto it = agent.doubted.find(id);
    const bool doubted = it != agent.doubted.end() && it->second.state == device.state &&
                         it->second.since == device.since;
    if (!doubted) agent.published[id] = device;
  }
}

std::vector<Breach> SimRules::CheckConverged() {
  Breaches breaches;
  int alive = 0;
  for (const auto& [key, pod] : world_.pods()) {
    // Evidence has its own rule.
    if (agent::HasEnded(pod)) continue;
    alive += pod.group.empty() ? 1 : 0;
    CheckTruth(key.name, pod, breaches);
    CheckEventThere(pod, breaches);
    CheckCounted(pod, breaches);
  }
  if (alive < SimWorld::kPods) {
    breaches.push_back({"converged", fmt::format("there are {} Pods", alive)});
  }
  CheckRecordsThere(breaches);
  CheckRecordsOfGone(breaches);
  for (const auto& node : world_.nodes()) {
    CheckNodeHealth(*node, breaches);
    CheckTidy(*node, breaches);
    CheckIdentities(*node, breaches);
  }
  return breaches;
}

// There is a device for every Pod, so each must run, and say of its device what is true.
void SimRules::CheckTruth(const std::string& name, const kube::Pod& pod, Breaches& breaches) {
  const std::vector<DeviceId> held = world_.DevicesOf(pod);
  SimNode* node = world_.node(pod.node);
  if (pod.phase != "Running" || held.empty() || node == nullptr) {
    breaches.push_back({"converged", fmt::format("{} is {} on '{}' with {} devices", name,
                                                 pod.phase, pod.node, held.size())});
    return;
  }
  const HealthState state = node->driver(held[0].driver).truth(held[0].device);
  const std::string truth(ToString(state));
  const auto expect = [&](const std::string& where, const std::string& said,
                          const std::string& right) {
    if (said == right) return;
    breaches.push_back({"converged", fmt::format("{}'s {} says '{}' of {}, which is {}", name,
                                                 where, said, ToString(held[0]), truth)});
  };
  expect("annotation", Annotated(pod, held[0].device), truth);
  expect("condition", Condition(pod), state == HealthState::kHealthy ? "True" : "False");
  if (node->role() == agent::Role::kManager) expect("list", Listed(pod), truth);
}

void SimRules::CheckNodeHealth(SimNode& node, Breaches& breaches) {
  const auto found = [&](std::string text) {
    breaches.push_back({"converged", fmt::format("NodeDeviceHealth {} {}", node.name(), text)});
  };
  const kube::NodeDeviceHealth* health = world_.NodeHealth(node.name());
  if (health == nullptr) return found("is not there");
  if (health->agent_version != node.agent_version()) {
    found(fmt::format("is of agent {}, and {} runs", health->agent_version, node.agent_version()));
  }
  std::map<DeviceId, HealthState> said;
  for (const kube::NodeDevice& device : health->devices) {
    said[device.identity.id] = device.state;
    CheckUses(device, breaches);
  }
  std::size_t known = 0;
  for (const auto& driver : node.drivers()) {
    for (const auto& [device, state] : driver->truths()) {
      const DeviceId id{driver->name(), node.name(), device};
      const auto it = said.find(id);
      if (it != said.end() && ++known > 0 && it->second == state) continue;
      found(fmt::format("says '{}' of {}, which is {}",
                        it == said.end() ? "nothing" : ToString(it->second), ToString(id),
                        ToString(state)));
    }
  }
  // A driver that went away may come back, so its devices stay for an hour, and nothing is known.
  for (const auto& [id, state] : said) {
    if (id.driver != kStranger) continue;
    ++known;
    if (state != HealthState::kUnknown) found(fmt::format("knows {} of nobody", ToString(id)));
  }
  if (said.size() > known) found(fmt::format("names {} devices of {}", said.size(), known));
}

void SimRules::CheckUses(const kube::NodeDevice& device, Breaches& breaches) {
  for (const kube::DeviceUse& use : device.used_by) {
    const auto pod = world_.pods().find(use.pod);
    const std::vector<DeviceId> held =
        pod == world_.pods().end() ? std::vector<DeviceId>{} : world_.DevicesOf(pod->second);
    if (std::ranges::find(held, device.identity.id) != held.end()) continue;
    breaches.push_back(
        {"converged", fmt::format("{} is shown as used by {}, which does not hold it",
                                  ToString(device.identity.id), use.pod.name)});
  }
}

}  // namespace galen::sim
