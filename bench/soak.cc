// A day of a busy node in two minutes: what grows, what is left open.
#include <algorithm>
#include <csignal>
#include <span>

#include "bench/manifest.h"
#include "bench/memory_slope.h"
#include "bench/parts.h"
#include "bench/process_use.h"
#include "protos/galen/inspect/v1/inspect.pb.h"

namespace galen::bench {
namespace {

namespace inspect = galen::inspect::v1;
using namespace std::chrono_literals;

// Each hour of the day takes this long, and as much longer as its work does.
constexpr Duration kHour = 4s;
constexpr int kHours = 24;
// What a busy node sees in an hour: a device that turns every 45 s, 16 Pods that come and go, its
// driver started anew, two dozen questions; each fourth hour the API server is killed.
constexpr int kChangesAnHour = 80;
constexpr int kBatchesAnHour = 2;
constexpr int kPodsABatch = 8;
constexpr int kQuestionsAnHour = 24;
constexpr int kHoursAnApi = 4;
constexpr int kDevices = 8;

// What is kept by a bound of its own fills within the first hours of the day, or each Pod that ends
// would count as growth until two weeks are over: post-mortem records at their smallest bound.
constexpr const char* kConfig = "postMortemBytesMax: 65536\n";
constexpr std::size_t kWarm = 12;
constexpr std::size_t kStretch = 6;

constexpr Duration kRestsWithin = 60s;

// At the end of an hour, when nothing is under way.
struct Rest {
  std::uint64_t resident = 0;
  std::size_t descriptors = 0;
};

struct Day {
  std::vector<Rest> hours;
  int changes = 0, pods = 0, driver_starts = 0, api_starts = 0, questions = 0;
};

class Soak {
 public:
  explicit Soak(Rig& rig) : rig_(rig) {}

  StatusOr<Day> Live() {
    for (int hour = 0; hour < kHours; ++hour) {
      if (rig_.bench().interrupted) return Cancelled("interrupted");
      RETURN_IF_ERROR(Annotate(OneHour(hour), "hour {} of the day", hour));
    }
    return day_;
  }

 private:
  Status OneHour(int hour) {
    const Time end = rig_.bench().loop.Now() + kHour;
    // Killed and stopped in turn: a crash, and an update.
    RETURN_IF_ERROR(RestartDriver(hour % 2 == 0 ? SIGKILL : SIGTERM));
    if (hour % kHoursAnApi == kHoursAnApi - 1) {
      RETURN_IF_ERROR(rig_.RestartApi());
      ++day_.api_starts;
    }
    for (int i = 0; i < kBatchesAnHour; ++i) RETURN_IF_ERROR(OneBatch());
    for (int i = 0; i < kQuestionsAnHour; ++i) RETURN_IF_ERROR(Ask());
    if (const Duration left = end - rig_.bench().loop.Now(); left > Duration::zero()) {
      rig_.Pause(left);
    }
    return NoteRest();
  }

  Status RestartDriver(int signal) {
    rig_.programs().End(Rig::kDriver, signal);
    ++day_.driver_starts;
    return rig_.StartGpuDriver(kDevices);
  }

  // Pods that get every device, whose devices break and are mended, and that go.
  Status OneBatch() {
    const PodPlan plan{.driver = Rig::kGpuDriver, .count = kPodsABatch, .first = day_.pods};
    RETURN_IF_ERROR(rig_.CreatePods(plan));
    day_.pods += kPodsABatch;
    RETURN_IF_ERROR(rig_.AwaitPods(plan));
    ASSIGN_OR_RETURN(const auto driver, rig_.LinkToDriver(Rig::kGpuDriver));
    ASSIGN_OR_RETURN(const auto devices, rig_.DevicesOfPods());
    for (int i = 0; i < kChangesAnHour / kBatchesAnHour; ++i, ++day_.changes) {
      const bool breaks = i / kPodsABatch % 2 == 0;
      const auto held = devices.find(PodName(plan.first + i % kPodsABatch));
      if (held == devices.end()) return NotFound("a Pod of the plan holds no device");
      RETURN_IF_ERROR(
          Inject(*driver, held->second, breaks ? "xid" : "reset", breaks ? "79" : "").status());
    }
    // An odd number of rounds: they end broken.
    for (const auto& [pod, device] : devices) {
      RETURN_IF_ERROR(Inject(*driver, device, "reset", "").status());
      ++day_.changes;
    }
    RETURN_IF_ERROR(rig_.AwaitPods(plan));
    return rig_.RemovePods(plan);
  }

