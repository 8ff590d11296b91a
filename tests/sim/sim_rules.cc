#include "tests/sim/sim_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

namespace galen::sim {
namespace {

using namespace std::chrono_literals;

// A deadline, a few retries of a lossy way to the API, and the turn of the loop.
constexpr Duration kToldWithin = SimDriver::kTimeout + 20s;

// What the Pod's status says of its one device; empty when it says nothing.
std::string SaidBy(const kube::Pod& pod) {
  for (const kube::ContainerStatus& status : pod.statuses) {
    for (const kube::ResourceStatus& resource : status.allocated) {
      for (const kube::ResourceHealth& health : resource.resources) return health.health;
    }
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
        if (SaidBy(pod) == "Healthy") {
          breaches.push_back(fmt::format("{} says Healthy {} s after {} was last heard", key.name,
                                         (now - since) / 1s, name));
        }
      }
    }
  }
}

std::vector<std::string> SimRules::CheckConverged() {
  std::vector<std::string> breaches = Check();
  for (const auto& [key, pod] : world_.pods()) {
    // A Pod that waits for a device, or ends, has nothing to say.
    if (pod.phase != "Running") continue;
    const std::vector<DeviceId> held = world_.DevicesOf(pod);
    SimNode* node = world_.node(pod.node);
    if (held.empty() || node == nullptr) {
      breaches.push_back(fmt::format("{} runs without a device", key.name));
      continue;
    }
    const std::string truth(ToString(node->driver(held[0].driver).truth(held[0].device)));
    if (SaidBy(pod) != truth) {
      breaches.push_back(fmt::format("{} says '{}' of {}, which is {}", key.name, SaidBy(pod),
                                     ToString(held[0]), truth));
    }
    if (!Names(pod.devices_annotation, held[0].device)) {
      breaches.push_back(fmt::format("{}'s annotation '{}' does not name {}", key.name,
                                     pod.devices_annotation, held[0].device));
    }
  }
  return breaches;
}

}  // namespace galen::sim
