// A real driver (sdk::DriverApp) on a simulated node, whose hardware is a table of truths. It can
// crash, hang, be restarted and hand over to a new instance. Belongs to the node's loop.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/files/fake_file_system.h"
#include "model/health.h"
#include "net/endpoint/fake_socket_host.h"
#include "sdk/app/driver_app.h"
#include "tests/sim/node_loop.h"

namespace galen::sim {

// The serial that every device of this name has, in each slice that lists it.
inline std::string SerialOf(const std::string& device) { return "serial-of-" + device; }

class SimDriver {
 public:
  // The node's sockets and directories; borrowed, they outlive the driver.
  struct Edges {
    Loop& loop;
    Random& random;
    FakeFileSystem& files;
    net::SocketHost& sockets;
    kube::Client& api;
  };
  // All devices are healthy at first. Those of `kept_free` are tainted, so that no scheduler gives
  // them away by itself. Does not start.
  SimDriver(Edges edges, std::string name, std::string node, std::vector<std::string> devices,
            std::vector<std::string> kept_free = {});

  // As a new process: what the app knew is gone, the hardware is what it is. REQUIRES: not running.
  void Start();
  // As kill -9: its sockets and streams are gone silently. Harmless when it does not run.
  void Kill();
  bool running() const { return app_ != nullptr; }
  // As kill -STOP and -CONT: its sockets and streams stay, and it sends nothing.
  void Hang() { loop_.Stop(); }
  void GoOn() { loop_.Resume(); }
  bool hangs() const { return loop_.still(); }
  // A rolling update: another instance starts, the present one leaves in order. REQUIRES: running.
  void HandOver();

  // From now on it leaves set up what it is to unprepare.
  void NeverReset() { never_resets_ = true; }
  // From now on a fault comes with the number of one before it, as in a report that was overtaken.
  void NumberBack() { numbers_back_ = true; }
  // Which change of this driver's hardware the message of a fault is of; nullopt for another text.
  static std::optional<std::uint64_t> ChangeNamedIn(const std::string& message);

  // The hardware changes; the driver is notified at once unless it is away, and then when it
  // starts.
  void Break(const std::string& device, HealthState state);
  HealthState truth(const std::string& device) const { return truth_.at(device); }
  // The UID of the claim that the device is set up for; "" for none. It outlives the driver.
  std::string set_up_for(const std::string& device) const {
    const auto it = set_up_.find(device);
    return it == set_up_.end() ? "" : it->second;
  }
  // The UIDs of the claims that it has on record as prepared, or as being prepared.
  std::set<std::string> Records() const;
  // Whether the hardware was so at any moment from `from` on and before `to`, by the node's clock.
  bool WasEver(HealthState state, const std::string& device, Time from, Time to) const;
  const std::map<std::string, HealthState>& truths() const { return truth_; }
  const std::string& name() const { return name_; }
  // How often its hardware changed.
  std::uint64_t events() const { return events_; }

  // How long its reports hold: short, so that a run sees many deadlines pass.
  static constexpr std::chrono::seconds kTimeout{10};

 private:
  void Report(HealthWriter& health) const;

  Edges edges_;
  NodeLoop loop_;
  const std::string name_, node_;
  struct Turn {
    Time at{};
    HealthState state{};
  };

  std::map<std::string, HealthState> truth_;
  std::set<std::string> kept_free_;
  bool never_resets_ = false;
  bool numbers_back_ = false;
  std::map<std::string, std::string> set_up_;
  std::map<std::string, std::vector<Turn>> turns_;  // of those that changed; oldest first
  std::map<std::string, std::uint64_t> broke_at_;   // the number of the change that broke it
  std::uint64_t events_ = 0;
  int instances_ = 0;
  std::unique_ptr<Metrics> metrics_, leaving_metrics_;  // each as a new process counts
  std::unique_ptr<sdk::DriverApp> app_;
  std::unique_ptr<sdk::DriverApp> leaving_;  // null unless it hands over
};

}  // namespace galen::sim
