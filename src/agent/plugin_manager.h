// The drivers of this node: takes in what registers, keeps a link to each instance, and lets only
// the newest connected instance of a driver speak for its devices. Belongs to the agent's loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/driver_caller.h"
#include "agent/driver_link.h"
#include "agent/health_sink.h"
#include "agent/plugin_facts.h"
#include "agent/plugin_watcher.h"
#include "agent/registration.h"
#include "agent/told_once.h"
#include "base/log.h"
#include "base/metrics.h"

namespace galen::agent {

// What is known of one instance of a driver, or of a socket that has not registered yet.
struct DriverInfo {
  std::string name;  // "" while the plugin has not told
  std::string socket;
  std::string endpoint;
  DraService service = DraService::kV1;
  HealthService health = HealthService::kNone;
  bool connected = false;
  bool authority = false;
  std::optional<WallTime> connected_since;
  std::optional<WallTime> last_report;
  std::uint64_t reports = 0;
  std::string trouble;
};

class PluginManager final : public SocketListener, public DriverCaller, private LinkListener {
 public:
  static constexpr std::size_t kSocketsMax = 256;           // more are told once and left alone
  static constexpr std::size_t kInstancesPerDriverMax = 8;  // a rolling update has two
  // As the kubelet's: half of the time between two tries at a Pod.
  static constexpr Duration kCallTimeout = std::chrono::seconds(45);

  struct Options {
    PluginRules rules;
    bool notify = false;                 // the manager role
    std::set<std::string> unsubscribed;  // drivers whose health is not asked for
  };
  struct Edges {
    Loop& loop;
    Random& random;
    Log& log;
    Metrics& metrics;
    net::Dialer& dialer;
    HealthSink& sink;
  };

  PluginManager(Edges edges, Options options);
  ~PluginManager() override;

  // Called whenever drivers() may answer otherwise than before.
  void OnDriversChanged(std::function<void()> callback) { on_changed_ = std::move(callback); }

  void OnSocketAdded(const std::string& path) override;
  void OnSocketReplaced(const std::string& path) override;
  void OnSocketRemoved(const std::string& path) override;
  void CallDriver(const std::string& driver, NodeCall call, std::string request,
                  std::function<void(StatusOr<std::string>)> done) override;

  // Why nothing is known of a device of this driver, as a sentence.
  std::string WhyNotReported(const std::string& driver) const;
  // In order of name, of each the authority first; last what has not told its name.
  std::vector<DriverInfo> drivers() const;

 private:
  struct Instance {
    std::string socket;
    std::unique_ptr<DriverLink> link;
    bool superseded = false;  // its socket was made again; it stays until the new one is connected
    std::string last_report;  // for when it has to speak again after a newer one went
    Time heard{};
    std::optional<WallTime> heard_wall;
    std::uint64_t reports = 0;
    std::string trouble;
  };
  struct Driver {
    std::map<std::uint64_t, Instance> instances;  // by number: the last is the newest
    std::uint64_t authority = 0;                  // 0: nobody
  };

  void OnLinkUp(const DriverLink& link) override;
  void OnLinkReport(const DriverLink& link, std::string_view report) override;
  void OnLinkStreamLost(const DriverLink& link, const Status& why) override;
  void OnLinkWithoutHealth(const DriverLink& link) override;
  void OnLinkDown(const DriverLink& link, const Status& why) override;

  static DriverInfo InfoOf(const Instance& instance, bool authority);
  void Introduce(const std::string& socket);
  Status TakeIn(const std::string& socket, const PluginFacts& facts);
  void Elect(const std::string& driver, const Status& why);
  void LetSpeak(const std::string& driver, Instance& instance, bool is_newer, const Status& why);
  void Supersede(const std::string& socket);
  void Remove(const std::string& driver, std::uint64_t number, const Status& why);
  void RemoveInstances(const std::function<bool(const Instance&)>& doomed, const Status& why);
  StatusOr<DecodedReport> Decode(const std::string& driver, std::string_view report);
  Instance& InstanceOf(const DriverLink& link);
  bool IsAuthority(const DriverLink& link) const;
  void Changed();

  Edges edges_;
  const Options options_;
  std::function<void()> on_changed_;
  std::map<std::string, Driver> drivers_;
  std::map<std::string, std::unique_ptr<Registration>> registrations_;  // by socket
  std::uint64_t next_number_ = 1;
  ToldOnce told_;
};

}  // namespace galen::agent
