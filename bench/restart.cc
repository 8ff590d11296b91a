#include <csignal>

#include "bench/manifest.h"
#include "bench/parts.h"

namespace galen::bench {
namespace {

using namespace std::chrono_literals;

constexpr int kRestarts = 10;
constexpr int kPods = 8;
constexpr Duration kPublishedWithin = 20s;
// The goal: journal, API and drivers are back within a second.
constexpr Duration kMost = 1s;
// What a driver's own poll, and its reconnection, may still bring after the start.
constexpr Duration kBetween = 500ms;

// The agent is away, a device changes; how long the new agent takes to say so.
StatusOr<Duration> OneRestart(Rig& rig, cli::AgentLink& driver, const std::string& pod,
                              const std::string& device, bool breaks) {
  const std::string health = breaks ? "Unhealthy" : "Healthy";
  // Without notice, and the change falls into the time without an agent.
  rig.programs().End(Rig::kAgent, SIGKILL);
  RETURN_IF_ERROR(Inject(driver, device, breaks ? "xid" : "reset", breaks ? "79" : "").status());
  const WallTime started = rig.bench().loop.WallNow();
  RETURN_IF_ERROR(rig.StartAgent());
  RETURN_IF_ERROR(rig.Until(fmt::format("{} to show {}", pod, health), kPublishedWithin,
                            [&] { return rig.pods().Of(pod).device.health == health; }));
  return rig.pods().Of(pod).seen - started;
}

}  // namespace

StatusOr<std::vector<Figure>> MeasureRestart(Bench& bench) {
  ASSIGN_OR_RETURN(const auto rig, Rig::Start(bench, {.role = "manager"}));
  RETURN_IF_ERROR(rig->StartGpuDriver(kPods));
  RETURN_IF_ERROR(rig->MakePods({.driver = Rig::kGpuDriver, .count = kPods}));
  ASSIGN_OR_RETURN(const auto devices, rig->DevicesOfPods());
  ASSIGN_OR_RETURN(const auto driver, rig->LinkToDriver(Rig::kGpuDriver));
  std::vector<Duration> samples;
  for (int i = 0; i < kRestarts; ++i) {
    ASSIGN_OR_RETURN(const Duration took,
                     OneRestart(*rig, *driver, PodName(0), devices.at(PodName(0)), i % 2 == 0));
    samples.push_back(took);
    rig->Pause(kBetween);
  }
  return std::vector<Figure>{
      {.what = fmt::format("agent killed -9 and started → first correct Pod status, {} times",
                           samples.size()),
       .measured = Spread(samples),
       .goal = "each ≤ 1 s",
       .met = Percentile(samples, 100) <= kMost,
       .is_time = true}};
}

}  // namespace galen::bench
