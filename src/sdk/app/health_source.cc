#include "sdk/app/health_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/plugin_resource.h"
#include "net/address.h"
#include "sdk/digest.h"
#include "sdk/inventory.h"
#include "sdk/socket_paths.h"

namespace galen::sdk {
namespace {

// The devices' pool in reports; readers ignore it, since the driver has its own pool.
constexpr const char* kSourcePool = "health-source";
// As DriverApp gives its subscribers to end.
constexpr Duration kSourceStreamsEnd = std::chrono::milliseconds(500);

}  // namespace

StatusOr<std::string> HealthSourceSocket(const std::string& directory, const std::string& driver,
                                         const std::string& instance) {
  std::string name = instance.empty() ? driver : driver + "-" + instance;
  // A device plugin's resource has a "/"; replacing it by "_" is unambiguous, since no driver's
  // name has one.
  std::ranges::replace(name, '/', '_');
  for (const std::string& candidate : {name, DigestBase64Url(name, 16)}) {
    std::string path = fmt::format("{}/{}.sock", directory, candidate);
    if (path.size() <= net::kSocketPathMax) return path;
  }
  return InvalidArgument(
      "the path {} has {} bytes, too long for a socket in it, whose path may have {}: choose a "
      "shorter directory",
      directory, directory.size(), net::kSocketPathMax);
}

StatusOr<std::unique_ptr<HealthSource>> HealthSource::Create(Edges edges, Options options) {
  ASSIGN_OR_RETURN(std::string path,
                   HealthSourceSocket(options.directory, options.driver, options.instance));
  return std::unique_ptr<HealthSource>(
      new HealthSource(edges, std::move(options), std::move(path)));
}

HealthSource::HealthSource(Edges edges, Options options, std::string path)
    : edges_(edges),
      driver_(options.driver),
      instance_(options.instance),
      path_(std::move(path)),
      health_({edges.loop, edges.log, edges.metrics},
              {.driver = options.driver,
               .pool = kSourcePool,
               .period = options.period,
               .snapshot = options.snapshot,
               .with_hardware_ids = true},
              std::move(options.health)),
      registration_(edges.log, edges.metrics,
                    {.driver = options.driver,
                     .endpoint = path_,
                     .type = std::string(kHealthSourceType),
                     .has_claims = false,
                     .has_health = true}),
      methods_(edges.loop),
      socket_({edges.loop, edges.log, edges.random, edges.files, edges.sockets}, path_, methods_) {
  registration_.Serve(methods_);
  health_.Serve(methods_);
}

Status HealthSource::Publish(const Inventory& inventory) {
  RETURN_IF_ERROR(ValidateInventory(inventory));
  NoteWhatNobodyFinds(inventory);
  health_.SetInventory(inventory);
  return OkStatus();
}

void HealthSource::NoteWhatNobodyFinds(const Inventory& inventory) {
  const bool resource = IsPluginResource(driver_);
  const HardwareIdsByName ids = HardwareIdsOf(inventory);
  // A device plugin's ids contain no serial numbers.
  const bool some = std::ranges::any_of(ids, [&](const auto& entry) {
    const HardwareIds& known = entry.second;
    return !known.uuid.empty() || !known.pci_address.empty() ||
           (!resource && !known.serial.empty());
  });
  if (some || ids.empty()) return;
  edges_.log.Warning(
      resource ? "no device of this resource will be found: a device plugin's are known by UUID or "
                 "PCI address, which ours have not"
               : "no device of this driver will be found: they are known by UUID, PCI address or "
                 "serial, which ours have not",
      {{resource ? "resource" : "driver", driver_}, {"devices", ids.size()}});
}

Status HealthSource::Start() {
  RETURN_IF_ERROR(WithAdvice(socket_.Start(), instance_));
  health_.Start();
  agent_timer_ = edges_.loop.After(kAgentWithin, [this] { NoteMissingAgent(); });
  return OkStatus();
}

void HealthSource::NoteMissingAgent() {
  if (health_.subscribers() > 0) return;
  edges_.log.Warning(
      "no agent of Galen asks for this health: is its directory the one in which the agent of this "
      "node looks for health sources?",
      {{"driver", driver_}, {"socket", path_}, {"usual", kHealthSourcesDirectory}});
}

void HealthSource::Stop(std::function<void()> done) {
  const bool already = on_stopped_ != nullptr;
  on_stopped_ = std::move(done);
  if (already) return;
  agent_timer_.Cancel();
  edges_.log.Info("health source is stopping");
  health_.Stop();
  socket_.Drain(kSourceStreamsEnd, [this] {
    // In a later turn: the caller is the socket that is closed next.
    end_timer_ = edges_.loop.After(Duration::zero(), [this] {
      socket_.Stop();
      edges_.log.Info("health source has stopped");
      // Moved out, since calling it may destroy this.
      const auto stopped = std::move(on_stopped_);
      stopped();
    });
  });
}

std::string HealthSource::WhyNotReady() const {
  if (!socket_.listening()) return "the socket is not there";
  if (health_.subscribers() == 0) return "no agent of Galen has subscribed yet";
  return "";
}

}  // namespace galen::sdk
