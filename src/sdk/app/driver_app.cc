#include "sdk/app/driver_app.h"

#include <utility>

#include "base/check.h"
#include "sdk/app/dra_service.h"
#include "sdk/app/driver_options.h"
#include "sdk/inventory.h"

namespace galen::sdk {
namespace {

// Streams are asked to end before the socket closes; a subscriber that does not listen is cut off.
// Long enough for an answer on a unix socket, short beside the 30 s that a Pod has to end.
constexpr Duration kStreamsEnd = std::chrono::milliseconds(500);
// A kubelet looks at a new socket within a second or two; one that starts at the same time takes
// longer.
constexpr Duration kRegisteredWithin = std::chrono::seconds(30);

std::unique_ptr<HealthPublisher> MakeHealth(const Edges& edges, const Driver::Options& options,
                                            DriverApp::Handlers& handlers) {
  // A driver without health has no publisher, so the service is neither served nor advertised.
  if (!handlers.health) return nullptr;
  return std::make_unique<HealthPublisher>(
      HealthPublisher::Parts{edges.loop, edges.log, edges.metrics},
      HealthPublisher::Options{
          .driver = options.name,
          .pool = PoolOf(options),
          .period = handlers.health_period,
          .snapshot = {.timeout = options.health_timeout,
                       .degraded_as_unhealthy = options.degraded_as_unhealthy}},
      std::move(handlers.health));
}

}  // namespace

StatusOr<std::unique_ptr<DriverApp>> DriverApp::Create(Edges edges, const Driver::Options& options,
                                                       Handlers handlers) {
  RETURN_IF_ERROR(ValidateOptions(options));
  if (handlers.health && handlers.health_period <= Duration::zero()) {
    return InvalidArgument("the period of OnHealth must be above zero");
  }
  ASSIGN_OR_RETURN(SocketPaths paths,
                   MakeSocketPaths(options.kubelet_root, options.name, options.instance));
  return std::unique_ptr<DriverApp>(
      new DriverApp(edges, options, std::move(paths), std::move(handlers)));
}

DriverApp::DriverApp(Edges edges, const Driver::Options& options, SocketPaths paths,
                     Handlers handlers)
    : edges_(edges),
      paths_(std::move(paths)),
      instance_(options.instance),
      drain_(options.drain),
      plugin_patterns_(options.device_plugin.devices),
      preparer_(edges,
                {.driver = options.name,
                 .pool = PoolOf(options),
                 .cdi_root = options.cdi_root,
                 .directory = paths_.plugin_directory + "/claims",
                 // The name that Kubernetes' kubeletplugin gives it, so that a driver may change
                 // from one to the other in a rolling update.
                 .lock = paths_.plugin_directory + "/serialize.lock"},
                {std::move(handlers.prepare), std::move(handlers.unprepare)}),
      health_(MakeHealth(edges, options, handlers)),
      plugin_(MakePlugin(options, std::move(handlers.device_edits))),
      slices_(edges, {.driver = options.name, .node = options.node, .pool = PoolOf(options)},
              // Decides which of two instances started later; it must be comparable across
              // processes, so it is wall time.
              edges.loop.WallNow().time_since_epoch().count(), AnotherRuns(options.instance)),
      registration_(
          edges.log, edges.metrics,
          {.driver = options.name, .endpoint = paths_.data, .has_health = health_ != nullptr}),
      data_methods_(edges.loop),
      registration_methods_(edges.loop),
      data_socket_({edges.loop, edges.log, edges.random, edges.files, edges.sockets}, paths_.data,
                   data_methods_),
      registration_socket_({edges.loop, edges.log, edges.random, edges.files, edges.sockets},
                           paths_.registration, registration_methods_) {
  // All services are added before anything listens, so that no caller meets half a driver.
  ServeDra(data_methods_, preparer_, calls_);
  if (health_) health_->Serve(data_methods_);
  if (health_ && plugin_) health_->OnRound([this] { plugin_->HealthChanged(); });
  registration_.Serve(registration_methods_);
  registration_.OnOutcome([this](const std::string& refusal) { OnRegistrationOutcome(refusal); });
}

// Without an instance name there is one driver on a node, so there is no other to yield to.
std::function<bool()> DriverApp::AnotherRuns(const std::string& instance) {
  if (instance.empty()) return nullptr;
  return [this] { return edges_.sockets.OthersListen(paths_.plugin_directory, paths_.data); };
}

std::unique_ptr<DevicePlugin> DriverApp::MakePlugin(const Driver::Options& options,
                                                    PluginDeviceEdits::Ask edits) {
  if (options.device_plugin.resource.empty()) return nullptr;
  StatusOr<std::string> socket = MakePluginSocketPath(options.kubelet_root, options.name);
  GALEN_CHECK(socket.ok());  // ValidateOptions has checked it
  return std::make_unique<DevicePlugin>(
      edges_,
      DevicePlugin::Options{.driver = options.name,
                            .resource = options.device_plugin.resource,
                            .socket = *std::move(socket),
                            .kubelet_socket = KubeletSocket(options.kubelet_root),
                            .cdi_root = options.cdi_root,
                            .degraded_as_unhealthy = options.degraded_as_unhealthy},
      DevicePlugin::Handlers{
          .edits = std::move(edits),
          .check_free = [this](const std::string& name) { return preparer_.CheckFree(name); }},
      health_ ? &health_->snapshot() : nullptr);
}

DriverApp::Ways DriverApp::WaysOf(const Inventory& inventory) const {
  Ways ways;
  for (const Device& device : inventory) {
    const bool by_plugin = plugin_ && IsSelected(device.name, plugin_patterns_);
    (by_plugin ? ways.plugin : ways.claims).push_back(device);
  }
  return ways;
}

Status DriverApp::Publish(const Inventory& inventory) {
  RETURN_IF_ERROR(ValidateInventory(inventory));
  const Ways ways = WaysOf(inventory);
  preparer_.SetInventory(ways.claims);
  if (health_) health_->SetInventory(inventory);
  if (plugin_) plugin_->SetInventory(ways.plugin);
  slices_.SetInventory(ways.claims);
  return OkStatus();
}

// The data socket first: the kubelet calls it as soon as the driver is registered.
Status DriverApp::Start() {
  RETURN_IF_ERROR(WithAdvice(data_socket_.Start(), instance_));
  // Only after the sockets are taken, since a driver that does not get its sockets must not touch
  // records; and before any call is answered, which takes another turn of the loop.
  RETURN_IF_ERROR(preparer_.Recover());
  if (health_) health_->Start();
  // With what the first health round found of the devices.
  if (plugin_) RETURN_IF_ERROR(plugin_->Start());
  RETURN_IF_ERROR(registration_socket_.Start());
  unregistered_timer_ = edges_.loop.After(kRegisteredWithin, [this] {
    edges_.log.Warning("nobody has registered this driver yet: is the kubelet's root right?",
                       {{"socket", paths_.registration}});
  });
  // Last: the scheduler sends claims as soon as it sees devices.
  slices_.Start();
  return OkStatus();
}

void DriverApp::HealthChanged() {
  if (health_) health_->Changed();
}

void DriverApp::Stop(std::function<void()> done) {
  const bool already = on_stopped_ != nullptr;
  on_stopped_ = std::move(done);
  if (already) return;
  edges_.log.Info("driver is stopping", {{"claims_under_way", preparer_.under_way()}});
  // The registration ends first, so that no new callers come; calls under way may still end.
  registration_socket_.Stop();
  unregistered_timer_.Cancel();
  if (plugin_) plugin_->Stop(kStreamsEnd);
  slices_.Stop();
  if (preparer_.under_way() == 0) return FinishStreams();
  preparer_.OnIdle([this] { FinishStreams(); });
  drain_timer_ = edges_.loop.After(drain_, [this] { FinishStreams(); });
}

void DriverApp::FinishStreams() {
  if (std::exchange(draining_streams_, true)) return;
  drain_timer_.Cancel();
  if (health_) health_->Stop();
  data_socket_.Drain(kStreamsEnd, [this] {
    // In a later turn: the caller is the socket that is closed next.
    end_timer_ = edges_.loop.After(Duration::zero(), [this] {
      data_socket_.Stop();
      edges_.log.Info("driver has stopped");
      // Moved out, since calling it may destroy this app.
      const auto done = std::move(on_stopped_);
      done();
    });
  });
}

std::string DriverApp::WhyNotReady() const {
  if (!data_socket_.listening()) return "the data socket is not there";
  if (!registration_socket_.listening()) return "the registration socket is not there";
  if (!registration_.registered())
    return "neither a kubelet nor an agent has registered this driver yet";
  if (!slices_.settled()) return "ResourceSlices are not published yet";
  return plugin_ ? plugin_->WhyNotReady() : "";
}

void DriverApp::OnRegistrationOutcome(const std::string& refusal) {
  unregistered_timer_.Cancel();
  // A kubelet that refused a driver may look at it again only when the socket's file is new.
  if (refusal.empty()) return registration_socket_.Settled();
  registration_socket_.RemakeLater();
}

}  // namespace galen::sdk
