#include "galen/driver.h"

#include <atomic>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include "base/environment.h"
#include "base/files/posix_file_system.h"
#include "base/flags.h"
#include "base/loop/epoll_loop.h"
#include "base/loop/signal.h"
#include "kube/transport.h"
#include "net/admin_page.h"
#include "net/endpoint/server.h"
#include "sdk/app/driver_app.h"
#include "sdk/app/driver_inside.h"
#include "sdk/app/driver_options.h"
#include "sdk/app/health_source.h"
#include "sdk/inventory.h"

namespace galen {
namespace {

// The author's code may raise a value that is no exception and has no text.
constexpr char kThrewNoException[] = "the driver's code threw something that is no std::exception";

LogLevel LevelOf(const Driver::Options& options) {
  const StatusOr<LogLevel> level = ParseLogLevel(options.log_level);
  return level.ok() ? *level : LogLevel::kInfo;
}

// An exception in the author's code fails that claim or device, not the driver.
template <typename Answer, typename Subject>
std::function<Answer(const Subject&)> Guard(std::function<Answer(const Subject&)> handler) {
  if (!handler) return nullptr;
  return [handler = std::move(handler)](const Subject& subject) -> Answer {
    try {
      return handler(subject);
    } catch (const std::exception& e) {
      return Failure{e.what()};
    } catch (...) {
      return Failure{kThrewNoException};
    }
  };
}

}  // namespace

// All parts live on the loop's thread; other threads only post to it.
struct Driver::Impl {
  // A constructor cannot fail: without a loop, Run reports the error and returns.
  explicit Impl(Options options_in)
      : options(std::move(options_in)),
        log(LevelOf(options), [this] { return WallNow(); }, StderrSink()) {
    StatusOr<std::unique_ptr<EpollLoop>> made = EpollLoop::Create();
    if (made.ok()) {
      loop = std::move(*made);
    } else {
      log.Error("the event loop cannot be made", {{"error", made.status().message()}});
    }
  }

  ~Impl() { TakeNewest(nullptr); }

  WallTime WallNow() const { return loop ? loop->WallNow() : WallTime{}; }
  StatusOr<std::unique_ptr<kube::Transport>> MakeTransport();
  // Checks everything that can be wrong before anything is started.
  Status Prepare();
  Status PrepareDriver();
  Status PrepareHealthSource();
  Status StartAll();
  Status StartMetrics();
  void BeginStop();
  sdk::DriverApp::Handlers TakeHandlers();
  // Takes the waiting inventory, if there is one, and puts another in its place. On any thread.
  std::unique_ptr<Inventory> TakeNewest(std::unique_ptr<Inventory> next) {
    return std::unique_ptr<Inventory>(newest.exchange(next.release()));
  }
  // Publishes the waiting inventory.
  void PublishNewest();

