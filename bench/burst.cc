#include <algorithm>
#include <csignal>

#include "base/files/posix_file_system.h"
#include "bench/driver_order.h"
#include "bench/kept_records.h"
#include "bench/last_report.h"
#include "bench/manifest.h"
#include "bench/parts.h"
#include "history/journal/journal.h"
#include "history/journal/segment.h"
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
// What only completes the journal is written a second later (HealthKeeper::kSyncLater).
constexpr Duration kJournalSettles = 2s;

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

// What the journal on disk holds. REQUIRES: its agent has ended.
struct Journalled {
  std::uint64_t changes = 0;
  KeptRecords records;
  bool rewritten = false;
  DriverOrder order;
};

// Whether the first segment is a snapshot, which stands for those that were there before it.
StatusOr<bool> WasRewritten(FileSystem& files, const std::string& directory) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, files.List(directory));
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(".segment"); });
  if (names.empty()) return NotFound("no journal in {}", directory);
  ASSIGN_OR_RETURN(const std::string bytes,
                   files.Read(directory + "/" + *std::ranges::min_element(names)));
  return bytes.starts_with(history::HeaderOf(history::SegmentKind::kSnapshot));
}

StatusOr<Journalled> ReadJournal(const std::string& directory, std::int64_t changes) {
  PosixFileSystem files;
  ASSIGN_OR_RETURN(const auto replayed, history::Journal::Open(files, directory));
  if (!replayed.notes.empty()) return DataLoss("the journal: {}", replayed.notes.front());
  Journalled read{.order = {changes, kDevices}};
  ASSIGN_OR_RETURN(read.rewritten, WasRewritten(files, directory));
  for (const std::string& line : replayed.records) {
    ASSIGN_OR_RETURN(const history::Record record, history::Decode(line));
    read.records.Add(record.sequence);
    if (record.kind != history::Kind::kChange || !record.change) continue;
    ++read.changes;
    const DeviceHealth& after = record.change->after;
    read.order.Add(record.device.device, after.state, after.cause.value);
  }
  return read;
}

// What one burst came to.
struct Outcome {
  std::int64_t made = 0;
  Duration made_in{}, true_after{};
  int pods_right = 0, devices_right = 0;
  Counts before, after;
  Journalled journal;
  DriverOrder shown;  // on the Pods
};

// What the journal holds of what the agent saw.
Figure JournalFigure(const Outcome& outcome) {
  const Journalled& journal = outcome.journal;
  const std::uint64_t reports = outcome.after.reports - outcome.before.reports;
  std::string measured =
      fmt::format("{} seen, {} kept; {} reports received, the rest merged on their way",
                  Count(outcome.after.changes), Count(journal.changes), Count(reports));
  if (journal.rewritten) {
    measured += fmt::format("; rewritten at its bound of 16 MiB, the newest {} records whole",
                            Count(journal.records.newest_without_gap()));
  }
  return {.what = "… transitions that the agent saw since its start, in its journal on disk",
          .measured = std::move(measured),
          .goal = "each; of a rewritten journal the newest, none missing between them",
          .met = journal.records.AreAll(journal.rewritten) &&
                 (journal.rewritten || outcome.after.changes == journal.changes)};
}

// What was kept and shown against the numbers that the driver gave its changes.
Figure OrderFigure(const Outcome& outcome) {
  const DriverOrder& kept = outcome.journal.order;
  const DriverOrder& shown = outcome.shown;
  std::string measured = fmt::format(
      "journal: {} of {} changes out of order, {} of {} devices end with the last; Pods: {} of {}, "
      "{} of {}",
      kept.out_of_order(), Count(kept.numbered()), kept.at_the_last(), kDevices,
      shown.out_of_order(), Count(shown.numbered()), shown.at_the_last(), kDevices);
  for (const DriverOrder* order : {&kept, &shown}) {
    if (!order->first_fault().empty()) measured += "; " + order->first_fault();
  }
  return {.what = "… the driver's own numbers of its changes, in the journal and on the Pods",
          .measured = std::move(measured),
          .goal = "0 out of order, all end with the last",
          .met = kept.out_of_order() + shown.out_of_order() == 0 &&
                 kept.at_the_last() == kDevices && shown.at_the_last() == kDevices};
}

std::vector<Figure> FiguresOf(const Outcome& outcome) {
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
          JournalFigure(outcome),
          OrderFigure(outcome),
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
  ASSIGN_OR_RETURN(const auto device_of, rig->DevicesOfPods());
  Outcome outcome{
      .made = changes, .journal = {.order = {changes, kDevices}}, .shown = {changes, kDevices}};
  const OrderOnPods shown(*rig, device_of, changes, kDevices);
  ASSIGN_OR_RETURN(outcome.before, CountsOf(*rig));
  LetBegin(driver);
  ASSIGN_OR_RETURN(outcome.made_in, AwaitChanges(*rig, driver, kMadeWithin));
  const Time made = bench.loop.Now();
  RETURN_IF_ERROR(AwaitPods(*rig, last, kTrueWithin));
  outcome.true_after = bench.loop.Now() - made;
  rig->Pause(kJournalSettles);
  outcome.shown = shown.order();
  outcome.pods_right = PodsRight(*rig, last);
  ASSIGN_OR_RETURN(outcome.devices_right, DevicesRight(*rig, last));
  ASSIGN_OR_RETURN(outcome.after, CountsOf(*rig));
  // The journal has one writer and is read when that has gone.
  rig->programs().End(Rig::kAgent, SIGTERM);
  ASSIGN_OR_RETURN(outcome.journal, ReadJournal(rig->place().agent_state() + "/journal", changes));
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
