// Drivers that die and drivers that hang: how long until their Pods show Unknown.
#include <csignal>

#include "bench/manifest.h"
#include "bench/parts.h"
#include "protos/galen/inspect/v1/inspect.pb.h"

namespace galen::bench {
namespace {

namespace inspect = galen::inspect::v1;
using namespace std::chrono_literals;

// Enough that the worst of them means something.
constexpr int kKills = 20;
constexpr int kPods = 8;
constexpr Duration kUnknownWithin = 60s;
constexpr Duration kBackWithin = 30s;
// The goals: a driver that is gone, or a deadline that passed, is published within a quarter of a
// second.
constexpr Duration kGoneMost = 250ms;

constexpr int kSilences = 10;
constexpr int kSilentPods = 4;
constexpr std::int64_t kTimeoutSeconds = 1;  // the shortest that a driver can ask for
// What was on its way when the driver was stopped has arrived by then.
constexpr Duration kInFlight = 20ms;
constexpr Duration kLateMost = 250ms;

Status WaitForAll(Rig& rig, int pods, const std::string& health, Duration limit) {
  return rig.Until("all Pods to show " + health, limit, [&] {
    for (int i = 0; i < pods; ++i) {
      if (rig.pods().Of(PodName(i)).device.health != health) return false;
    }
    return true;
  });
}

// A failure counts until the last Pod knows.
WallTime LastSeen(Rig& rig, int pods) {
  WallTime last{};
  for (int i = 0; i < pods; ++i) last = std::max(last, rig.pods().Of(PodName(i)).seen);
  return last;
}

StatusOr<Duration> OneKill(Rig& rig) {
  const WallTime killed = rig.bench().loop.WallNow();
  rig.programs().End(Rig::kDriver, SIGKILL);
  RETURN_IF_ERROR(WaitForAll(rig, kPods, "Unknown", kUnknownWithin));
  const Duration took = LastSeen(rig, kPods) - killed;
  RETURN_IF_ERROR(rig.StartGpuDriver(kPods));
  RETURN_IF_ERROR(WaitForAll(rig, kPods, "Healthy", kBackWithin));
  return took;
}

// When the agent's last report stops to hold.
StatusOr<WallTime> DeadlineOf(Rig& rig) {
  ASSIGN_OR_RETURN(const auto answer, rig.AskAgent<inspect::ListDevicesResponse>(
                                          "ListDevices", inspect::ListDevicesRequest()));
  if (answer.devices().empty()) return NotFound("the agent knows no device");
  const inspect::Device& device = answer.devices(0);
  // By the age that the agent reports: its clock and ours are compared at one moment only.
  return rig.bench().loop.WallNow() +
         std::chrono::milliseconds(device.deadline_millis() - device.report_age_millis());
}

StatusOr<Duration> OneSilence(Rig& rig) {
  // A process that is stopped keeps its sockets open: to the agent it looks as if it hung.
  rig.programs().Signal(Rig::kDriver, SIGSTOP);
  rig.Pause(kInFlight);
  ASSIGN_OR_RETURN(const WallTime deadline, DeadlineOf(rig));
  RETURN_IF_ERROR(WaitForAll(rig, kSilentPods, "Unknown", kUnknownWithin));
  const Duration late = LastSeen(rig, kSilentPods) - deadline;
  rig.programs().Signal(Rig::kDriver, SIGCONT);
  RETURN_IF_ERROR(WaitForAll(rig, kSilentPods, "Healthy", kBackWithin));
  return late;
}

}  // namespace

StatusOr<std::vector<Figure>> MeasureKilledDriver(Bench& bench) {
  ASSIGN_OR_RETURN(const auto rig, Rig::Start(bench, {.role = "manager"}));
  RETURN_IF_ERROR(rig->StartGpuDriver(kPods));
  RETURN_IF_ERROR(rig->MakePods({.driver = Rig::kGpuDriver, .count = kPods}));
  std::vector<Duration> samples;
  for (int i = 0; i < kKills; ++i) {
    ASSIGN_OR_RETURN(const Duration took, OneKill(*rig));
    samples.push_back(took);
  }
  return std::vector<Figure>{
      {.what = fmt::format("driver killed -9 → the last of its {} Pods Unknown, {} times", kPods,
                           samples.size()),
       .measured = Spread(samples),
       .goal = "each ≤ 250 ms",
       .met = Percentile(samples, 100) <= kGoneMost,
       .is_time = true}};
}

StatusOr<std::vector<Figure>> MeasureSilentDriver(Bench& bench) {
  ASSIGN_OR_RETURN(const auto rig, Rig::Start(bench, {.role = "manager"}));
  RETURN_IF_ERROR(
      rig->StartOwnDriver({.devices = kSilentPods, .timeout_seconds = kTimeoutSeconds}));
  RETURN_IF_ERROR(rig->MakePods({.driver = kOwnDriverName, .count = kSilentPods}));
  std::vector<Duration> samples;
  for (int i = 0; i < kSilences; ++i) {
    ASSIGN_OR_RETURN(const Duration late, OneSilence(*rig));
    samples.push_back(late);
  }
  return std::vector<Figure>{
      {.what =
           fmt::format("driver stopped, its report valid for {} s → the last of {} Pods Unknown "
                       "after the deadline, {} times",
                       kTimeoutSeconds, kSilentPods, samples.size()),
       .measured = Spread(samples),
       .goal = "each ≤ 250 ms",
       .met = Percentile(samples, 100) <= kLateMost,
       .is_time = true}};
}

}  // namespace galen::bench
