#include "sdk/plugin/device_plugin.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "sdk/inventory.h"

namespace galen::sdk {
namespace {

std::vector<std::string> NamesOf(const Inventory& inventory) {
  std::vector<std::string> names;
  for (const Device& device : inventory) names.push_back(device.name);
  return names;
}

net::Dialer& DialerOf(const Edges& edges) {
  GALEN_CHECK(edges.dialer != nullptr);
  return *edges.dialer;
}

std::string FileNameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

DevicePlugin::DevicePlugin(Edges edges, Options options, Handlers handlers,
                           const HealthSnapshot* health)
    : edges_(edges),
      options_(std::move(options)),
      handlers_(std::move(handlers)),
      health_(health),
      edits_(edges.files, edges.log, options_.cdi_root, options_.driver, handlers_.edits),
      service_(edges.log, edges.metrics,
               [this](const std::vector<std::string>& ids) { return Allocate(ids); }),
      methods_(edges.loop),
      gate_(edges.log, ::geteuid(), methods_),
      socket_({edges.loop, edges.log, edges.random, edges.files, edges.sockets}, options_.socket,
              gate_),
      registration_(
          {edges.loop, edges.log, edges.metrics, edges.random, edges.sockets, DialerOf(edges)},
          {.kubelet_socket = options_.kubelet_socket,
           .endpoint = FileNameOf(options_.socket),
           .resource = options_.resource},
          service_) {
  service_.Serve(methods_);
}

void DevicePlugin::SetInventory(const Inventory& inventory) {
  const bool same = NamesOf(inventory) == NamesOf(inventory_);
  inventory_ = inventory;
  if (active_ && !same) {
    LookForHeld();
    WriteFile();
  }
  Offer();
}

void DevicePlugin::HealthChanged() { Offer(); }

Status DevicePlugin::Start() {
  RETURN_IF_ERROR(TryToListen());
  KeepUpLater();
  return OkStatus();
}

void DevicePlugin::KeepUpLater() {
  upkeep_timer_ =
      edges_.loop.After(active_ ? kUpkeepPeriod : kTakeOverPeriod, [this] { KeepUp(); });
}

Status DevicePlugin::TryToListen() {
  const Status status = socket_.Start();
  if (status.code() == Code::kAlreadyExists) {
    if (!std::exchange(waiting_logged_, true)) {
      edges_.log.Info("another process serves the device plugin; waiting until it ends",
                      {{"socket", options_.socket}});
    }
    return OkStatus();
  }
  RETURN_IF_ERROR(status);
  active_ = true;
  LookForHeld();
  // Before the list: a container that gets a device needs the file at once.
  WriteFile();
  Offer();
  registration_.Start();
  return OkStatus();
}

void DevicePlugin::KeepUp() {
  if (!active_) {
    const Status status = TryToListen();
    if (!status.ok() && std::exchange(trouble_, status.message()) != status.message()) {
      edges_.log.Warning("the device plugin's socket cannot be made; trying again",
                         {{"error", status.message()}});
    }
    return KeepUpLater();
  }
  KeepUpLater();
  if (file_due_) WriteFile();
  if (held_.empty()) return;
  LookForHeld();
  Offer();
}

void DevicePlugin::WriteFile() {
  const Status status = edits_.SetDevices(NamesOf(inventory_));
  if (!status.ok() && !file_due_) {
    edges_.log.Error("the CDI file of the device plugin is not complete; trying again",
                     {{"error", status.message()}});
  }
  file_due_ = !status.ok();
}

void DevicePlugin::LookForHeld() {
  std::set<std::string> held;
  for (const Device& device : inventory_) {
    const Status free = handlers_.check_free(device.name);
    if (free.ok()) continue;
    held.insert(device.name);
    if (held_.contains(device.name)) continue;
    edges_.log.Warning("a device is not offered by the device plugin while a claim has it",
                       {{"device", device.name}, {"why", free.message()}});
  }
  held_ = std::move(held);
}

void DevicePlugin::Offer() {
  // Also while another process serves: an Unknown device later keeps the health that it had last.
  devices_ = ListDevices(inventory_, health_, devices_, options_.degraded_as_unhealthy);
  if (!active_) return;
  PluginDevices offered = devices_;
  for (const std::string& device : held_) offered.erase(device);
  service_.SetDevices(std::move(offered));
}

StatusOr<std::vector<std::string>> DevicePlugin::Allocate(const std::vector<std::string>& ids) {
  if (ids.size() > kDevicesMax) {
    return InvalidArgument("{} devices for one container, at most {} are here", ids.size(),
                           kDevicesMax);
  }
  const PluginDevices& offered = service_.devices();
  for (const std::string& id : ids) {
    const auto device = offered.find(id);
    if (device == offered.end()) {
      return NotFound("{} has no device \"{}\" on this node", options_.resource, Shown(id, 80));
    }
    if (!device->second.healthy) {
      const auto finding = health_->find(id);
      return FailedPrecondition(
          "device {} of {} is Unhealthy: {}", id, options_.resource,
          finding == health_->end() || finding->second.health.cause.message.empty()
              ? "no reason is known"
              : finding->second.health.cause.message);
    }
    RETURN_IF_ERROR(handlers_.check_free(id));
  }
  return edits_.NamesFor(ids);
}

void DevicePlugin::Stop(Duration deadline) {
  upkeep_timer_.Cancel();
  registration_.Stop();
  service_.Stop();
  socket_.Drain(deadline, [] {});
}

std::string DevicePlugin::WhyNotReady() const {
  if (!active_) return "";
  if (!socket_.listening()) return "the device plugin's socket is not there";
  const std::string why = registration_.WhyNot();
  return why.empty() ? "" : "the kubelet does not read the device plugin's list: " + why;
}

}  // namespace galen::sdk
