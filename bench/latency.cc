#include "bench/manifest.h"
#include "bench/parts.h"

namespace galen::bench {
namespace {

using namespace std::chrono_literals;

// p99 of 300 is the fourth worst: few enough to run, enough to mean something.
constexpr int kChanges = 300;
constexpr int kPods = 8;
constexpr Duration kBetween = 50ms;  // single changes: the one before has settled
constexpr Duration kToldWithin = 5s;
// The goals.
constexpr Duration kMedianMost = 10ms;
constexpr Duration kP99Most = 50ms;

// Breaks a device that is well, or mends it.
struct Change {
  std::string sign, value, health;
};

StatusOr<Duration> OneChange(Rig& rig, cli::AgentLink& driver, const std::string& pod,
                             const std::string& device, const Change& change) {
  ASSIGN_OR_RETURN(const WallTime injected, Inject(driver, device, change.sign, change.value));
  RETURN_IF_ERROR(rig.Until(fmt::format("{} to be told {}", pod, change.health), kToldWithin,
                            [&] { return rig.pods().Of(pod).device.health == change.health; }));
  return rig.pods().Of(pod).seen - injected;
}

}  // namespace

StatusOr<std::vector<Figure>> MeasureLatency(Bench& bench) {
  ASSIGN_OR_RETURN(const auto rig, Rig::Start(bench, "manager"));
  RETURN_IF_ERROR(rig->StartGpuDriver(kPods));
  RETURN_IF_ERROR(rig->MakePods(Rig::kGpuDriver, kPods));
  ASSIGN_OR_RETURN(const auto devices, rig->DevicesOfPods());
  ASSIGN_OR_RETURN(const auto driver, rig->LinkToDriver(Rig::kGpuDriver));
  std::vector<Duration> samples;
  for (int i = 0; i < kChanges; ++i) {
    const std::string pod = PodName(i % kPods);
    // All devices break one after the other, then all are mended.
    const bool breaks = i / kPods % 2 == 0;
    const Change change =
        breaks ? Change{"xid", "79", "Unhealthy"} : Change{"reset", "", "Healthy"};
    ASSIGN_OR_RETURN(const Duration took, OneChange(*rig, *driver, pod, devices.at(pod), change));
    samples.push_back(took);
    rig->Pause(kBetween);
  }
  return std::vector<Figure>{
      {.what = fmt::format("event at the driver → Pod's status at a watcher, {} single changes",
                           samples.size()),
       .measured = Spread(samples),
       .goal = "p50 ≤ 10 ms, p99 ≤ 50 ms",
       .met = Percentile(samples, 50) <= kMedianMost && Percentile(samples, 99) <= kP99Most}};
}

}  // namespace galen::bench
