// The part that every kind of galen-driver shares: judges the devices' health, and passes it to the
// SDK.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/liveness.h"
#include "driver/driver_config.h"
#include "driver/edges.h"
#include "driver/hardware.h"
#include "driver/sign_watch.h"
#include "galen/driver.h"
#include "model/health.h"
#include "probes/rules/rule_engine.h"
#include "probes/rules/sign.h"

namespace galen::device_driver {

// ---- How health appears in ResourceSlices: as taints, as attributes, or by leaving the device
// out.

// A device's health as text: "Healthy", "Degraded", "Unhealthy" or "Unknown".
inline constexpr std::string_view kHealthAttribute = "galen.dev/health";
// How much of a device's capability is lost, in per cent: 0 for Healthy and Unknown devices
// (Unknown does not count as broken), 1 to 99 for Degraded, 100 for Unhealthy ones. Every device
// has it, since a CEL expression on a missing attribute selects nothing.
inline constexpr std::string_view kDegradedAttribute = "galen.dev/degraded";

// How health changes the ResourceSlices; by default not at all.
struct OfferPolicy {
  std::string driver = {};  // the prefix of taint keys
  std::optional<Taint::Effect> taint_unhealthy = {};
  std::optional<Taint::Effect> taint_degraded = {};
  Device::Offered unhealthy = Device::Offered::kAlways;
  bool attributes = false;

  // Whether health changes what is published at all.
  bool any() const {
    return taint_unhealthy || taint_degraded || unhealthy != Device::Offered::kAlways || attributes;
  }
};

// REQUIRES: Validate(config) is OK.
OfferPolicy OfferPolicyOf(const DriverConfig& config);

// `devices` as they are published with this health, by name; a device without a verdict is Unknown.
// Pure.
Inventory OfferedWith(const OfferPolicy& policy, Inventory devices,
                      const std::map<std::string, DeviceHealth>& verdicts);

// Between what the hardware shows and what the driver reports: keeps the rule engine, its state
// file and the timer for what changes by time alone (a debounce that ends). Signs come in by
// OnSigns and Observe; the verdicts go out by Report, once the state file has them, or has asked
// for more patience than there is (StateFile::kDiskPatience). Belongs to its loop.
class HealthJudge final : public probes::SignSink {
 public:
  // Calls to the judge's owner.
  struct Callbacks {
    // A verdict is another by now: Report is news. May be called from inside OnSigns.
    std::function<void()> on_verdict;
    // A verdict may change now by time alone, which a fresh look decides.
    std::function<void()> look_again;
    // Gets everything that devices show, before it is judged; may be null.
    std::function<void(const std::vector<probes::Sign>&)> on_signs = {};
  };

  HealthJudge(Edges edges, probes::RuleEngine::Options options, Callbacks callbacks);

  // The devices there are, by name, and what hardware each is, as the engine has it. The first call
  // brings back what an earlier process of this boot knew. A device that is new is Unknown until
  // something shows how it is; one that left is forgotten.
  void SetDevices(const std::vector<std::string>& names,
                  const std::map<std::string, std::string>& hardware = {});
  // As the engine has it: which devices are held against one another.
  void SetModels(const std::map<std::string, std::string>& model_of_device,
                 const std::map<std::string, std::string>& whole_of_device) {
    engine_.SetModels(model_of_device, whole_of_device);
  }
  // Judges by another table from now on, borrowed until the next call; the table before it must
  // still exist during this call.
  void SetRules(const probes::RuleTable& rules);
  // Signs that devices reported by themselves: judged at once, and reported at once when a verdict
  // changed.
  void OnSigns(std::vector<probes::Sign> signs) override;
  // The result of a look at all devices, or its error; called within a round, so it does not ask
  // for another.
  void Observe(const StatusOr<std::vector<probes::Sign>>& observed);
  // Reports the health of every device, with the cause.
  void Report(HealthWriter& writer) const;
  // The health of every device, by name.
  std::map<std::string, DeviceHealth> Verdicts() const;

 private:
  probes::Instant Present() const { return {edges_.loop.Now(), edges_.loop.WallNow()}; }
  // A program's fault, which leaves its device Healthy.
  struct Note {
    Cause cause;
    std::string raw;
    WallTime seen{};
    Time taken{};
  };

