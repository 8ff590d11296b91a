// What drivers within their documented limits can do together: many, with many devices, all of
// which change at each report. Looked at from the first moment on.
#include "bench/agent_page.h"
#include "bench/flooding_driver.h"
#include "bench/manifest.h"
#include "bench/parts.h"
#include "bench/process_use.h"

namespace galen::bench {
namespace {

using namespace std::chrono_literals;

constexpr int kDrivers = 8;
constexpr std::int64_t kDevicesEach = 4'000;
// More than anybody reads: each waits for room in its stream.
constexpr std::int64_t kReportsPerSecond = 100;
constexpr Duration kLooked = 15s;
constexpr Duration kBetween = 100ms;
constexpr int kPods = 8;
constexpr Duration kShownWithin = 5s;
constexpr Duration kAnswerWithin = 5s;
// The goals. As flood: what a neighbour's crowd may cost the others; the memory is the limit of the
// DaemonSet's container (128 Mi), of which half is left.
constexpr std::uint64_t kPeakMost = std::uint64_t{64} << 20;
constexpr Duration kAnswerP99Most = 100ms;
constexpr Duration kChangeP99Most = 100ms;
// A step is long from 20 ms on.
constexpr std::string_view kLongSteps = "galen_loop_long_steps_total";

// What was seen from the crowd's start on.
struct Outcome {
  std::vector<Duration> answers, changes;
  std::size_t unanswered = 0, unshown = 0;
  // The agent's loop: the longest since it was started, in seconds; and how many were too long
  // since the crowd came.
  double longest_step = 0, long_steps = 0;
};

// A change of a quiet neighbour's device.
struct Change {
  std::string pod, device;
  bool breaks = true;
};

// One question to the agent, one change.
Status LookOnce(Rig& rig, cli::AgentLink& driver, std::uint16_t port, const Change& change,
                Outcome& outcome) {
  const Time asked = rig.bench().loop.Now();
  const auto healthy = ReadPage(port, "/healthz", kAnswerWithin);
  outcome.answers.push_back(rig.bench().loop.Now() - asked);
  outcome.unanswered += !healthy.ok();
  ASSIGN_OR_RETURN(
      const WallTime injected,
      Inject(driver, change.device, change.breaks ? "xid" : "reset", change.breaks ? "79" : ""));
  const std::string wanted = change.breaks ? "Unhealthy" : "Healthy";
  const auto shown = [&] { return rig.pods().Of(change.pod).device.health == wanted; };
  const Time began = rig.bench().loop.Now();
  // One that does not come is a figure, not an error.
  RETURN_IF_ERROR(rig.Until("the Pod", kShownWithin + 1s, [&] {
    return shown() || rig.bench().loop.Now() - began > kShownWithin;
  }));
  outcome.unshown += !shown();
  outcome.changes.push_back(shown() ? rig.pods().Of(change.pod).seen - injected : kShownWithin);
  return OkStatus();
}

StatusOr<Outcome> Look(Rig& rig) {
  ASSIGN_OR_RETURN(const auto devices, rig.DevicesOfPods());
  ASSIGN_OR_RETURN(const auto driver, rig.LinkToDriver(Rig::kGpuDriver));
  ASSIGN_OR_RETURN(const std::uint16_t port, PortOfPage(rig.place().log(Rig::kAgent)));
  ASSIGN_OR_RETURN(const std::string before, ReadPage(port, "/metrics", kAnswerWithin));
  Outcome outcome;
  const Time end = rig.bench().loop.Now() + kLooked;
  // All devices break one after the other, then all are mended.
  for (int i = 0; rig.bench().loop.Now() < end; ++i) {
    const std::string pod = PodName(i % kPods);
    RETURN_IF_ERROR(
        LookOnce(rig, *driver, port, {pod, devices.at(pod), i / kPods % 2 == 0}, outcome));
    rig.Pause(kBetween);
  }
  ASSIGN_OR_RETURN(const std::string after, ReadPage(port, "/metrics", kAnswerWithin));
  ASSIGN_OR_RETURN(outcome.longest_step, ValueOf(after, "galen_loop_longest_step_seconds"));
  ASSIGN_OR_RETURN(const double earlier, ValueOf(before, kLongSteps));
  ASSIGN_OR_RETURN(outcome.long_steps, ValueOf(after, kLongSteps));
  outcome.long_steps -= earlier;
  return outcome;
}

}  // namespace

StatusOr<std::vector<Figure>> MeasureCrowd(Bench& bench) {
  ASSIGN_OR_RETURN(auto rig, Rig::Start(bench, {.role = "manager"}));
  RETURN_IF_ERROR(rig->StartGpuDriver(kPods));
  RETURN_IF_ERROR(rig->MakePods({.driver = Rig::kGpuDriver, .count = kPods}));
  const pid_t agent = rig->programs().pid(Rig::kAgent);
  ASSIGN_OR_RETURN(const ProcessUse before, ReadProcessUse(agent));
  for (int i = 0; i < kDrivers; ++i) {
    RETURN_IF_ERROR(rig->StartFloodingDriver({.name = fmt::format("crowd-{}.example.com", i),
                                              .devices = kDevicesEach,
                                              .reports_per_second = kReportsPerSecond}));
  }
  const Time began = bench.loop.Now();
  ASSIGN_OR_RETURN(const Outcome outcome, Look(*rig));
  const double seconds = std::chrono::duration<double>(bench.loop.Now() - began).count();
  ASSIGN_OR_RETURN(const ProcessUse after, ReadProcessUse(agent));
  return std::vector<Figure>{
      {.what = fmt::format("{} drivers of {} devices, all in another state at each report, from "
                           "their first second on: the agent's answers to /healthz",
                           kDrivers, Count(kDevicesEach)),
       .measured = Spread(outcome.answers),
       .goal = "p99 ≤ 100 ms",
       .met = Percentile(outcome.answers, 99) <= kAnswerP99Most,
       .is_time = true},
      {.what = fmt::format("… event at a quiet driver beside them → Pod's status, {} changes",
                           outcome.changes.size()),
       .measured = Spread(outcome.changes),
       .goal = "p99 ≤ 100 ms",
       .met = Percentile(outcome.changes, 99) <= kChangeP99Most,
       .is_time = true},
      {.what = "… not within 5 s: answers, changes",
       .measured = fmt::format("{} of {}, {} of {}", outcome.unanswered, outcome.answers.size(),
                               outcome.unshown, outcome.changes.size()),
       .goal = "none",
       .met = outcome.unanswered == 0 && outcome.unshown == 0},
      {.what = "… memory of the agent, before and at most",
       .measured = Mebibytes(before.peak_bytes) + ", " + Mebibytes(after.peak_bytes),
       .goal = "≤ 64 MiB",
       .met = after.peak_bytes <= kPeakMost},
      {.what = "… things that the agent did for longer than 20 ms at once, by its own metric",
       .measured = fmt::format("{:.0f}; the longest since its start {:.1f} ms", outcome.long_steps,
                               outcome.longest_step * 1e3),
       .goal = "none",
       .met = outcome.long_steps == 0,
       .is_time = true},
      {.what = "… CPU time of the agent meanwhile",
       .measured = fmt::format("{:.0f} % of a core",
                               static_cast<double>(after.ticks - before.ticks) / seconds)}};
}

}  // namespace galen::bench
