// A health source: reports the health of another vendor's driver's devices, only to the node's
// galen-agent. It publishes no slices, prepares no claims and has no socket where a kubelet looks,
// for a second registration under a driver's name would get that driver's claims. It uses no API
// server: the agent, which knows the driver's slices, finds out which devices are meant by their
// UUIDs, PCI addresses and serials. Belongs to its loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "net/endpoint/socket_keeper.h"
#include "rpc/service.h"
#include "sdk/app/registration_service.h"
#include "sdk/app/running_driver.h"
#include "sdk/health/health_publisher.h"

namespace galen::sdk {

// The same value as the agent's kHealthSourceType.
inline constexpr std::string_view kHealthSourceType = "galen.dev/HealthSource";
// Where agents look unless configured otherwise: "health" beside their own socket.
inline constexpr const char* kHealthSourcesDirectory = "/run/galen/health";

// One socket: an agent learns from it which driver it is for, and may subscribe to its health.
class HealthSource final : public RunningDriver {
 public:
  // What it needs of the process; borrowed.
  struct Edges {
    Loop& loop;
    Log& log;
    Metrics& metrics;
    Random& random;
    FileSystem& files;
    net::SocketHost& sockets;
  };
  // Whose devices it reports, and where its socket is.
  struct Options {
    std::string driver;     // the other's, or a device plugin's resource: "nvidia.com/gpu"
    std::string directory;  // the socket's directory; made if it is missing
    std::string instance;   // as Driver::Options::instance
    SnapshotOptions snapshot = {};
    Duration period = std::chrono::seconds(5);
    std::function<void(HealthWriter&)> health;
  };

  // How long to wait for an agent before logging that there is none: one that starts at the same
  // time subscribes within seconds.
  static constexpr Duration kAgentWithin = std::chrono::seconds(30);

  // InvalidArgument when the socket's path would be too long. Starts nothing.
  static StatusOr<std::unique_ptr<HealthSource>> Create(Edges edges, Options options);

  Status Publish(const Inventory& inventory) override;
  Status Start() override;
  void HealthChanged() override { health_.Changed(); }
  void Stop(std::function<void()> done) override;
  std::string WhyNotReady() const override;
  std::string socket() const override { return path_; }
  rpc::Dispatcher& methods() override { return methods_; }

 private:
  HealthSource(Edges edges, Options options, std::string path);
  // Logs it when no device has an identifier by which an agent could find it.
  void NoteWhatNobodyFinds(const Inventory& inventory);
  // Logs it when no agent connects: a misspelt directory looks like one without an agent.
  void NoteMissingAgent();

  const Edges edges_;
  const std::string driver_;
  const std::string instance_;
  const std::string path_;
  HealthPublisher health_;
  RegistrationService registration_;
  rpc::Dispatcher methods_;
  net::SocketKeeper socket_;
  Timer end_timer_, agent_timer_;
  std::function<void()> on_stopped_;
};

// The socket of a health source for `driver`. InvalidArgument when `directory` is too long for a
// socket's path.
StatusOr<std::string> HealthSourceSocket(const std::string& directory, const std::string& driver,
                                         const std::string& instance);

}  // namespace galen::sdk
