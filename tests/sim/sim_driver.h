// A real driver (sdk::DriverApp) on a simulated node, whose hardware is a table of truths. It can
// crash and be restarted. Belongs to the world's loop.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/fake_file_system.h"
#include "model/health.h"
#include "sdk/driver_app.h"
#include "sdk/fake_socket_host.h"

namespace galen::sim {

class SimDriver {
 public:
  // Of the node; lent, they outlive the driver.
  struct Edges {
    Loop& loop;
    Random& random;
    FakeFileSystem& files;
    sdk::SocketHost& sockets;
    kube::Client& api;
  };
  // All devices are healthy at first. Does not start.
  SimDriver(Edges edges, std::string name, std::string node, std::vector<std::string> devices);

  // As a new process: what the app knew is gone, the hardware is what it is. REQUIRES: not running.
  void Start();
  // As kill -9: its sockets and streams are gone without a word.
  void Kill() { app_.reset(); }
  bool running() const { return app_ != nullptr; }

  // The hardware changes; the driver is told at once unless it is away, and then when it starts.
  void Break(const std::string& device, HealthState state);
  HealthState truth(const std::string& device) const { return truth_.at(device); }
  const std::map<std::string, HealthState>& truths() const { return truth_; }
  const std::string& name() const { return name_; }

  // How long its word holds: short, so that a run sees many deadlines pass.
  static constexpr std::chrono::seconds kTimeout{10};

 private:
  void Report(HealthWriter& health) const;

  Edges edges_;
  const std::string name_, node_;
  std::map<std::string, HealthState> truth_;
  Metrics metrics_;
  std::unique_ptr<sdk::DriverApp> app_;
};

}  // namespace galen::sim