  const Options options;
  std::unique_ptr<EpollLoop> loop;  // first, since the parts use it and it must be destroyed last
  Log log;
  Metrics metrics;
  Random random{Random::Seed()};
  PosixFileSystem files;
  sdk::DriverApp::Handlers handlers;
  sdk::SimulatedDevices* simulated = nullptr;
  const sdk::CheckSource* checks = nullptr;
  std::unique_ptr<net::Dialer> dialer;
  std::unique_ptr<kube::ExecRunner> exec;
  std::unique_ptr<kube::Transport> transport;
  std::unique_ptr<kube::Client> api;
  std::unique_ptr<net::SocketHost> sockets;
  std::unique_ptr<sdk::RunningDriver> app;
  std::string health_sources;  // the directory of a health source's socket; "": a whole driver
  net::AdminPage metrics_page{metrics};
  std::unique_ptr<net::Server> metrics_server;
  std::unique_ptr<SignalWatch> signals;
  int exit_code = 0;
  bool stopping = false;
  bool publishes_none = false;
  std::atomic<bool> inventory_faulty = false;
  std::atomic<std::thread::id> runs_on{};  // the thread that runs Run
  // Publish may be called by any thread. Were each inventory posted to the loop, a thread that
  // publishes faster than the loop runs would fill the memory. Owned; exchanged whole.
  std::atomic<Inventory*> newest = nullptr;
  std::atomic<bool> health_change_posted = false;
};

// Dials nothing yet: an API server that is away must not keep a driver from starting.
StatusOr<std::unique_ptr<kube::Transport>> Driver::Impl::MakeTransport() {
  ASSIGN_OR_RETURN(kube::ClusterConfig config, sdk::FindCluster(files, options));
  return kube::Transport::Create(*loop, log, *dialer, files, *exec, std::move(config));
}

// The author's handlers, wrapped so that no exception reaches the loop.
sdk::DriverApp::Handlers Driver::Impl::TakeHandlers() {
  sdk::DriverApp::Handlers taken = std::move(handlers);
  taken.prepare = Guard(std::move(taken.prepare));
  taken.unprepare = Guard(std::move(taken.unprepare));
  taken.device_edits = Guard(std::move(taken.device_edits));
  if (!taken.health) return taken;
  taken.health = [this, report = std::move(taken.health)](HealthWriter& writer) {
    try {
      report(writer);
    } catch (const std::exception& e) {
      // Devices that were not reported before the exception become Unknown.
      log.Error("the health probe threw an exception", {{"error", e.what()}});
    } catch (...) {
      log.Error("the health probe threw an exception", {{"error", kThrewNoException}});
    }
  };
  return taken;
}

Status Driver::Impl::Prepare() {
  if (!loop) return Internal("the event loop could not be made, see above");
  // A driver that starts without its devices would withdraw them from the scheduler.
  if (inventory_faulty) return InvalidArgument("the inventory is faulty, see above");
  RETURN_IF_ERROR(health_sources.empty() ? PrepareDriver() : PrepareHealthSource());
  if (checks != nullptr) sdk::ServeChecks(app->methods(), *checks);
  return OkStatus();
}

Status Driver::Impl::PrepareDriver() {
  RETURN_IF_ERROR(sdk::ValidateOptions(options));
  dialer = net::MakeDialer(*loop);
  exec = kube::MakeExecRunner(*loop);
  ASSIGN_OR_RETURN(transport, MakeTransport());
  api = std::make_unique<kube::Client>(*loop, *transport);
  sockets = net::MakeSocketHost(*loop, log);
  ASSIGN_OR_RETURN(auto driver, sdk::DriverApp::Create({*loop, log, metrics, random, files,
                                                        *sockets, *api, dialer.get()},
                                                       options, TakeHandlers()));
  if (simulated != nullptr) sdk::ServeSimulator(driver->methods(), *simulated);
  app = std::move(driver);
  return OkStatus();
}

Status Driver::Impl::PrepareHealthSource() {
  sockets = net::MakeSocketHost(*loop, log);
  sdk::DriverApp::Handlers taken = TakeHandlers();
  ASSIGN_OR_RETURN(app, sdk::HealthSource::Create(
                            {*loop, log, metrics, random, files, *sockets},
                            {.driver = options.name,
                             .directory = health_sources,
                             .instance = options.instance,
                             .snapshot = {.timeout = options.health_timeout,
                                          .degraded_as_unhealthy = options.degraded_as_unhealthy},
                             .period = taken.health_period,
                             .health = std::move(taken.health)}));
  return OkStatus();
}

Status Driver::Impl::StartMetrics() {
  if (options.metrics_address.empty()) return OkStatus();
  metrics_page.AddCheck("driver", [this] { return app->WhyNotReady(); });
  ASSIGN_OR_RETURN(net::ServerOptions server, net::AdminServerOptions(options.metrics_address));
  ASSIGN_OR_RETURN(metrics_server, net::Server::Start(*loop, log, std::move(server), metrics_page));
  // With the real port, if port 0 was asked for.
  log.Info("metrics are served", {{"address", metrics_server->address()}});
  return OkStatus();
}

Status Driver::Impl::StartAll() {
  // First: a client that waits for readiness sees the reason from the beginning.
  RETURN_IF_ERROR(StartMetrics());
  RETURN_IF_ERROR(app->Start());
  log.Info("driver is running",
           {{"driver", options.name}, {"node", options.node}, {"socket", app->socket()}});
  return OkStatus();
}

void Driver::Impl::BeginStop() {
  // A second signal needs no handling here: SignalWatch ends the process at once.
  if (std::exchange(stopping, true) || !app) return;
  app->Stop([this] { loop->Stop(); });
}

void Driver::Impl::PublishNewest() {
  const std::unique_ptr<Inventory> inventory = TakeNewest(nullptr);
  if (!inventory || !app) return;
  if (const Status status = app->Publish(*inventory); !status.ok()) {
    log.Error("the inventory cannot be published", {{"error", status.message()}});
  }
  // A driver without hardware runs normally; only its log can say that nothing is there.
  const bool empty = inventory->empty();
  if (empty && !publishes_none) {
    log.Warning(health_sources.empty()
                    ? "the driver has no devices: nothing can be allocated from it on this node"
                    : "the health source has no devices: nothing is reported for the driver",
                {{"driver", options.name}, {"node", options.node}});
  }
  publishes_none = empty;
}

Driver::Driver(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Driver::~Driver() = default;

std::optional<Failure> Driver::Publish(Inventory inventory) {
  if (const Status status = sdk::ValidateInventory(inventory); !status.ok()) {
    impl_->log.Error("the inventory cannot be published", {{"error", status.message()}});
    // Checked on the caller's thread, so that the caller gets the error.
    impl_->inventory_faulty = true;
    return Failure{status.message()};
  }
  impl_->inventory_faulty = false;
  if (!impl_->loop) return Failure{"the event loop could not be made, see the log"};
  // The waiting inventory that it replaces is dropped.
  impl_->TakeNewest(std::make_unique<Inventory>(std::move(inventory)));
  // At once when called from a handler: its next report may be about new devices.
  if (impl_->runs_on == std::this_thread::get_id()) {
    impl_->PublishNewest();
  } else {
    impl_->loop->Post([impl = impl_.get()] { impl->PublishNewest(); });
  }
  return std::nullopt;
}

void Driver::OnPrepare(std::function<Prepared(const DeviceClaim&)> prepare) {
  impl_->handlers.prepare = std::move(prepare);
}

void Driver::OnUnprepare(std::function<std::optional<Failure>(const DeviceClaim&)> unprepare) {
  impl_->handlers.unprepare = std::move(unprepare);
}

void Driver::OnDeviceEdits(std::function<DeviceEdits(const std::string& device)> edits) {
  impl_->handlers.device_edits = std::move(edits);
}

void Driver::OnHealth(std::chrono::nanoseconds period, std::function<void(HealthWriter&)> report) {
  impl_->handlers.health_period = period;
  impl_->handlers.health = std::move(report);
}

void Driver::HealthChanged() {
  // A thread that calls this a million times posts one task.
  if (!impl_->loop || impl_->health_change_posted.exchange(true)) return;
  impl_->loop->Post([impl = impl_.get()] {
    impl->health_change_posted = false;
    if (impl->app) impl->app->HealthChanged();
  });
}

int Driver::Run() {
  Impl& impl = *impl_;
  if (const Status status = impl.Prepare(); !status.ok()) {
    impl.log.Error("the driver's configuration has faults; nothing was started",
                   {{"driver", impl.options.name}, {"error", status.message()}});
    return kExitUsage;
  }
  if (impl.options.handle_signals) {
    auto signals = SignalWatch::Start(*impl.loop, [&impl] { impl.BeginStop(); });
    // Without signals (no descriptor is left) the driver still runs; Stop ends it.
    if (signals.ok()) impl.signals = std::move(*signals);
  }
  // Queued behind inventories that were published before, so that Start sees them.
  impl.loop->Post([&impl] {
    if (impl.stopping) return;
    const Status status = impl.StartAll();
    if (status.ok()) return;
    impl.log.Error("the driver cannot start", {{"error", status.message()}});
    impl.exit_code = kExitFailed;
    impl.loop->Stop();
  });
  impl.runs_on = std::this_thread::get_id();
  impl.loop->Run();
  impl.runs_on = std::thread::id();
  // Listeners are destroyed before the parts that they call; the rest goes with the Impl, the loop
  // last.
  impl.signals.reset();
  impl.metrics_server.reset();
  impl.app.reset();
  return impl.exit_code;
}

void Driver::Stop() {
  if (!impl_->loop) return;
  impl_->loop->Post([impl = impl_.get()] { impl->BeginStop(); });
}

std::optional<sdk::DriverInside> sdk::DriverInside::Of(Driver& driver) {
  Driver::Impl& impl = *driver.impl_;
  if (!impl.loop) return std::nullopt;
  return DriverInside{*impl.loop, impl.log, impl.metrics};
}

void sdk::DriverInside::BecomeHealthSource(Driver& driver, std::string directory) {
  driver.impl_->health_sources = std::move(directory);
}

void sdk::DriverInside::Simulate(Driver& driver, SimulatedDevices& devices) {
  driver.impl_->simulated = &devices;
}

void sdk::DriverInside::ShowChecks(Driver& driver, const CheckSource& source) {
  driver.impl_->checks = &source;
}

}  // namespace galen
