#include "bench/own_driver.h"

#include <unistd.h>

#include <chrono>
#include <utility>

#include "base/flags.h"
#include "base/posix_file_system.h"
#include "base/version.h"
#include "bench/burst_plan.h"
#include "galen/driver.h"

namespace galen::bench {
namespace {

// How soon the start is noticed; no part of what is measured.
constexpr auto kPeriod = std::chrono::milliseconds(50);

// Says by the plan how each device is; each round of health is one more change.
class Burst {
 public:
  Burst(OwnDriver settings, Driver& driver) : settings_(std::move(settings)), driver_(driver) {}

  void Report(HealthWriter& writer) {
    // The first change waits for the start file, looked for at each round.
    if (made_ < settings_.changes && (made_ > 0 || Begins())) MakeChange();
    for (std::int64_t device = 0; device < settings_.devices; ++device) {
      const BurstWord word = WordAfter(made_, device, settings_.devices);
      if (word.healthy) {
        writer.Healthy(DeviceName(device));
      } else {
        writer.Unhealthy(DeviceName(device), {.code = "BurstFault",
                                              .message = SentenceOf(word),
                                              .value = std::to_string(word.change)});
      }
    }
  }

 private:
  bool Begins() {
    if (access(settings_.start_file.c_str(), F_OK) != 0) return false;
    began_ = std::chrono::steady_clock::now();
    return true;
  }

  // The next one follows as soon as the loop has served its sockets.
  void MakeChange() {
    if (++made_ < settings_.changes) return driver_.HealthChanged();
    // Until the last change is made, not until it is heard: that is the reader's to measure.
    const auto took = std::chrono::steady_clock::now() - began_;
    PosixFileSystem files;
    const Status written =
        files.WriteAtomically(settings_.result_file, std::to_string(took.count()), 0600);
    if (!written.ok()) fmt::print(stderr, "galen-bench: {}\n", written.message());
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
  driver.OnHealth(kPeriod, [&burst](HealthWriter& writer) { burst.Report(writer); });
  return driver.Run();
}

}  // namespace galen::bench
