#include "tests/sim/sim_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

namespace galen::sim {
namespace {

using namespace std::chrono_literals;

// A deadline, a few retries of a lossy way to the API, and the turn of the loop.
constexpr Duration kToldWithin = SimDriver::kTimeout + 20s;

// What the kubelet's list in the Pod's status says of its one device; empty when it says nothing.
std::string Listed(const kube::Pod& pod) {
  for (const kube::ContainerStatus& status : pod.statuses) {
    for (const kube::ResourceStatus& resource : status.allocated) {
      for (const kube::ResourceHealth& health : resource.resources) return health.health;
    }
  }
  return "";
}

// What the annotation says of the device: "Healthy" of "gpu-0 Healthy; gpu-1 Unhealthy since …".
std::string Annotated(const kube::Pod& pod, const std::string& device) {
  const std::string text = "; " + pod.devices_annotation;
  const std::size_t at = text.find("; " + device + " ");
  if (at == std::string::npos) return "";
  const std::size_t word = at + device.size() + 3;
  return text.substr(word, text.find_first_of(" ;", word) - word);
}

std::string Condition(const kube::Pod& pod) {
  for (const kube::PodCondition& condition : pod.conditions) {
    if (condition.type == kube::kDevicesCondition) return condition.status;
  }
  return "";
}

// "gpu-1" is not named by "gpu-10": the name ends at a space.
bool Names(const std::string& annotation, const std::string& device) {
  const std::size_t at = annotation.find(device + " ");
  return at != std::string::npos && (at == 0 || annotation[at - 1] == ' ');
}

}  // namespace

std::vector<std::string> SimRules::Check() {
  std::vector<std::string> breaches;
  CheckHolding(breaches);
  CheckAllocation(breaches);
  CheckSilence(breaches);
  return breaches;
}

void SimRules::CheckHolding(std::vector<std::string>& breaches) {
  static const std::vector<std::string> kNames = {"gpu-0", "gpu-1", "gpu-2",
                                                  "gpu-3", "nic-0", "nic-1"};
  for (const auto& [key, pod] : world_.pods()) {
    const std::vector<DeviceId> held = world_.DevicesOf(pod);
    for (const std::string& name : kNames) {
      const bool holds = std::any_of(held.begin(), held.end(),
                                     [&](const DeviceId& id) { return id.device == name; });
      // A Pod whose claim is just being taken away may still show its old line.
      if (!holds && !held.empty() && Names(pod.devices_annotation, name)) {
        breaches.push_back(fmt::format("{} is told of {}, which it does not hold", key.name, name));
      }
    }
  }
}

void SimRules::CheckAllocation(std::vector<std::string>& breaches) {
  // First come, first named: the second claim of a device is the breach.
  std::map<DeviceId, std::string> claimed;
  for (const auto& [key, claim] : world_.claims()) {
    for (const AllocatedDevice& allocated : claim.devices) {
      const auto [it, fresh] = claimed.emplace(allocated.device, key.name);
      if (!fresh) {
        breaches.push_back(fmt::format("{} is in claims {} and {}", ToString(allocated.device),
                                       it->second, key.name));
      }
    }
  }
}

void SimRules::CheckSilence(std::vector<std::string>& breaches) {
  const Time now = world_.loop().Now();
  for (const auto& node : world_.nodes()) {
    const auto& way = node->api_weather;
    const bool could_tell =
        node->agent() != nullptr && !way.down && !way.stalled && way.call_failure == 0;
    for (const auto& driver : node->drivers()) {
      const std::string name = node->name() + "/" + driver->name();
      // A way that only loses or delays is heard now and then, so its silence has no beginning.
      const bool unheard =
          !driver->running() || node->driver_weather.stalled || node->driver_weather.down;
      // The patience begins anew: nobody can be blamed for the time before.
      if (!could_tell || !unheard) {
        unheard_since_.erase(name);
        continue;
      }
      const Time since = unheard_since_.try_emplace(name, now).first->second;
      // Still within its deadline, or on its way to be told.
      if (now - since < kToldWithin) continue;
      for (const auto& [key, pod] : world_.pods()) {
        const std::vector<DeviceId> held = world_.DevicesOf(pod);
        if (pod.node != node->name() || held.empty() || held[0].driver != driver->name()) continue;
        if (Annotated(pod, held[0].device) == "Healthy") {
          breaches.push_back(fmt::format("{} says Healthy {} s after {} was last heard", key.name,
                                         (now - since) / 1s, name));
        }
      }
    }
  }
}

std::vector<std::string> SimRules::CheckConverged() {
  std::vector<std::string> breaches = Check();
  if (world_.pods().size() < SimWorld::kPods) {
    breaches.push_back(fmt::format("there are {} Pods", world_.pods().size()));
  }
  for (const auto& [key, pod] : world_.pods()) CheckTruth(key.name, pod, breaches);
  for (const auto& node : world_.nodes()) CheckNodeHealth(*node, breaches);
  return breaches;
}

// There is a device for every Pod, so each must run, and say of its device what is true.
void SimRules::CheckTruth(const std::string& name, const kube::Pod& pod,
                          std::vector<std::string>& breaches) {
  const std::vector<DeviceId> held = world_.DevicesOf(pod);
  SimNode* node = world_.node(pod.node);
  if (pod.phase != "Running" || held.empty() || node == nullptr) {
    breaches.push_back(
        fmt::format("{} is {} on '{}' with {} devices", name, pod.phase, pod.node, held.size()));
    return;
  }
  const HealthState state = node->driver(held[0].driver).truth(held[0].device);
  const std::string truth(ToString(state));
  const auto expect = [&](const std::string& where, const std::string& said,
                          const std::string& right) {
    if (said == right) return;
    breaches.push_back(fmt::format("{}'s {} says '{}' of {}, which is {}", name, where, said,
                                   ToString(held[0]), truth));
  };
  expect("annotation", Annotated(pod, held[0].device), truth);
  expect("condition", Condition(pod), state == HealthState::kHealthy ? "True" : "False");
  if (node->role() == agent::Role::kManager) expect("list", Listed(pod), truth);
}

void SimRules::CheckNodeHealth(SimNode& node, std::vector<std::string>& breaches) {
  const kube::NodeDeviceHealth* health = world_.NodeHealth(node.name());
  if (health == nullptr) {
    breaches.push_back(fmt::format("{} has no NodeDeviceHealth", node.name()));
    return;
  }
  std::map<DeviceId, HealthState> said;
  for (const kube::NodeDevice& device : health->devices) {
    said[device.identity.id] = device.state;
  }
  std::map<DeviceId, HealthState> truth;
  for (const auto& driver : node.drivers()) {
    for (const auto& [device, state] : driver->truths()) {
      truth[{driver->name(), node.name(), device}] = state;
    }
  }
  for (const auto& [id, state] : truth) {
    const auto it = said.find(id);
    if (it != said.end() && it->second == state) continue;
    breaches.push_back(fmt::format("NodeDeviceHealth {} says '{}' of {}, which is {}", node.name(),
                                   it == said.end() ? "nothing" : ToString(it->second),
                                   ToString(id), ToString(state)));
  }
  if (said.size() > truth.size()) {
    breaches.push_back(fmt::format("NodeDeviceHealth {} names {} devices of {}", node.name(),
                                   said.size(), truth.size()));
  }
}

}  // namespace galen::sim
