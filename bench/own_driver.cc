#include "bench/own_driver.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/files/posix_file_system.h"
#include "base/flags.h"
#include "base/version.h"
#include "bench/burst_plan.h"
#include "galen/driver.h"

namespace galen::bench {
namespace {

// How soon the start is noticed; no part of what is measured.
constexpr auto kPeriod = std::chrono::milliseconds(50);
// Rounds of a driver that has a pace: a hundred reports a second.
constexpr auto kPacedPeriod = std::chrono::milliseconds(10);

// Says by the plan how each device is; each round of health is one more change, or as many as the
// pace wants.
class Burst {
 public:
  Burst(OwnDriver settings, Driver& driver) : settings_(std::move(settings)), driver_(driver) {}

  void Report(HealthWriter& writer) {
    // The first change waits for the start file, looked for at each round.
    if (made_ < settings_.changes && (made_ > 0 || Begins())) MakeChanges();
    for (std::int64_t device = 0; device < settings_.devices; ++device) {
      const BurstReport report = ReportAfter(made_, device, settings_.devices);
      if (report.healthy) {
        writer.Healthy(DeviceName(device));
      } else {
        writer.Unhealthy(DeviceName(device), {.code = "BurstFault",
                                              .message = SentenceOf(report),
                                              .value = std::to_string(report.change)});
      }
    }
  }

 private:
  bool Begins() {
    if (access(settings_.start_file.c_str(), F_OK) != 0) return false;
    began_ = std::chrono::steady_clock::now();
    return true;
  }

  void MakeChanges() {
    const auto took = std::chrono::steady_clock::now() - began_;
    made_ = std::min(settings_.changes, NextChange(took));
    if (made_ < settings_.changes) {
      // Without a pace the next one follows as soon as the loop has served its sockets.
      if (settings_.changes_per_second == 0) driver_.HealthChanged();
      return;
    }
    // Until the last change is made, not until it is published: that is the reader's to measure.
    PosixFileSystem files;
    const Status written =
        files.WriteAtomically(settings_.result_file, std::to_string(took.count()), 0600);
    if (!written.ok()) fmt::print(stderr, "galen-bench: {}\n", written.message());
  }

  // How many are to be made after this time.
  std::int64_t NextChange(std::chrono::steady_clock::duration took) const {
    if (settings_.changes_per_second == 0) return made_ + 1;
    const double seconds = std::chrono::duration<double>(took).count();
    const double due = seconds * static_cast<double>(settings_.changes_per_second);
    return std::max(made_ + 1, static_cast<std::int64_t>(due));
  }

  const OwnDriver settings_;
  Driver& driver_;
  std::int64_t made_ = 0;
  std::chrono::steady_clock::time_point began_{};
};

Inventory DevicesOf(const OwnDriver& settings) {
  Inventory inventory;
  for (std::int64_t device = 0; device < settings.devices; ++device) {
    inventory.push_back({.name = DeviceName(device)});
  }
  return inventory;
}

void AddFlags(Flags& flags, OwnDriver& settings) {
  flags.Add("--node", settings.node, "as galen-driver's");
  flags.Add("--kubeconfig", settings.kubeconfig, "as galen-driver's");
  flags.Add("--kubelet-root", settings.kubelet_root, "as galen-driver's");
  flags.Add("--cdi-root", settings.cdi_root, "as galen-driver's");
  flags.Add("--devices", settings.devices, "how many devices there are");
  flags.Add("--timeout-seconds", settings.timeout_seconds, "how long a report holds");
  flags.Add("--changes", settings.changes, "how many changes to make");
  flags.Add("--changes-per-second", settings.changes_per_second, "how fast; 0: as it goes");
  flags.Add("--start-file", settings.start_file, "begin when it is there");
  flags.Add("--result-file", settings.result_file, "write the nanoseconds taken here");
}

}  // namespace

std::vector<std::string> CommandOf(const OwnDriver& driver, const std::string& program) {
  return {program,
          kOwnDriverMode,
          "--node=" + driver.node,
          "--kubeconfig=" + driver.kubeconfig,
          "--kubelet-root=" + driver.kubelet_root,
          "--cdi-root=" + driver.cdi_root,
          "--devices=" + std::to_string(driver.devices),
          "--timeout-seconds=" + std::to_string(driver.timeout_seconds),
          "--changes=" + std::to_string(driver.changes),
          "--changes-per-second=" + std::to_string(driver.changes_per_second),
          "--start-file=" + driver.start_file,
          "--result-file=" + driver.result_file};
}

int RunOwnDriver(int argc, char** argv) {
  OwnDriver settings;
  Flags flags("galen-bench as-driver", "The driver of a measurement", std::string(kVersion));
  AddFlags(flags, settings);
  if (const auto code = flags.Parse(argc, argv)) return *code;
  Driver driver({.name = kOwnDriverName,
                 .node = settings.node,
                 .kubelet_root = settings.kubelet_root,
                 .cdi_root = settings.cdi_root,
                 .kubeconfig = settings.kubeconfig,
                 .health_timeout = std::chrono::seconds(settings.timeout_seconds)});
  driver.Publish(DevicesOf(settings));
  Burst burst(settings, driver);
  driver.OnHealth(settings.changes_per_second > 0 ? kPacedPeriod : kPeriod,
                  [&burst](HealthWriter& writer) { burst.Report(writer); });
  return driver.Run();
}

}  // namespace galen::bench
