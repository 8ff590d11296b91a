// Asks the author for the devices' health and reports it to every subscriber: all of it when one
// subscribes, again on each change, and again within half of the shortest device timeout, but only
// while the probe lives: a driver whose probe hangs falls silent, and the reader takes a stale
// report as Unknown. Belongs to its loop.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/liveness.h"
#include "base/log.h"
#include "base/loop/loop.h"
#include "base/metrics.h"
#include "rpc/newest_stream.h"
#include "sdk/health/health_snapshot.h"

namespace galen::sdk {

inline constexpr std::string_view kHealthV1 = "v1.DRAResourceHealth";
inline constexpr std::string_view kHealthV1Alpha1 = "v1alpha1.DRAResourceHealth";

// Each subscriber has one slot for the newest snapshot: a slow one misses states in between, but
// never the last.
class HealthPublisher {
 public:
  // The probe counts as alive this many periods after its last answer: one slow answer is no
  // silence.
  static constexpr int kProbePeriodsMax = 3;
  // The most subscribers; beyond it the oldest is dropped. A kubelet, its successor and two agents
  // are four.
  static constexpr std::size_t kSubscribersMax = 64;

  // Devices are named driver/pool/name. `period` is above zero; a probe that takes long is asked
  // again a period after it answered.
  struct Options {
    std::string driver;
    std::string pool;
    Duration period = std::chrono::seconds(5);
    SnapshotOptions snapshot = {};
    // Reports carry hardware identifiers, for a reader that knows the devices by other names.
    bool with_hardware_ids = false;
  };
  // Borrowed parts of the process.
  struct Parts {
    Loop& loop;
    Log& log;
    Metrics& metrics;
  };
  // `report` is the author's; called on the loop, never from within a call to this.
  HealthPublisher(Parts edges, Options options, std::function<void(HealthWriter&)> report);

  // Adds the v1 and v1alpha1 methods, which say the same. Before Start; the dispatcher calls this
  // for as long as it serves.
  void Serve(rpc::Dispatcher& dispatcher);

  // Sets the devices; after Start the author is asked about them soon.
  void SetInventory(const Inventory& inventory);
  // Begins to ask, at once.
  void Start();
  // Has the author's callback called soon, once for several calls.
  void Changed();
  // Ends every stream and asks the author no more.
  void Stop();
  // Sets the one callback that is called after each round, when snapshot() is new.
  void OnRound(std::function<void()> callback) { on_round_ = std::move(callback); }

  // Open streams.
  std::size_t subscribers() const { return subscribers_.size(); }
  const HealthSnapshot& snapshot() const { return snapshot_; }

 private:
  using Subscribers = std::list<std::unique_ptr<rpc::NewestStream>>;

  // Asks now, and again a period later.
  void AskAndPlan();
  // One round of the author's report, judged, and sent if it is new.
  void Ask();
  void LogStrangers(const HealthRound& round);
  void CountStates(const HealthSnapshot& before);
  void Subscribe(std::unique_ptr<rpc::StreamWriter> writer);
  void Send();
  // Half a timeout has passed since the last report was sent.
  void OnResendDue();
  bool ProbeLives() const;

  const Parts edges_;
  const Options options_;
  const std::function<void(HealthWriter&)> report_;
  std::vector<DeviceIdentity> devices_;
  HardwareIdsByName ids_;  // empty unless Options ask for them
  HealthSnapshot snapshot_;
  // Names that are in no inventory and were logged.
  std::set<std::string> strangers_logged_;
  bool started_ = false;
  bool stopped_ = false;
  bool ask_posted_ = false;
  bool silence_logged_ = false;
  Time answered_{};  // the probe's last answer
  Timer ask_timer_;
  // Counts as set after it fired, too; unset means that the present snapshot was never sent.
  Timer resend_timer_;
  Subscribers subscribers_;
  std::function<void()> on_round_;
  // Dies with this, so that a posted task does nothing afterwards.
  Liveness liveness_;
};

}  // namespace galen::sdk
