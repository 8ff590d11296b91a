// How large a node may be: 4,096 devices that 512 Pods hold.
#include "bench/manifest.h"
#include "bench/parts.h"
#include "bench/process_use.h"
#include "protos/galen/inspect/v1/inspect.pb.h"

namespace galen::bench {
namespace {

namespace inspect = galen::inspect::v1;
using namespace std::chrono_literals;

// As many as the largest node could have: sixteen drivers, as a node with GPUs, their partitions
// and virtual functions of its cards would, each with two slices of 128.
constexpr int kDrivers = 16;
constexpr int kDevicesEach = 256;
constexpr int kDevices = kDrivers * kDevicesEach;
constexpr int kPods = 512;
constexpr int kPodsEach = kPods / kDrivers;

constexpr int kChanges = 300;
constexpr Duration kBetween = 50ms;
constexpr Duration kSettle = 10s;
constexpr Duration kPublishedWithin = 60s;
// The goals.
constexpr std::uint64_t kRssMost = std::uint64_t{40} << 20;
constexpr Duration kP99Most = 20ms;

// As long as "gpu.nvidia.com" and its like: each device's name holds it.
std::string DriverOf(int number) {
  return fmt::format("gpu.maker-{}.com", static_cast<char>('a' + number));
}

PodPlan PlanOf(int driver) {
  return {.driver = DriverOf(driver),
          .count = kPodsEach,
          .first = driver * kPodsEach,
          .devices = kDevicesEach / kPodsEach};
}

StatusOr<std::unique_ptr<Rig>> StartNode(Bench& bench) {
  ASSIGN_OR_RETURN(auto rig, Rig::Start(bench, {.role = "observer", .max_pods = kPods}));
  for (int i = 0; i < kDrivers; ++i) {
    RETURN_IF_ERROR(rig->StartGpuDriver(kDevicesEach, DriverOf(i)));
    RETURN_IF_ERROR(rig->MakeClass(PlanOf(i)));
    RETURN_IF_ERROR(rig->CreatePods(PlanOf(i)));
  }
  for (int i = 0; i < kDrivers; ++i) RETURN_IF_ERROR(rig->AwaitPods(PlanOf(i)));
  return rig;
}

// A device that is held, and by whom.
struct Held {
  std::string driver, device, pod;
};

// The held devices of each driver, by number of the driver.
StatusOr<std::vector<std::vector<Held>>> HeldDevices(Rig& rig) {
  ASSIGN_OR_RETURN(const auto answer, rig.AskAgent<inspect::ListDevicesResponse>(
                                          "ListDevices", inspect::ListDevicesRequest()));
  std::vector<std::vector<Held>> all(kDrivers);
  std::size_t held = 0;
  for (const inspect::Device& device : answer.devices()) {
    for (int i = 0; i < kDrivers && !device.holders().empty(); ++i) {
      if (device.driver() != DriverOf(i)) continue;
      all[static_cast<std::size_t>(i)].push_back(
          {device.driver(), device.device(), device.holders(0).pod()});
      ++held;
    }
  }
  if (held == kDevices) return all;
  return NotFound("the agent knows {} devices that are held, of {}", held, kDevices);
}

// An observer publishes in the condition, which names the worst device; the annotation follows.
StatusOr<Duration> OneChange(Rig& rig, cli::AgentLink& driver, const Held& held, bool breaks) {
  const std::string worst = held.device + " Unhealthy";
  ASSIGN_OR_RETURN(const WallTime injected,
                   Inject(driver, held.device, breaks ? "xid" : "reset", breaks ? "79" : ""));
  RETURN_IF_ERROR(
      rig.Until(fmt::format("{} to show {}", held.pod, held.device), kPublishedWithin, [&] {
        const std::string& says = rig.pods().Of(held.pod).condition;
        return says.starts_with(worst) == breaks;
      }));
  return rig.pods().Of(held.pod).seen - injected;
}

// One driver after the other, each time another device: it breaks, and is mended.
StatusOr<std::vector<Duration>> SingleChanges(Rig& rig) {
  ASSIGN_OR_RETURN(const auto held, HeldDevices(rig));
  std::vector<std::unique_ptr<cli::AgentLink>> drivers;
  for (int i = 0; i < kDrivers; ++i) {
    ASSIGN_OR_RETURN(auto link, rig.LinkToDriver(DriverOf(i)));
    drivers.push_back(std::move(link));
  }
  std::vector<Duration> samples;
  for (std::size_t i = 0; i < kChanges; ++i) {
    const std::size_t driver = i % kDrivers;
    const auto& devices = held[driver];
    // Sixteen break one after the other, then these are mended; the next are of other Pods.
    const bool breaks = i / kDrivers % 2 == 0;
    const Held& device = devices[i / kDrivers / 2 * 8 % devices.size()];
    ASSIGN_OR_RETURN(const Duration took, OneChange(rig, *drivers[driver], device, breaks));
    samples.push_back(took);
    rig.Pause(kBetween);
  }
  return samples;
}

}  // namespace

StatusOr<std::vector<Figure>> MeasureScale(Bench& bench) {
  const Time began = bench.loop.Now();
  ASSIGN_OR_RETURN(const auto rig, StartNode(bench));
  const std::chrono::duration<double> made = bench.loop.Now() - began;
  rig->Pause(kSettle);
  ASSIGN_OR_RETURN(const std::vector<Duration> samples, SingleChanges(*rig));
  ASSIGN_OR_RETURN(const ProcessUse use, ReadProcessUse(rig->programs().pid(Rig::kAgent)));
  return std::vector<Figure>{
      {.what = fmt::format("observer of a node with {} devices of {} drivers, held by {} Pods: "
                           "memory",
                           Count(kDevices), kDrivers, kPods),
       .measured = fmt::format("{} resident, at most {}", Mebibytes(use.rss_bytes),
                               Mebibytes(use.peak_bytes)),
       .goal = "≤ 40 MiB resident",
       .met = use.rss_bytes <= kRssMost},
      {.what = fmt::format("… event at the driver → the Pod's condition at a watcher, {} single "
                           "changes",
                           samples.size()),
       .measured = Spread(samples),
       .goal = "p99 ≤ 20 ms",
       .met = Percentile(samples, 99) <= kP99Most,
       .is_time = true},
      {.what = "… from an empty cluster until every Pod is published",
       .measured = fmt::format("{:.0f} s", made.count())}};
}

}  // namespace galen::bench
