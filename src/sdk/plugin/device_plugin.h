// A driver's devices as an extended resource ("vendor.com/gpu"), beside or instead of DRA: a device
// plugin (v1beta1) fed by the same inventory and the same health. Belongs to its loop.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "net/endpoint/socket_keeper.h"
#include "rpc/peer_gate.h"
#include "rpc/service.h"
#include "sdk/edges.h"
#include "sdk/plugin/device_edits.h"
#include "sdk/plugin/kubelet_registration.h"
#include "sdk/plugin/plugin_devices.h"
#include "sdk/plugin/plugin_service.h"

namespace galen::sdk {

// One socket in the kubelet's directory for device plugins, which one process of the driver serves
// at a time: another instance waits until it is free. Only the kubelet's user, root, and our own
// may call. Start once, Stop once.
class DevicePlugin {
 public:
  // What it offers, and under which paths.
  struct Options {
    std::string driver;
    std::string resource;  // REQUIRES: IsExtendedResource
    std::string socket;    // MakePluginSocketPath
    std::string kubelet_socket;
    std::string cdi_root;
    bool degraded_as_unhealthy = false;
  };
  // Calls to the driver's other parts.
  struct Handlers {
    PluginDeviceEdits::Ask edits;
    // OK when no claim has the device.
    std::function<Status(const std::string& device)> check_free;
  };
  // How often to check whether claims have released devices, or a failed disk works again.
  static constexpr Duration kUpkeepPeriod = std::chrono::seconds(5);
  // How often to check whether another process has released the socket: the resource may be gone
  // that long in a rolling update.
  static constexpr Duration kTakeOverPeriod = std::chrono::seconds(1);

  // `health` is the driver's present health, nullptr without health; borrowed. REQUIRES: edges with
  // a dialer.
  DevicePlugin(Edges edges, Options options, Handlers handlers, const HealthSnapshot* health);

  // Sets the devices to offer.
  void SetInventory(const Inventory& inventory);
  // The devices' health may have changed.
  void HealthChanged();
  // Listens and registers, or waits until another process releases the socket. Errors are those of
  // making directory and socket.
  Status Start();
  // Ends the list, so that the kubelet offers no device any more; at most `deadline` later the
  // socket closes. The CDI file stays.
  void Stop(Duration deadline);

  // "" when the kubelet reads the list, or another process serves it.
  std::string WhyNotReady() const;

 private:
  Status TryToListen();
  void KeepUpLater();
  void KeepUp();
  void WriteFile();
  // Checks which devices claims hold, if that may have changed.
  void LookForHeld();
  void Offer();
  StatusOr<std::vector<std::string>> Allocate(const std::vector<std::string>& ids);

  const Edges edges_;
  const Options options_;
  const Handlers handlers_;
  const HealthSnapshot* const health_;
  Inventory inventory_;
  PluginDevices devices_;       // all of the inventory, including those that claims hold
  std::set<std::string> held_;  // devices that claims hold
  PluginDeviceEdits edits_;
  PluginService service_;
  rpc::Dispatcher methods_;
  rpc::PeerGate gate_;
  net::SocketKeeper socket_;
  KubeletRegistration registration_;
  bool active_ = false;  // this process owns the socket
  bool file_due_ = false;
  bool waiting_logged_ = false;
  std::string trouble_;  // the last problem with the socket that was logged
  Timer upkeep_timer_;
};

}  // namespace galen::sdk
