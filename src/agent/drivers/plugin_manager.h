// The drivers of this node, or the health sources beside them (PluginRules): takes in what
// registers, keeps a link to each instance, and lets only the newest connected instance of a driver
// report its devices. Belongs to the agent's loop.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/drivers/driver_caller.h"
#include "agent/drivers/driver_link.h"
#include "agent/drivers/plugin_facts.h"
#include "agent/drivers/plugin_watcher.h"
#include "agent/drivers/registration.h"
#include "agent/health/health_sink.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/repeated_log.h"

namespace galen::agent {

// What is known of one instance of a driver, or of a socket that has not registered yet. For
// `inspect`, metrics and the node's object; a copy, which later changes do not reach.
struct DriverInfo {
  std::string name;  // "" while the plugin has not answered
  std::string socket;
  std::string endpoint;
  DraService service = DraService::kV1;
  HealthService health = HealthService::kNone;
  bool connected = false;
  // Whether this instance's reports count.
  bool authority = false;
  std::optional<WallTime> connected_since;
  // When the instance last reported, whether that counted or not; nullopt: never.
  std::optional<WallTime> last_report;
  std::uint64_t reports = 0;
  // What is wrong with it, as a sentence; "" when nothing is.
  std::string trouble;
};

// An instance is one endpoint that a socket registered. Of all instances of a driver at most one is
// its authority: the newest that is connected. Only its reports reach the sink, so that in a
// rolling update the old instance cannot overwrite or clear what the new one says, as it can in
// kubelets up to 1.37, which listen to every instance.
class PluginManager final : public SocketListener, public DriverCaller, private LinkListener {
 public:
  static constexpr std::size_t kSocketsMax = 256;  // more are logged once, and wait for room
  static constexpr std::size_t kInstancesPerDriverMax = 8;  // a rolling update has two
  // Devices of a report that are read in one step of the loop; a report of more is taken in parts,
  // one report after another, while others are served in between. At 50 µs for one that changes
  // it is a third of the longest step that we allow ourselves.
  static constexpr std::size_t kDevicesPerStep = 128;
  // What reading costs where nothing changes, in steps of ReportRoom: a device that changes takes
  // as long as so many that do not.
  static constexpr std::size_t kDevicesReadPerStep = 32;
  // How soon a long report goes on after the sink had no room.
  static constexpr Duration kRoomAgain = std::chrono::milliseconds(5);
  // The kubelet's deadline for both calls (45 s): half of the time between two tries at a Pod.
  static constexpr Duration kCallTimeout = std::chrono::seconds(45);

  // What the agent's configuration says; constant while it runs.
  struct Options {
    PluginRules rules;
    bool notify = false;                 // the manager role
    std::set<std::string> unsubscribed;  // drivers whose health is not asked for
    bool kubelet_reports = false;        // on these, in Pods' status (kubelet_health.h)
  };
  // What it needs of the agent; borrowed.
  struct Edges {
    Loop& loop;
    Random& random;
    Log& log;
    Metrics& metrics;
    net::Dialer& dialer;
    HealthSink& sink;  // the HealthMerger, for drivers or for health sources
  };

  // The arguments outlive the manager. Does nothing until there is a socket.
  PluginManager(Edges edges, Options options);
  ~PluginManager() override;

  // Sets the callback that is called, from the loop, whenever drivers() may have changed; one
  // callback, set before the first socket.
  void OnDriversChanged(std::function<void()> callback) { on_changed_ = std::move(callback); }

  // A socket beyond kSocketsMax is logged once and left alone. A replaced one registers anew while
  // its old instance still serves; the instance of a removed one goes at once, with its calls.
  void OnSocketAdded(const std::string& path) override;
  void OnSocketReplaced(const std::string& path) override;
  void OnSocketRemoved(const std::string& path) override;
  // To the driver's authority. Several calls may be under way at once; each ends with one call of
  // `done`, also when the instance goes first.
  void CallDriver(const std::string& driver, NodeCall call, std::string request,
                  std::function<void(StatusOr<std::string>)> done) override;

  bool IsRegistered(const std::string& driver) const { return drivers_.contains(driver); }
  // Why nothing is known of a device of this driver, as a sentence for the Pod: not registered, not
  // connected, no health, or nothing of this device.
  std::string WhyNotReported(const std::string& driver) const;
  bool IsConnected(const std::string& driver) const;
  // Whether an instance of it is registered, or may be: some socket has not answered yet which
  // driver it is.
  bool MayReport(const std::string& driver) const;
  // For each driver whose reports are expected: since when none came, or since it registered.
  std::map<std::string, Duration> ReportAges() const;
  // In order of name, each driver's authority first; sockets that have not answered with a name
  // come last.
  std::vector<DriverInfo> drivers() const;

