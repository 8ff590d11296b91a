// Seen at work by ./dev bench flood: a process whose only purpose is to be measured against.
#include "bench/flooding_driver.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "base/flags.h"
#include "base/log.h"
#include "base/loop/epoll_loop.h"
#include "base/loop/signal.h"
#include "base/version.h"
#include "net/endpoint/server.h"
#include "protos/dra_health/v1/health.pb.h"
#include "protos/pluginregistration/v1/registration.pb.h"
#include "rpc/service.h"

namespace galen::bench {
namespace {

namespace fs = std::filesystem;

constexpr Duration kTick = std::chrono::milliseconds(10);
// What a listener has not taken stays with the sender, up to this many bytes: the flood
// is to burden the agent, not this process's memory.
constexpr std::size_t kUntakenBytesMost = std::size_t{4} << 20;

class Flood {
 public:
  Flood(EpollLoop& loop, FloodingDriver settings)
      : loop_(loop), settings_(std::move(settings)), reports_{Report(false), Report(true)} {
    registration_.AddUnary(
        "/pluginregistration.Registration/GetInfo",
        [this](std::string_view, const rpc::Caller&, const rpc::Reply& reply) { reply(Info()); });
    registration_.AddUnary(
        "/pluginregistration.Registration/NotifyRegistrationStatus",
        [](std::string_view, const rpc::Caller&, const rpc::Reply& reply) {
          reply(pluginregistration::RegistrationStatusResponse().SerializeAsString());
        });
    endpoint_.AddStream(
        "/v1.DRAResourceHealth/NodeWatchResources",
        [this](std::string_view, const rpc::Caller&, std::unique_ptr<rpc::StreamWriter> writer) {
          Welcome(std::move(writer));
        });
  }

  Status Start() {
    fs::create_directories(Home());
    ASSIGN_OR_RETURN(endpoint_server_, Listen(Endpoint(), endpoint_));
    ASSIGN_OR_RETURN(registration_server_, Listen(settings_.kubelet_root + "/plugins_registry/" +
                                                      settings_.name + "-reg.sock",
                                                  registration_));
    Tick();
    return OkStatus();
  }

 private:
  struct Listener {
    std::unique_ptr<rpc::StreamWriter> writer;
    std::size_t untaken = 0;  // bytes
  };

  std::string Home() const { return settings_.kubelet_root + "/plugins/" + settings_.name; }
  std::string Endpoint() const { return Home() + "/dra.sock"; }

  StatusOr<std::unique_ptr<net::Server>> Listen(const std::string& path,
                                                rpc::Dispatcher& dispatcher) {
    return net::Server::Start(loop_, log_, {.address = "unix:" + path}, dispatcher);
  }

  std::string Info() const {
    pluginregistration::PluginInfo info;
    info.set_type("DRAPlugin");
    info.set_name(settings_.name);
    info.set_endpoint(Endpoint());
    info.add_supported_versions("v1.DRAPlugin");
    info.add_supported_versions("v1.DRAResourceHealth");
    return info.SerializeAsString();
  }

  std::string Report(bool healthy) const {
    ::v1::NodeWatchResourcesResponse response;
    for (std::int64_t i = 0; i < settings_.devices; ++i) {
      ::v1::DeviceHealth& device = *response.add_devices();
      device.mutable_device()->set_pool_name("flood");
      device.mutable_device()->set_device_name("card-" + std::to_string(i));
      device.set_health(healthy ? ::v1::HEALTHY : ::v1::UNHEALTHY);
    }
    return response.SerializeAsString();
  }

  void Welcome(std::unique_ptr<rpc::StreamWriter> writer) {
    const int id = next_++;
    writer->OnGone([this, id] { listeners_.erase(id); });
    writer->OnDrained([this, id] { listeners_.at(id).untaken = 0; });
    listeners_[id].writer = std::move(writer);
  }

  void Tick() {
    timer_ = loop_.After(kTick, [this] { Tick(); });
    const auto count = settings_.reports_per_second * kTick / std::chrono::seconds(1);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string& report = reports_[++sent_ % 2];
      for (auto& [id, listener] : listeners_) {
        if (listener.untaken + report.size() > kUntakenBytesMost) continue;
        listener.untaken += report.size();
        listener.writer->Write(report);
      }
    }
  }

  EpollLoop& loop_;
  const FloodingDriver settings_;
  const std::string reports_[2];
  Log log_{LogLevel::kError, [this] { return loop_.WallNow(); },
           [](LogLevel, std::string_view line) { fmt::print(stderr, "{}\n", line); }};
  rpc::Dispatcher registration_{loop_}, endpoint_{loop_};
  std::map<int, Listener> listeners_;
  int next_ = 0;
  std::uint64_t sent_ = 0;
  Timer timer_;
  std::unique_ptr<net::Server> endpoint_server_, registration_server_;
};

Status Run(const FloodingDriver& settings) {
  ASSIGN_OR_RETURN(const auto loop, EpollLoop::Create());
  ASSIGN_OR_RETURN(const auto signals, SignalWatch::Start(*loop, [&] { loop->Stop(); }));
  Flood flood(*loop, settings);
  RETURN_IF_ERROR(flood.Start());
  loop->Run();
  return OkStatus();
}

}  // namespace

std::vector<std::string> CommandOf(const FloodingDriver& driver, const std::string& program) {
  return {program,
          kFloodingDriverMode,
          "--kubelet-root=" + driver.kubelet_root,
          "--name=" + driver.name,
          "--devices=" + std::to_string(driver.devices),
          "--reports-per-second=" + std::to_string(driver.reports_per_second)};
}

int RunFloodingDriver(int argc, char** argv) {
  FloodingDriver settings;
  Flags flags("galen-bench as-flood", "The hostile neighbour of a measurement",
              std::string(kVersion));
  flags.Add("--kubelet-root", settings.kubelet_root, "where it registers");
  flags.Add("--name", settings.name, "the driver's name");
  flags.Add("--devices", settings.devices, "how many devices it reports");
  flags.Add("--reports-per-second", settings.reports_per_second, "how often");
  if (const auto code = flags.Parse(argc, argv)) return *code;
  const Status status = Run(settings);
  if (status.ok()) return 0;
  fmt::print(stderr, "galen-bench as-flood: {}\n", status.message());
  return 1;
}

}  // namespace galen::bench