  // As `galen` does: a connection, an answer, and gone.
  Status Ask() {
    ++day_.questions;
    return rig_.AskAgent<inspect::ListDevicesResponse>("ListDevices", inspect::ListDevicesRequest())
        .status();
  }

  // Waits until the agent has published all and everybody is connected again, and until the
  // connections that asked it are closed.
  Status NoteRest() {
    Status asked;
    RETURN_IF_ERROR(rig_.Until("the agent to rest", kRestsWithin, [&] {
      const auto status =
          rig_.AskAgent<inspect::GetStatusResponse>("GetStatus", inspect::GetStatusRequest());
      asked = status.status();
      return !status.ok() || (status->all_published() && status->troubles().empty());
    }));
    RETURN_IF_ERROR(asked);
    rig_.Pause(500ms);
    const pid_t agent = rig_.programs().pid(Rig::kAgent);
    ASSIGN_OR_RETURN(const ProcessUse use, ReadProcessUse(agent));
    ASSIGN_OR_RETURN(const std::size_t descriptors, CountDescriptors(agent));
    day_.hours.push_back({use.rss_bytes, descriptors});
    return OkStatus();
  }

  Rig& rig_;
  Day day_;
};

std::vector<Figure> FiguresOf(const Day& day) {
  std::vector<std::uint64_t> resident;
  // The first hour is the agent's start.
  std::vector<std::size_t> open;
  for (const Rest& rest : day.hours) resident.push_back(rest.resident);
  for (std::size_t i = 1; i < day.hours.size(); ++i) open.push_back(day.hours[i].descriptors);
  // A journal that was just rewritten has no file open, so that one comes and goes.
  const auto [fewest, most] = std::ranges::minmax(open);
  const std::size_t early = std::ranges::max(std::span(open).first(kStretch));
  const std::size_t late = std::ranges::max(std::span(open).last(kStretch));
  const MemorySlope slope = SlopeOf(resident, kWarm, kStretch);
  // What a day would add, from the middle of the one stretch to that of the other.
  const auto between = [](int count) {
    return static_cast<std::uint64_t>(count) * (kHours - kWarm - kStretch) / kHours;
  };
  return {
      {.what = fmt::format("a busy node's day in {} × {} s: {} changes, {} Pods that came and "
                           "went, {} starts of the driver, {} of the API, {} questions: memory "
                           "of the agent, median of hours 13 to 18 and of the last six",
                           kHours, kHour / 1s, Count(static_cast<std::uint64_t>(day.changes)),
                           day.pods, day.driver_starts, day.api_starts, day.questions),
       .measured = fmt::format("{}, {}: {:+} pages", Mebibytes(slope.early_bytes),
                               Mebibytes(slope.late_bytes), slope.pages()),
       .goal = fmt::format("≤ {} pages more ({:.0f} bytes a change, {:.0f} a Pod)", kFlatPagesMost,
                           LeastLeakFound(between(day.changes)), LeastLeakFound(between(day.pods))),
       .met = slope.pages() <= kFlatPagesMost},
      {.what = "… its open file descriptors, at rest at the end of each hour",
       .measured = fmt::format("{} to {}; at most {} in the first {} hours, {} in the last", fewest,
                               most, early, kStretch, late),
       .goal = "no more in the last hours",
       .met = late <= early}};
}

}  // namespace

StatusOr<std::vector<Figure>> MeasureSoak(Bench& bench) {
  ASSIGN_OR_RETURN(const auto rig,
                   Rig::Start(bench, {.role = "manager", .keeps_api = true, .config = kConfig}));
  RETURN_IF_ERROR(rig->StartGpuDriver(kDevices));
  RETURN_IF_ERROR(rig->MakeClass({.driver = Rig::kGpuDriver}));
  ASSIGN_OR_RETURN(const Day day, Soak(*rig).Live());
  return FiguresOf(day);
}

}  // namespace galen::bench
