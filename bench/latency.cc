#include "bench/manifest.h"
#include "bench/parts.h"
#include "bench/process_use.h"

namespace galen::bench {
namespace {

using namespace std::chrono_literals;

// p99 of 300 is the fourth worst: few enough to run, enough to mean something.
constexpr int kChanges = 300;
constexpr int kPods = 8;
constexpr Duration kBetween = 50ms;  // single changes: the one before has settled
constexpr Duration kPublishedWithin = 5s;
// The goals.
constexpr Duration kMedianMost = 10ms;
constexpr Duration kP99Most = 50ms;

constexpr double kFloodRatioMost = 2;
constexpr double kFloodShareMost = 25;
constexpr std::uint64_t kFloodMemoryMost = std::uint64_t{20} << 20;

// Breaks a device that is well, or mends it.
struct Change {
  std::string sign, value, health;
};

StatusOr<Duration> OneChange(Rig& rig, cli::AgentLink& driver, const std::string& pod,
                             const std::string& device, const Change& change) {
  ASSIGN_OR_RETURN(const WallTime injected, Inject(driver, device, change.sign, change.value));
  RETURN_IF_ERROR(rig.Until(fmt::format("{} to show {}", pod, change.health), kPublishedWithin,
                            [&] { return rig.pods().Of(pod).device.health == change.health; }));
  return rig.pods().Of(pod).seen - injected;
}

// A node whose GPUs are all held.
StatusOr<std::unique_ptr<Rig>> StartNode(Bench& bench) {
  ASSIGN_OR_RETURN(auto rig, Rig::Start(bench, {.role = "manager"}));
  RETURN_IF_ERROR(rig->StartGpuDriver(kPods));
  RETURN_IF_ERROR(rig->MakePods({.driver = Rig::kGpuDriver, .count = kPods}));
  return rig;
}

// From the sign to the Pod, kChanges times.
StatusOr<std::vector<Duration>> SingleChanges(Rig& rig) {
  ASSIGN_OR_RETURN(const auto devices, rig.DevicesOfPods());
  ASSIGN_OR_RETURN(const auto driver, rig.LinkToDriver(Rig::kGpuDriver));
  std::vector<Duration> samples;
  for (int i = 0; i < kChanges; ++i) {
    const std::string pod = PodName(i % kPods);
    // All devices break one after the other, then all are mended.
    const bool breaks = i / kPods % 2 == 0;
    const Change change =
        breaks ? Change{"xid", "79", "Unhealthy"} : Change{"reset", "", "Healthy"};
    ASSIGN_OR_RETURN(const Duration took, OneChange(rig, *driver, pod, devices.at(pod), change));
    samples.push_back(took);
    rig.Pause(kBetween);
  }
  return samples;
}

// What an agent used of a core while `take` ran, in percent.
template <typename Take>
StatusOr<double> ShareOfCore(Rig& rig, Take take) {
  const pid_t pid = rig.programs().pid(Rig::kAgent);
  const Time began = rig.bench().loop.Now();
  ASSIGN_OR_RETURN(const ProcessUse before, ReadProcessUse(pid));
  RETURN_IF_ERROR(take());
  ASSIGN_OR_RETURN(const ProcessUse after, ReadProcessUse(pid));
  const double seconds = std::chrono::duration<double>(rig.bench().loop.Now() - began).count();
  // A tick is 10 ms, so ticks a second are percent.
  return static_cast<double>(after.ticks - before.ticks) / seconds;
}

}  // namespace

StatusOr<std::vector<Figure>> MeasureLatency(Bench& bench) {
  ASSIGN_OR_RETURN(const auto rig, StartNode(bench));
  ASSIGN_OR_RETURN(const std::vector<Duration> samples, SingleChanges(*rig));
  return std::vector<Figure>{
      {.what = fmt::format("event at the driver → Pod's status at a watcher, {} single changes",
                           samples.size()),
       .measured = Spread(samples),
       .goal = "p50 ≤ 10 ms, p99 ≤ 50 ms",
       .met = Percentile(samples, 50) <= kMedianMost && Percentile(samples, 99) <= kP99Most,
       .is_time = true}};
}

StatusOr<std::vector<Figure>> MeasureFlood(Bench& bench) {
  ASSIGN_OR_RETURN(const auto rig, StartNode(bench));
  ASSIGN_OR_RETURN(const std::vector<Duration> calm, SingleChanges(*rig));
  ASSIGN_OR_RETURN(const ProcessUse before, ReadProcessUse(rig->programs().pid(Rig::kAgent)));
  RETURN_IF_ERROR(rig->StartFloodingDriver());
  std::vector<Duration> flooded;
  ASSIGN_OR_RETURN(const double share, ShareOfCore(*rig, [&]() -> Status {
                     ASSIGN_OR_RETURN(flooded, SingleChanges(*rig));
                     return OkStatus();
                   }));
  ASSIGN_OR_RETURN(const ProcessUse after, ReadProcessUse(rig->programs().pid(Rig::kAgent)));
  const double ratio = std::chrono::duration<double>(Percentile(flooded, 99)) /
                       std::chrono::duration<double>(Percentile(calm, 99));
  return std::vector<Figure>{
      {.what = fmt::format("event → Pod's status, {} single changes, beside a quiet neighbour",
                           calm.size()),
       .measured = Spread(calm)},
      {.what = "… beside a driver that reports 10,000 changes a second",
       .measured = fmt::format("{}: {:.1f} × the quiet p99", Spread(flooded), ratio),
       .goal = "≤ 2 × the quiet p99",
       .met = ratio <= kFloodRatioMost},
      {.what = "… CPU time of the agent meanwhile",
       .measured = fmt::format("{:.0f} % of a core", share),
       .goal = "≤ 25 % of a core",
       .met = share <= kFloodShareMost},
      {.what = "… memory of the agent, before and after",
       .measured = Mebibytes(before.rss_bytes) + ", " + Mebibytes(after.rss_bytes),
       .goal = "≤ 20 MiB more",
       .met = after.rss_bytes <= before.rss_bytes + kFloodMemoryMost}};
}

}  // namespace galen::bench