 private:
  // One endpoint that registered. It lives from the registration until its socket goes or another
  // takes its place, connected or not.
  struct Instance {
    std::string socket;
    std::unique_ptr<DriverLink> link;
    bool superseded = false;  // its socket was made again; it stays until the new one is connected
    std::optional<WallTime> reported_wall;
    std::uint64_t reports = 0;
    std::uint64_t waits = 0;  // waits of the link that were counted and logged
    std::string trouble;
  };
  // A report that is being read. Its bytes are the link's until DriverLink::Read.
  struct Reading {
    std::string driver;
    std::uint64_t number = 0;  // of the instance
    Time reported{};
    ReportReader reader;
    std::optional<DecodedReport> decoded = {};  // once all of it is
    std::size_t applied = 0;                    // of its devices
    std::size_t changes = 0;                    // that they made
  };
  struct Driver {
    std::map<std::uint64_t, Instance> instances;  // by number: the last is the newest
    std::optional<std::uint64_t> authority;       // null: no instance is connected
    Time reported{};  // when its authority last reported; before, when it registered
  };

  void OnLinkUp(const DriverLink& link) override;
  void OnLinkReport(const DriverLink& link, std::string_view report) override;
  void OnLinkStreamLost(const DriverLink& link, const Status& why) override;
  void OnLinkWithoutHealth(const DriverLink& link) override;
  void OnLinkDown(const DriverLink& link, const Status& why) override;

  static DriverInfo InfoOf(const Instance& instance, bool authority);
  // Asks the program behind the socket which driver it is, until it has answered.
  void Introduce(const std::string& socket);
  // The answer to a registration: OK, AlreadyExists when another socket registered the endpoint,
  // ResourceExhausted at kInstancesPerDriverMax.
  Status TakeIn(const std::string& socket, const PluginFacts& facts);
  // Chooses the driver's authority anew and notifies the sink when it is another, or none any more
  // (`why`).
  void Elect(const std::string& driver, const Status& why);
  void TakeOver(const std::string& driver, Instance& instance, bool is_newer, const Status& why);
  // Marks what came from the socket as to be replaced.
  void Supersede(const std::string& socket);
  void Remove(const std::string& driver, std::uint64_t number, const Status& why);
  // Removes every instance that `doomed` accepts; in two passes, because removing one may elect,
  // and so notify, before the next is looked at.
  void RemoveInstances(const std::function<bool(const Instance&)>& doomed, const Status& why);
  // Counts and logs, once, that a driver reports faster than it is read.
  void NoteWaits(const DriverLink& link, Instance& instance);
  // Takes the next step of the first of readings_, and so on until none is left.
  void StepFirstReading();
  void StepLater(Duration delay);
  // Applies the next part of a decoded report. At its end, or if it was refused, the link reads
  // on.
  enum class Progress { kMore, kDone };
  Progress ApplyStep(Reading& reading, Instance& instance);
  void ApplyWhole(Reading& reading, Instance& instance);
  // Counts and logs a report that is decoded; nullopt if it is refused.
  std::optional<DecodedReport> Accept(Instance& instance, StatusOr<DecodedReport> decoded);
  // Hands on the next part of a report.
  void ApplyPart(Reading& reading, Instance& instance);
  void ForgetReading(std::uint64_t number);
  Cause WithoutHealth(const std::string& driver) const;
  // Why the driver's devices are not reported any more: "driver gpu.example.com is gone: …".
  Cause GoneCause(const std::string& driver, const Status& why) const;
  // What an instance is, for people: "driver", or "health source for".
  std::string_view Subject() const;
  Instance& InstanceOf(const DriverLink& link);
  bool IsAuthority(const DriverLink& link) const;
  void Changed();

  Edges edges_;
  const Options options_;
  std::function<void()> on_changed_;
  ReportRoom room_;  // of the links below
  std::map<std::string, Driver> drivers_;
  std::map<std::string, std::unique_ptr<Registration>> registrations_;  // by socket
  std::set<std::string> waiting_;  // sockets for which there was no room
  std::uint64_t next_number_ = 1;
  std::deque<Reading> readings_;  // long reports, at most one of each instance
  Timer read_;
  // Faults of reports, once for each driver: a driver that is wrong is wrong each time.
  LogOnce logged_;
};

}  // namespace galen::agent
