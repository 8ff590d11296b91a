#include <csignal>

#include "base/files/posix_file_system.h"
#include "bench/last_report.h"
#include "bench/manifest.h"
#include "bench/parts.h"
#include "history/journal/journal.h"
#include "history/store/record.h"
#include "protos/galen/inspect/v1/inspect.pb.h"

namespace galen::bench {
namespace {

namespace inspect = galen::inspect::v1;
using namespace std::chrono_literals;

// More than a node has.
constexpr int kDevices = 64;
constexpr Duration kMadeWithin = 120s;
constexpr Duration kTrueWithin = 30s;
// Writes to a Pod for the first change and the last; a storm that goes on is published every five
// seconds, with what is worse again after it.
constexpr std::uint64_t kWritesAPod = 2;
// A machine that pauses a driver or the agent for as long as a storm takes to rest (100 to 500 ms,
// record 17) makes two storms of one. So the goal above is one of time; this holds on a busy
// machine too. Without any pace it was 25 within four seconds.
constexpr std::uint64_t kWritesAPodOfABusyMachine = 4;
constexpr double kPublishedEachSeconds = 5;
constexpr Duration kRest = 2s;  // what only completes the journal is written a second later

// What the agent has counted.
struct Counts {
  std::uint64_t changes = 0, api_writes = 0, pod_writes = 0, reports = 0;
};

StatusOr<Counts> CountsOf(Rig& rig) {
  ASSIGN_OR_RETURN(const auto status, rig.AskAgent<inspect::GetStatusResponse>(
                                          "GetStatus", inspect::GetStatusRequest()));
  ASSIGN_OR_RETURN(const auto drivers, rig.AskAgent<inspect::ListDriversResponse>(
                                           "ListDrivers", inspect::ListDriversRequest()));
  Counts counts{.changes = status.changes(),
                .api_writes = status.api_writes(),
                .pod_writes = status.pod_writes()};
  for (const inspect::Driver& driver : drivers.drivers()) counts.reports += driver.reports();
  return counts;
}

// The changes that the journal on disk holds. REQUIRES: its agent has ended.
StatusOr<std::uint64_t> ChangesInJournal(const std::string& directory) {
  PosixFileSystem files;
  ASSIGN_OR_RETURN(const auto replayed, history::Journal::Open(files, directory));
  if (!replayed.notes.empty()) return DataLoss("the journal: {}", replayed.notes.front());
  std::uint64_t changes = 0;
  for (const std::string& line : replayed.records) {
    ASSIGN_OR_RETURN(const history::Record record, history::Decode(line));
    changes += record.kind == history::Kind::kChange;
  }
  return changes;
}

// What one burst came to.
struct Outcome {
  std::int64_t made = 0;
  Duration made_in{}, true_after{};
  int pods_right = 0, devices_right = 0;
  Counts before, after;
  std::uint64_t journalled = 0;
};

std::vector<Figure> FiguresOf(const Outcome& outcome) {
  const std::uint64_t reports = outcome.after.reports - outcome.before.reports;
  const std::uint64_t writes = outcome.after.pod_writes - outcome.before.pod_writes;
  const std::uint64_t others = outcome.after.api_writes - outcome.before.api_writes - writes;
  const double seconds = std::chrono::duration<double>(outcome.made_in).count();
  const std::uint64_t spans = 1 + static_cast<std::uint64_t>(seconds / kPublishedEachSeconds);
  const std::uint64_t allowed = kWritesAPod * spans;
  const std::uint64_t allowed_busy = kWritesAPodOfABusyMachine * spans;
  const auto made = static_cast<std::uint64_t>(outcome.made);
  return {{.what = fmt::format("{} changes over {} devices in {:.1f} s: last states right",
                               Count(made), kDevices, seconds),
           .measured = fmt::format("{} of {} in the agent, {} of {} Pods", outcome.devices_right,
                                   kDevices, outcome.pods_right, kDevices),
           .goal = "all; 0 lost",
           .met = outcome.devices_right == kDevices && outcome.pods_right == kDevices},
          {.what = "… transitions that the agent saw since its start, in its journal on disk",
           .measured =
               fmt::format("{} seen, {} kept; {} reports received, the rest merged on their way",
                           Count(outcome.after.changes), Count(outcome.journalled), Count(reports)),
           .goal = "each",
           .met = outcome.after.changes == outcome.journalled},
          {.what = "… writes to the Pods, the first change at once and the last",
           .measured = fmt::format(
               "{} in all, {:.1f} a Pod; last Pod right {} after the last change; {} to "
               "the node's NodeDeviceHealth",
               Count(writes), static_cast<double>(writes) / kDevices,
               Milliseconds(outcome.true_after), Count(others)),
           .goal = fmt::format("≤ {} a Pod: 2 for each 5 s", allowed),
           .met = writes <= allowed * kDevices,
           .is_time = true},
          {.what = "… the same, where the machine pauses in between",
           .measured = fmt::format("{} in all", Count(writes)),
           .goal = fmt::format("≤ {} a Pod: 4 for each 5 s", allowed_busy),
           .met = writes <= allowed_busy * kDevices}};
}

// A burst on a node of its own.
StatusOr<Outcome> Burst(Bench& bench, std::int64_t changes) {
  ASSIGN_OR_RETURN(const auto rig, Rig::Start(bench, {.role = "manager"}));
  const OwnDriver driver{.devices = kDevices,
                         .changes = changes,
                         .start_file = rig->place().directory + "/start",
                         .result_file = rig->place().directory + "/result"};
  RETURN_IF_ERROR(rig->StartOwnDriver(driver));
  RETURN_IF_ERROR(rig->MakePods({.driver = kOwnDriverName, .count = kDevices}));
  ASSIGN_OR_RETURN(const LastReports last, ExpectedAfter(*rig, changes, kDevices));
  Outcome outcome;
  outcome.made = changes;
  ASSIGN_OR_RETURN(outcome.before, CountsOf(*rig));
  LetBegin(driver);
  ASSIGN_OR_RETURN(outcome.made_in, AwaitChanges(*rig, driver, kMadeWithin));
  const Time made = bench.loop.Now();
  RETURN_IF_ERROR(AwaitPods(*rig, last, kTrueWithin));
  outcome.true_after = bench.loop.Now() - made;
  rig->Pause(kRest);
  outcome.pods_right = PodsRight(*rig, last);
  ASSIGN_OR_RETURN(outcome.devices_right, DevicesRight(*rig, last));
  ASSIGN_OR_RETURN(outcome.after, CountsOf(*rig));
  // The journal has one writer and is read when that has gone.
  rig->programs().End(Rig::kAgent, SIGTERM);
  ASSIGN_OR_RETURN(outcome.journalled, ChangesInJournal(rig->place().agent_state() + "/journal"));
  return outcome;
}

}  // namespace

StatusOr<std::vector<Figure>> MeasureBurst(Bench& bench) {
  Random random(Random::Seed());
  std::vector<Figure> figures;
  for (const std::int64_t changes : DrawBursts(random, kDevices)) {
    ASSIGN_OR_RETURN(const Outcome outcome, Burst(bench, changes));
    for (Figure& figure : FiguresOf(outcome)) figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace galen::bench
