// Changes without a pause: does anything grow, is anything lost.
#include "bench/last_report.h"
#include "bench/manifest.h"
#include "bench/memory_slope.h"
#include "bench/parts.h"
#include "bench/process_use.h"
#include "protos/galen/inspect/v1/inspect.pb.h"

namespace galen::bench {
namespace {

namespace inspect = galen::inspect::v1;
using namespace std::chrono_literals;

constexpr std::int64_t kPerSecond = 5'000;
constexpr std::size_t kSeconds = 60;
constexpr int kDevices = 64;
// All devices change equally often, and the last time to Unhealthy: a state that says which change
// it is.
constexpr std::int64_t kRounds = kPerSecond * static_cast<std::int64_t>(kSeconds) / kDevices;
static_assert(kRounds % 2 == 1);
constexpr std::int64_t kChanges = kRounds * kDevices;
// From the tenth second on everything that is bounded is full.
constexpr std::size_t kWarm = 10;
constexpr std::size_t kStretch = 10;
// From the middle of the first stretch to that of the last.
constexpr std::uint64_t kChangesBetween = kPerSecond * (kSeconds - kWarm - kStretch);
constexpr Duration kTrueWithin = 30s;
constexpr Duration kEndsWithin = 60s;

struct Outcome {
  std::vector<std::uint64_t> resident;  // each second
  Duration made_in{}, true_after{};
  int pods_right = 0, devices_right = 0;
  DriverOrder shown{kChanges, kDevices};  // on the Pods
  std::uint64_t transitions = 0, pod_writes = 0, ticks = 0;
};

StatusOr<inspect::GetStatusResponse> StatusOf(Rig& rig) {
  return rig.AskAgent<inspect::GetStatusResponse>("GetStatus", inspect::GetStatusRequest());
}

// While the driver makes its changes, what the agent has resident each second.
StatusOr<std::vector<std::uint64_t>> Sample(Rig& rig) {
  std::vector<std::uint64_t> resident;
  for (std::size_t i = 0; i < kSeconds; ++i) {
    rig.Pause(1s);
    if (rig.bench().interrupted) return Cancelled("interrupted");
    ASSIGN_OR_RETURN(const ProcessUse use, ReadProcessUse(rig.programs().pid(Rig::kAgent)));
    resident.push_back(use.rss_bytes);
  }
  return resident;
}

StatusOr<Outcome> Run(Rig& rig, const OwnDriver& driver) {
  ASSIGN_OR_RETURN(const LastReports last, ExpectedAfter(rig, kChanges, kDevices));
  ASSIGN_OR_RETURN(const auto device_of, rig.DevicesOfPods());
  Outcome outcome;
  const OrderOnPods shown(rig, device_of, kChanges, kDevices);
  const pid_t agent = rig.programs().pid(Rig::kAgent);
  ASSIGN_OR_RETURN(const auto before, StatusOf(rig));
  ASSIGN_OR_RETURN(const ProcessUse rested, ReadProcessUse(agent));
  LetBegin(driver);
  ASSIGN_OR_RETURN(outcome.resident, Sample(rig));
  ASSIGN_OR_RETURN(const ProcessUse used, ReadProcessUse(agent));
  outcome.ticks = used.ticks - rested.ticks;
  ASSIGN_OR_RETURN(outcome.made_in, AwaitChanges(rig, driver, kEndsWithin));
  const Time made = rig.bench().loop.Now();
  RETURN_IF_ERROR(AwaitPods(rig, last, kTrueWithin));
  outcome.true_after = rig.bench().loop.Now() - made;
  outcome.shown = shown.order();
  outcome.pods_right = PodsRight(rig, last);
  ASSIGN_OR_RETURN(outcome.devices_right, DevicesRight(rig, last));
  ASSIGN_OR_RETURN(const auto after, StatusOf(rig));
  outcome.transitions = after.changes() - before.changes();
  outcome.pod_writes = after.pod_writes() - before.pod_writes();
  return outcome;
}

}  // namespace

StatusOr<std::vector<Figure>> MeasureSustained(Bench& bench) {
  ASSIGN_OR_RETURN(const auto rig, Rig::Start(bench, {.role = "manager"}));
  const OwnDriver driver{.devices = kDevices,
                         .changes = kChanges,
                         .changes_per_second = kPerSecond,
                         .start_file = rig->place().directory + "/start",
                         .result_file = rig->place().directory + "/result"};
  RETURN_IF_ERROR(rig->StartOwnDriver(driver));
  RETURN_IF_ERROR(rig->MakePods({.driver = kOwnDriverName, .count = kDevices}));
  ASSIGN_OR_RETURN(const Outcome run, Run(*rig, driver));
  const MemorySlope slope = SlopeOf(run.resident, kWarm, kStretch);
  const double seconds = std::chrono::duration<double>(run.made_in).count();
  return std::vector<Figure>{
      {.what = fmt::format("{} changes a second for {:.0f} s over {} devices: last states right",
                           Count(kPerSecond), seconds, kDevices),
       .measured = fmt::format("{} of {} in the agent, {} of {} Pods {} after the last change",
                               run.devices_right, kDevices, run.pods_right, kDevices,
                               Milliseconds(run.true_after)),
       .goal = "all; 0 lost",
       .met = run.devices_right == kDevices && run.pods_right == kDevices},
      {.what = "… the driver's own numbers of its changes, on the Pods",
       .measured = fmt::format(
           "{} of {} out of order, {} of {} devices end with the last{}{}",
           run.shown.out_of_order(), Count(run.shown.numbered()), run.shown.at_the_last(), kDevices,
           run.shown.first_fault().empty() ? "" : "; ", run.shown.first_fault()),
       .goal = "0 out of order, all end with the last",
       .met = run.shown.out_of_order() == 0 && run.shown.at_the_last() == kDevices},
      {.what = "… memory of the agent, median of seconds 11 to 20 and of the last ten",
       .measured = fmt::format("{}, {}: {:+} pages", Mebibytes(slope.early_bytes),
                               Mebibytes(slope.late_bytes), slope.pages()),
       .goal = fmt::format("≤ {} pages more ({:.1f} bytes a change)", kFlatPagesMost,
                           LeastLeakFound(kChangesBetween)),
       .met = slope.pages() <= kFlatPagesMost},
      {.what = "… transitions that the agent saw, writes to its Pods, CPU time",
       .measured = fmt::format("{}, {} ({:.1f} a second and Pod), {:.0f} % of a core",
                               Count(run.transitions), Count(run.pod_writes),
                               static_cast<double>(run.pod_writes) / kDevices / seconds,
                               static_cast<double>(run.ticks) / static_cast<double>(kSeconds))}};
}

}  // namespace galen::bench
