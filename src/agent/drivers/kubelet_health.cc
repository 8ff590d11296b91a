#include "agent/drivers/kubelet_health.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "base/text.h"

namespace galen::agent {
namespace {

// The last part of an id as the kubelet writes it: of "vendor.com/gpu=gpu-0" and of
// "driver/pool/device".
std::string_view NameIn(std::string_view resource_id) {
  const std::size_t equals = resource_id.rfind('=');
  if (equals != std::string_view::npos) return resource_id.substr(equals + 1);
  return resource_id.substr(resource_id.rfind('/') + 1);
}

// "<claim uid>-dev-0" ends in the name dev-0, and not in ev-0.
bool EndsInName(std::string_view text, std::string_view name) {
  if (!text.ends_with(name)) return false;
  if (text.size() == name.size()) return true;
  return std::isalnum(static_cast<unsigned char>(text[text.size() - name.size() - 1])) == 0;
}

DeviceHealth HealthIn(const DeviceId& id, const kube::ResourceHealth& said) {
  DeviceHealth health{.id = id};
  if (said.health == "Healthy") health.state = HealthState::kHealthy;
  if (said.health == "Unhealthy") health.state = HealthState::kUnhealthy;
  health.cause.message = CutText(said.message, kReportedMessageBytesMax);
  if (health.state != HealthState::kHealthy) health.cause.code = cause_code::kReported;
  if (health.state == HealthState::kUnknown && said.message.empty()) {
    health.cause.message = "the kubelet reports this device as Unknown";
  }
  return health;
}

DeviceHealth Ambiguous(const DeviceId& id, const std::string& entry) {
  return {.id = id,
          .cause = {.code = std::string(cause_code::kNotReported),
                    .message = fmt::format(
                        "the kubelet's entry {} does not say which device it means", entry)}};
}

// One entry of one container: the devices it is about, and their health.
class Entry {
 public:
  Entry(const kube::ResourceStatus& status, std::vector<DeviceId> devices)
      : status_(status), devices_(std::move(devices)) {}

  DeviceHealth Of(const HeldDevice& held) const {
    const DeviceId& id = held.device;
    for (const kube::ResourceHealth& said : status_.resources) {
      if (said.resource_id == held.resource_id) return HealthIn(id, said);
    }
    if (const kube::ResourceHealth* said = Named(id)) return HealthIn(id, *said);
    const kube::ResourceHealth& first = status_.resources.front();
    const bool alone = devices_.size() == 1 && status_.resources.size() == 1;
    const bool same = std::ranges::all_of(status_.resources, [&](const auto& said) {
      return said.health == first.health && said.message == first.message;
    });
    return alone || same ? HealthIn(id, first) : Ambiguous(id, status_.name);
  }

 private:
  // The only resource whose id ends in this device's name and in no longer device name; nullptr
  // when there is none, or two.
  const kube::ResourceHealth* Named(const DeviceId& id) const {
    const kube::ResourceHealth* found = nullptr;
    for (const kube::ResourceHealth& said : status_.resources) {
      const std::string_view name = NameIn(said.resource_id);
      if (!EndsInName(name, id.device)) continue;
      const bool is_anothers = std::ranges::any_of(devices_, [&](const DeviceId& other) {
        return other != id && other.device.size() >= id.device.size() &&
               EndsInName(name, other.device);
      });
      if (is_anothers) continue;
      if (found != nullptr) return nullptr;
      found = &said;
    }
    return found;
  }

  const kube::ResourceStatus& status_;
  const std::vector<DeviceId> devices_;
};

// Which of two healths of a device counts: an unambiguous one, then the worse.
bool Outweighs(const DeviceHealth& a, const DeviceHealth& b) {
  const bool a_is_vague = a.cause.code == cause_code::kNotReported;
  const bool b_is_vague = b.cause.code == cause_code::kNotReported;
  if (a_is_vague != b_is_vague) return b_is_vague;
  return Worse(a.state, b.state) == a.state && a.state != b.state;
}

void Keep(std::map<DeviceId, DeviceHealth>& healths, DeviceHealth health) {
  const auto [it, first] = healths.try_emplace(health.id, health);
  if (!first && Outweighs(health, it->second)) it->second = std::move(health);
}

bool IsUse(const HeldDevice& held, const std::string& container, const std::string& entry) {
  return std::ranges::any_of(held.uses, [&](const ContainerUse& use) {
    return use.container == container && use.entry == entry;
  });
}

}  // namespace

std::map<DeviceId, DeviceHealth> KubeletHealthOf(const kube::Pod& pod,
                                                 const std::vector<HeldDevice>& held,
                                                 const std::set<std::string>& drivers) {
  std::map<DeviceId, DeviceHealth> healths;
  const auto read = [&](const kube::ContainerStatus& container,
                        const kube::ResourceStatus& status) {
    std::vector<const HeldDevice*> meant;
    std::set<DeviceId> devices;
    for (const HeldDevice& device : held) {
      if (!IsUse(device, container.name, status.name)) continue;
      meant.push_back(&device);
      devices.insert(device.device);
    }
    if (status.resources.empty()) return;
    const Entry entry(status, {devices.begin(), devices.end()});
    for (const HeldDevice* device : meant) {
      if (drivers.contains(device->device.driver)) Keep(healths, entry.Of(*device));
    }
  };
  for (const auto* list : {&pod.statuses, &pod.init_statuses}) {
    for (const kube::ContainerStatus& container : *list) {
      for (const kube::ResourceStatus& status : container.allocated) read(container, status);
    }
  }
  return healths;
}

void KubeletHealth::Look() {
  // By default every driver is asked, and nothing is to be read here.
  if (drivers_.empty()) return;
  const Healths healths = HealthsNow();
  for (const std::string& driver : drivers_) {
    // The kubelet's health counts again once the driver is back.
    if (!is_connected_(driver)) {
      std::erase_if(reported_, [&](const auto& item) { return item.first.driver == driver; });
      continue;
    }
    Report(driver, healths);
    ForgetRest(driver, healths);
  }
}

KubeletHealth::Healths KubeletHealth::HealthsNow() const {
  Healths healths;
  edges_.view.ForEachPod([&](const kube::Pod& pod) {
    // The field of a Pod that has ended is of the time when it ended.
    if (HasEnded(pod)) return;
    for (auto& [id, health] :
         KubeletHealthOf(pod, edges_.index.DevicesOf(pod.meta.key), drivers_)) {
      Keep(healths, health);
    }
  });
  return healths;
}

void KubeletHealth::Report(const std::string& driver, const Healths& healths) {
  std::vector<DeviceHealth> changed;
  for (const auto& [id, health] : healths) {
    if (id.driver != driver) continue;
    const auto [it, first] = reported_.try_emplace(id, health);
    if (!first && std::exchange(it->second, health) == health) continue;
    changed.push_back(health);
  }
  if (changed.empty()) return;
  // Without a deadline: the kubelet keeps the deadlines.
  edges_.sink.OnReport(
      {.report = {.driver = driver, .devices = std::move(changed)}, .lasting = true},
      edges_.loop.Now());
}

void KubeletHealth::ForgetRest(const std::string& driver, const Healths& healths) {
  std::vector<DeviceId> rest;
  for (const auto& [id, entry] : edges_.keeper.cache().entries()) {
    if (id.driver == driver && !healths.contains(id)) rest.push_back(id);
  }
  for (const DeviceId& id : rest) {
    reported_.erase(id);
    edges_.sink.Forget(
        id, "no Pod's allocatedResourcesStatus lists it, and its driver is not asked for health");
  }
}

}  // namespace galen::agent
