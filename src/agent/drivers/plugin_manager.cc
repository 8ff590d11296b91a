#include "agent/drivers/plugin_manager.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "agent/agent_metrics.h"
#include "base/text.h"

namespace galen::agent {
namespace {

std::string MethodOf(DraService service, NodeCall call) {
  return fmt::format(
      "/k8s.io.kubelet.pkg.apis.dra.{}.DRAPlugin/{}", service == DraService::kV1 ? "v1" : "v1beta1",
      call == NodeCall::kPrepare ? "NodePrepareResources" : "NodeUnprepareResources");
}

}  // namespace

PluginManager::PluginManager(Edges edges, Options options)
    : edges_(edges), options_(std::move(options)) {}

PluginManager::~PluginManager() = default;

void PluginManager::OnSocketAdded(const std::string& path) {
  // A socket that was refused for lack of room is not looked at again until its file is made anew.
  if (registrations_.size() >= kSocketsMax) {
    waiting_.insert(path);
    if (logged_.First("sockets")) {
      edges_.log.Error("too many sockets in the registry, further drivers wait until some are gone",
                       {{"limit", kSocketsMax}, {"path", path}});
    }
    return;
  }
  Introduce(path);
}

void PluginManager::OnSocketReplaced(const std::string& path) {
  if (waiting_.contains(path)) return;
  // First, so that the endpoint counts as free when the plugin answers.
  Supersede(path);
  Introduce(path);
}

void PluginManager::OnSocketRemoved(const std::string& path) {
  if (waiting_.erase(path) > 0) return;
  // The registration as well: it would ask a socket that is not there.
  registrations_.erase(path);
  if (!waiting_.empty()) Introduce(waiting_.extract(waiting_.begin()).value());
  // The next shortage is logged again.
  if (waiting_.empty()) logged_.Forget("sockets");
  RemoveInstances([&](const Instance& i) { return i.socket == path; },
                  Unavailable("its registration socket was removed"));
  Changed();
}

void PluginManager::CallDriver(const std::string& driver, NodeCall call, std::string request,
                               std::function<void(StatusOr<std::string>)> done) {
  const auto it = drivers_.find(driver);
  if (it == drivers_.end() || !it->second.authority) {
    // In a later turn, as every answer comes: callers need not be ready for one within the call.
    return edges_.loop.Post(
        [done = std::move(done)] { done(Unavailable("not connected on this node")); });
  }
  DriverLink& link = *it->second.instances.at(*it->second.authority).link;
  link.Call(MethodOf(link.facts().service, call), std::move(request), kCallTimeout,
            std::move(done));
}

DriverInfo PluginManager::InfoOf(const Instance& instance, bool authority) {
  const DriverLink& link = *instance.link;
  return {.name = link.facts().driver,
          .socket = instance.socket,
          .endpoint = link.facts().endpoint,
          .service = link.facts().service,
          .health = link.facts().health,
          .connected = link.up(),
          .authority = authority,
          .connected_since = link.up_since(),
          .last_report = instance.reported_wall,
          .reports = instance.reports,
          .trouble = instance.trouble};
}

std::vector<DriverInfo> PluginManager::drivers() const {
  std::vector<DriverInfo> all;
  std::set<std::string> known;
  for (const auto& [name, driver] : drivers_) {
    if (driver.authority) all.push_back(InfoOf(driver.instances.at(*driver.authority), true));
    for (const auto& [number, instance] : driver.instances) {
      known.insert(instance.socket);
      if (number != driver.authority) all.push_back(InfoOf(instance, false));
    }
  }
  for (const auto& [socket, registration] : registrations_) {
    // A socket that has not answered and has no problem is another kind of plugin, or has just
    // appeared.
    if (known.contains(socket) || registration->trouble().empty()) continue;
    all.push_back({.socket = socket, .trouble = registration->trouble()});
  }
  return all;
}

std::string PluginManager::WhyNotReported(const std::string& name) const {
  const auto it = drivers_.find(name);
  if (it == drivers_.end()) return fmt::format("driver {} is not registered on this node", name);
  if (!it->second.authority) return fmt::format("driver {} is not connected", name);
  const DriverLink& link = *it->second.instances.at(*it->second.authority).link;
  if (!link.wants_health()) return WithoutHealth(name).message;
  return fmt::format("driver {} has not reported this device", name);
}

bool PluginManager::IsConnected(const std::string& driver) const {
  const auto it = drivers_.find(driver);
  return it != drivers_.end() && it->second.authority;
}

bool PluginManager::MayReport(const std::string& driver) const {
  if (drivers_.contains(driver)) return true;
  std::set<std::string> known;
  for (const auto& [name, of_driver] : drivers_) {
    for (const auto& [number, instance] : of_driver.instances) known.insert(instance.socket);
  }
  return std::ranges::any_of(registrations_,
                             [&](const auto& entry) { return !known.contains(entry.first); });
}

std::map<std::string, Duration> PluginManager::ReportAges() const {
  std::map<std::string, Duration> ages;
  for (const auto& [name, driver] : drivers_) {
    const auto& newest = *driver.instances.rbegin();
    if (newest.second.link->wants_health()) ages[name] = edges_.loop.Now() - driver.reported;
  }
  return ages;
}

std::string_view PluginManager::Subject() const {
  return options_.rules.health_sources ? "health source for" : "driver";
}

// The Pod's text should be short, so it has only the last cause of the chain.
Cause PluginManager::GoneCause(const std::string& driver, const Status& why) const {
  // The last of the causes; which socket it was is in the log.
  const std::string& chain = why.message();
  const std::size_t last = chain.rfind(": ");
  const std::string reason =
      why.ok() ? "its health stream ended" : chain.substr(last == std::string::npos ? 0 : last + 2);
  return {.code = std::string(cause_code::kDriverGone),
          .message = CutText(fmt::format("{} {} is gone: {}", Subject(), driver, reason),
                             kCauseMessageBytesMax),
          .owner = FaultOwner::kDriver};
}

Cause PluginManager::WithoutHealth(const std::string& driver) const {
  Cause cause{.code = std::string(cause_code::kNotReported),
              .message = fmt::format("driver {} reports no health", driver)};
  if (options_.unsubscribed.contains(driver)) {
    cause.message =
        fmt::format("the agent is configured not to ask driver {} (subscribe: never)", driver);
    if (options_.kubelet_reports) cause.message += ", and the kubelet does not say";
  }
  return cause;
}

void PluginManager::OnLinkUp(const DriverLink& link) {
  const std::string driver = link.facts().driver;
  Instance& instance = InstanceOf(link);
  instance.trouble.clear();
  edges_.log.Info(options_.rules.health_sources ? "health source connected" : "driver connected",
                  {{"driver", driver},
                   {"endpoint", link.facts().endpoint},
                   {"health", ToString(link.facts().health)}});
  Elect(driver, OkStatus());
  RemoveInstances(
      [&](const Instance& i) {
        return i.superseded && i.socket == instance.socket && &i != &instance;
      },
      Unavailable("its registration was replaced"));
  Changed();
}

void PluginManager::OnLinkStreamLost(const DriverLink& link, const Status& why) {
  Instance& instance = InstanceOf(link);
  const Cause cause = GoneCause(link.facts().driver, why);
  ForgetReading(link.number());
  instance.trouble = cause.message;
  if (IsAuthority(link)) edges_.sink.OnDriverSilent(link.facts().driver, cause);
  Changed();
}

void PluginManager::OnLinkWithoutHealth(const DriverLink& link) {
  const std::string& driver = link.facts().driver;
  if (IsAuthority(link)) edges_.sink.OnDriverSilent(driver, WithoutHealth(driver));
  Changed();
}

void PluginManager::OnLinkDown(const DriverLink& link, const Status& why) {
  const std::string driver = link.facts().driver;
  Instance& instance = InstanceOf(link);
  ForgetReading(link.number());
  instance.trouble = why.ok() ? "the connection was closed" : why.message();
  edges_.log.Warning(
      options_.rules.health_sources ? "health source disconnected" : "driver disconnected",
      {{"driver", driver}, {"endpoint", link.facts().endpoint}, {"error", instance.trouble}});
  const bool superseded = instance.superseded;
  const Status gone = why.ok() ? Unavailable("the connection was closed") : why;
  Elect(driver, gone);
  if (superseded) Remove(driver, link.number(), gone);
  Changed();
}

void PluginManager::Introduce(const std::string& socket) {
  registrations_[socket] = std::make_unique<Registration>(
      Registration::Edges{edges_.loop, edges_.random, edges_.log, edges_.dialer},
      Registration::Options{socket, options_.rules, options_.notify},
      [this, socket](const PluginFacts& facts) { return TakeIn(socket, facts); });
  registrations_[socket]->Start();
}

// What came from `socket` before stays only to bridge the time until its successor is connected.
void PluginManager::Supersede(const std::string& socket) {
  for (auto& [name, driver] : drivers_) {
    for (auto& [number, instance] : driver.instances) {
      if (instance.socket == socket) instance.superseded = true;
    }
  }
  RemoveInstances([](const Instance& i) { return i.superseded && !i.link->up(); },
                  Unavailable("its registration was replaced"));
}

Status PluginManager::TakeIn(const std::string& socket, const PluginFacts& facts) {
  Driver& driver = drivers_[facts.driver];
  for (const auto& [number, instance] : driver.instances) {
    // The same endpoint by another socket: the kubelet refuses that too. By the same socket it is
    // the answer to a second try.
    if (instance.superseded || instance.link->facts().endpoint != facts.endpoint) continue;
    if (instance.socket == socket) return OkStatus();
    return AlreadyExists("endpoint {} is already registered for driver {} by {}", facts.endpoint,
                         facts.driver, instance.socket);
  }
  if (driver.instances.size() >= kInstancesPerDriverMax) {
    return ResourceExhausted("driver {} has {} instances registered already", facts.driver,
                             driver.instances.size());
  }
  Supersede(socket);
  const std::uint64_t number = next_number_++;
  Driver& home = drivers_[facts.driver];  // anew: superseding may have emptied it
  if (home.instances.empty()) home.reported = edges_.loop.Now();
  Instance& instance = home.instances[number];
  instance.socket = socket;
  instance.link = std::make_unique<DriverLink>(
      DriverLink::Edges{edges_.loop, edges_.random, edges_.dialer, *this, room_}, number, facts,
      !options_.unsubscribed.contains(facts.driver));
  instance.link->Start();
  Changed();
  return OkStatus();
}

void PluginManager::Elect(const std::string& name, const Status& why) {
  Driver& driver = drivers_.at(name);
  std::optional<std::uint64_t> newest;
  for (const auto& [number, instance] : driver.instances) {
    // Numbers rise, so the last one that is connected is the newest. Without any there is no
    // authority: there is no use in a dead one.
    if (instance.link->up()) newest = number;
  }
  const std::optional<std::uint64_t> before = std::exchange(driver.authority, newest);
  if (newest == before) return;
  if (!newest) return edges_.sink.OnDriverSilent(name, GoneCause(name, why));
  TakeOver(name, driver.instances.at(*newest), newest > before, why);
}

// When another instance takes over, earlier reports hold until their deadline. An older instance
// that becomes the authority again is subscribed to anew: a driver first sends a new subscriber all
// that it knows, in one or more reports.
void PluginManager::TakeOver(const std::string& driver, Instance& instance, bool is_newer,
                             const Status& why) {
  edges_.sink.OnDriverConnected(driver);
  // At once rather than at the devices' deadlines: no report will ever come.
  if (!instance.link->wants_health()) {
    // The kubelet's report of these devices stays valid.
    if (options_.kubelet_reports && options_.unsubscribed.contains(driver)) return;
    return edges_.sink.OnDriverSilent(driver, WithoutHealth(driver));
  }
  if (is_newer) return;
  // Its unfinished earlier report is contained in the one that it sends now.
  ForgetReading(instance.link->number());
  if (!instance.link->ReadAnew()) edges_.sink.OnDriverSilent(driver, GoneCause(driver, why));
}

void PluginManager::Remove(const std::string& name, std::uint64_t number, const Status& why) {
  Driver& driver = drivers_.at(name);
  const auto node = driver.instances.extract(number);
  ForgetReading(number);
  Elect(name, why);
  node.mapped().link->FailCalls(Annotate(why, "driver {} was removed", name));
  if (driver.instances.empty()) drivers_.erase(name);
}

void PluginManager::RemoveInstances(const std::function<bool(const Instance&)>& doomed,
                                    const Status& why) {
  std::vector<std::pair<std::string, std::uint64_t>> found;
  for (const auto& [name, driver] : drivers_) {
    for (const auto& [number, instance] : driver.instances) {
      if (doomed(instance)) found.emplace_back(name, number);
    }
  }
  for (const auto& [name, number] : found) Remove(name, number, why);
}

PluginManager::Instance& PluginManager::InstanceOf(const DriverLink& link) {
  return drivers_.at(link.facts().driver).instances.at(link.number());
}

bool PluginManager::IsAuthority(const DriverLink& link) const {
  return drivers_.at(link.facts().driver).authority == link.number();
}

void PluginManager::Changed() {
  if (on_changed_) on_changed_();
}

}  // namespace galen::agent
