// A whole driver on one loop, made from the author's options and handlers. galen::Driver runs one
// on real sockets and files; tests and the simulated cluster run many on a FakeLoop. Every call
// comes from the loop's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "galen/driver.h"
#include "net/endpoint/socket_keeper.h"
#include "rpc/service.h"
#include "sdk/app/dra_service.h"
#include "sdk/app/registration_service.h"
#include "sdk/app/running_driver.h"
#include "sdk/claims/claim_preparer.h"
#include "sdk/edges.h"
#include "sdk/health/health_publisher.h"
#include "sdk/plugin/device_plugin.h"
#include "sdk/slices/slice_publisher.h"
#include "sdk/socket_paths.h"

namespace galen::sdk {

// Serves two sockets (registration and data), publishes ResourceSlices, prepares claims, reports
// health. Start once, Stop once; destroying it without Stop closes everything at once, as a crash
// would.
class DriverApp final : public RunningDriver {
 public:
  // The author's handlers; each may be empty. Called on the loop.
  struct Handlers {
    std::function<Prepared(const DeviceClaim&)> prepare;
    std::function<std::optional<Failure>(const DeviceClaim&)> unprepare;
    Duration health_period = std::chrono::seconds(5);
    std::function<void(HealthWriter&)> health;
    PluginDeviceEdits::Ask device_edits;
  };

  // Starts and writes nothing. InvalidArgument names every fault of the options, or a health period
  // that is not above zero. REQUIRES: edges with a dialer, for a device plugin.
  static StatusOr<std::unique_ptr<DriverApp>> Create(Edges edges, const Driver::Options& options,
                                                     Handlers handlers);

  // Replaces the inventory for slices, prepares and health; before Start or after. Devices of the
  // device plugin are in no slice, and no claim on them is prepared, but health is reported for
  // them too. InvalidArgument names every fault and changes nothing. Until the first call no slice
  // is written.
  Status Publish(const Inventory& inventory) override;
  // Listens, registers, publishes. AlreadyExists: this driver runs here already. Other errors are
  // those of making directories and sockets, and of reading the boot id; after an error the app
  // cannot be used. An API server or a kubelet that is away is no error.
  Status Start() override;
  // As Driver's; nothing without a health handler.
  void HealthChanged() override;
  // In order: no more registration, prepares under way end (up to Options::drain), streams end, the
  // socket closes; then `done`, from the loop, which may destroy the app. A second call replaces
  // `done`. Slices and prepared claims stay.
  void Stop(std::function<void()> done) override;

  // "" when the sockets exist, the kubelet (or an agent) has registered this driver, slices are
  // published and the kubelet reads the device plugin's list.
  std::string WhyNotReady() const override;
  std::string socket() const override { return paths_.data; }
  const SocketPaths& paths() const { return paths_; }
  // The data socket's methods, for services of the driver's own. Before Start.
  rpc::Dispatcher& methods() override { return data_methods_; }
  // Prepares and unprepares that are not answered yet.
  std::size_t claims_under_way() const { return preparer_.under_way(); }
  // nullptr without a health handler.
  const HealthPublisher* health() const { return health_.get(); }

 private:
  // The inventory split into devices for claims and devices for the device plugin.
  struct Ways {
    Inventory claims, plugin;
  };

  DriverApp(Edges edges, const Driver::Options& options, SocketPaths paths, Handlers handlers);

  std::unique_ptr<DevicePlugin> MakePlugin(const Driver::Options& options,
                                           PluginDeviceEdits::Ask edits);
  Ways WaysOf(const Inventory& inventory) const;
  void OnRegistrationOutcome(const std::string& refusal);
  void FinishStreams();
  std::function<bool()> AnotherRuns(const std::string& instance);

  const Edges edges_;
  const SocketPaths paths_;
  const std::string instance_;
  const Duration drain_;
  const std::vector<std::string> plugin_patterns_;
  DraCalls calls_;
  ClaimPreparer preparer_;
  std::unique_ptr<HealthPublisher> health_;
  std::unique_ptr<DevicePlugin> plugin_;  // nullptr without one
  SlicePublisher slices_;
  RegistrationService registration_;
  rpc::Dispatcher data_methods_;
  rpc::Dispatcher registration_methods_;
  net::SocketKeeper data_socket_;
  net::SocketKeeper registration_socket_;
  Timer unregistered_timer_;
  Timer drain_timer_;
  Timer end_timer_;
  bool draining_streams_ = false;
  std::function<void()> on_stopped_;
};

}  // namespace galen::sdk