  // A verdict, and the sign behind it.
  struct Verdict {
    DeviceHealth health{};
    std::string raw{};
  };
  // What was reported of a device last, where it is not the engine's word.
  struct Held {
    Verdict shown;
    std::uint64_t first = 0, last = 0;  // the writes that its changes wait for
  };

  // Counts what cannot be read, and hands all on to whoever listens.
  void NoteSigns(const std::vector<probes::Sign>& signs);
  // Counts and logs what came of it, keeps it, and sets the timer; whether there is something new
  // to report at once. Everything passes here.
  bool Take(const probes::Evaluation& evaluation);
  // Stores what the engine knows, and holds these changes until that is done; whether one of them
  // may be reported now.
  bool Keep(const std::vector<HealthChange>& changes);
  // The changes of a write, whose `after` these are, may be reported.
  void Release(std::uint64_t write, const std::vector<Verdict>& after);
  bool TakeNote(const probes::SignRecord& record);
  // Records which devices passed an active check.
  void TakePassed(const std::vector<probes::Sign>& signs);
  // The device's note for some seconds, else the result of an active check, else `well`.
  HealthCause NoteOn(const std::string& device, HealthCause well) const;
  // Sets the timer for the next change by time alone.
  void WaitForTime();
  // Every device in order of name, as it may be reported.
  std::vector<Verdict> Shown() const;

  Edges edges_;
  probes::RuleEngine engine_;
  const Callbacks callbacks_;
  bool restored_ = false;
  std::map<std::string, Note> notes_;          // by device
  std::map<std::string, HealthCause> passed_;  // likewise: what is said while it is well
  std::map<std::string, std::string> raws_;    // likewise: the sign of its last verdict, if any
  std::map<std::string, Held> held_;           // likewise
  std::uint64_t writes_ = 0;                   // asked for
  bool keeping_ = false;                       // in Keep
  Timer timer_;
  Liveness liveness_;
};

// Gives the SDK a driver of any hardware: its inventory, the health of its devices, and the edits
// for containers. The program gives it to a galen::Driver; tests to a DriverApp on a FakeLoop.
// Belongs to its loop.
class DeviceDriver {
 public:
  // The calls into the SDK, as galen::Driver has them.
  struct Calls {
    std::function<std::optional<Failure>(Inventory)> publish;
    std::function<void()> health_changed;
  };

  // `hardware` is borrowed and outlives it. Nothing is opened or read yet.
  DeviceDriver(Edges edges, Hardware& hardware, Calls calls, const DriverConfig& config);

  // Publishes the present devices and begins to listen to them. Once, before the SDK's first call;
  // after an error the driver cannot run.
  Status Start();
  // What the containers of a claim need, by device.
  Prepared Prepare(const DeviceClaim& claim) const;
  // What a container needs that gets `device` by the device plugin.
  DeviceEdits EditsFor(const std::string& device) const;
  // As HealthJudge::SetRules; may report at once.
  void SetRules(const probes::RuleTable& rules) {
    if (watch_) watch_->SetRules(rules);
    judge_.SetRules(rules);
  }
  // One round of health, called periodically and when a round was requested.
  void Report(HealthWriter& writer);
  // The operator's rules that match nothing, a sentence each.
  std::vector<std::string> IdleRules() const {
    return watch_ ? watch_->Warnings() : std::vector<std::string>();
  }

 private:
  // Request a round at once: with the present findings, or with a fresh look at the hardware.
  void ReportSoon();
  void LookSoon();
  // Whether the round has to look at the hardware; clears the request.
  bool TakeLook();
  // Looks which devices there are and what they show.
  void LookAtAll();
  // Looks which devices there are, and publishes changes.
  Status TakeInventory();
  // Publishes the devices, with taints and attributes for their health, if anything differs from
  // the last time.
  Status Offer();

  Edges edges_;
  Hardware& hardware_;
  const Calls calls_;
  std::optional<SignWatch> watch_;  // for a table that the operator gave
  HealthJudge judge_;
  HardwareEvents events_;
  const Duration poll_;
  Time next_look_{};  // the latest time of the next look
  bool look_due_ = false, report_due_ = false;
  const OfferPolicy offer_policy_;
  const std::string asked_for_;         // devices, by the command line; "": all there are
  std::optional<Inventory> devices_;    // as the hardware reports them
  std::optional<Inventory> published_;  // with taints and attributes of health
};

}  // namespace galen::device_driver
