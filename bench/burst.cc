#include <unistd.h>

#include <charconv>
#include <csignal>
#include <fstream>

#include "base/posix_file_system.h"
#include "bench/burst_plan.h"
#include "bench/manifest.h"
#include "bench/parts.h"
#include "history/journal.h"
#include "history/record.h"
#include "protos/galen/inspect/v1/inspect.pb.h"

namespace galen::bench {
namespace {

namespace inspect = galen::inspect::v1;
using namespace std::chrono_literals;

// Enough to fill every queue on the way many times over; the promise is about this number.
constexpr std::int64_t kChanges = 10'000;
// More than a node has.
constexpr int kDevices = 64;
constexpr Duration kMadeWithin = 120s;
constexpr Duration kTrueWithin = 30s;
constexpr Duration kRest = 2s;  // what only completes the journal is written a second later

// What the agent has counted.
struct Counts {
  std::uint64_t changes = 0, api_writes = 0, reports = 0;
};

StatusOr<Counts> CountsOf(Rig& rig) {
  ASSIGN_OR_RETURN(const auto status, rig.AskAgent<inspect::GetStatusResponse>(
                                          "GetStatus", inspect::GetStatusRequest()));
  ASSIGN_OR_RETURN(const auto drivers, rig.AskAgent<inspect::ListDriversResponse>(
                                           "ListDrivers", inspect::ListDriversRequest()));
  Counts counts{.changes = status.changes(), .api_writes = status.api_writes()};
  for (const inspect::Driver& driver : drivers.drivers()) counts.reports += driver.reports();
  return counts;
}

// Lets the driver begin, by a file, and waits for the file in which it says how long it took.
StatusOr<Duration> MakeChanges(Rig& rig, const OwnDriver& driver) {
  std::ofstream(driver.start_file) << "go";
  RETURN_IF_ERROR(rig.Until("the driver to make its changes", kMadeWithin,
                            [&] { return access(driver.result_file.c_str(), R_OK) == 0; }));
  std::int64_t nanos = 0;
  std::ifstream(driver.result_file) >> nanos;
  return Duration(nanos);
}

// Whether the Pod tells the last word on its device.
bool TellsTheLast(const PodWatch::Line& line, const BurstWord& word) {
  // A healthy device has no sentence: an earlier Healthy looks the same as the last one.
  if (word.healthy) return line.device.health == "Healthy";
  return line.device.health == "Unhealthy" && line.device.message == SentenceOf(word);
}

// How many Pods tell it.
int PodsRight(Rig& rig, const std::map<std::string, BurstWord>& words) {
  int right = 0;
  for (const auto& [pod, word] : words) right += TellsTheLast(rig.pods().Of(pod), word);
  return right;
}

// How many devices the agent knows rightly.
StatusOr<int> DevicesRight(Rig& rig) {
  ASSIGN_OR_RETURN(const auto answer, rig.AskAgent<inspect::ListDevicesResponse>(
                                          "ListDevices", inspect::ListDevicesRequest()));
  std::map<std::string, std::string> known;  // state and value
  for (const inspect::Device& d : answer.devices()) {
    known[d.device()] = d.state() + d.cause().value();
  }
  int right = 0;
  for (int device = 0; device < kDevices; ++device) {
    const BurstWord word = WordAfter(kChanges, device, kDevices);
    const std::string wanted = word.healthy ? "Healthy" : fmt::format("Unhealthy{}", word.change);
    right += known[DeviceName(device)] == wanted;
  }
  return right;
}

// The last word on each Pod's device.
StatusOr<std::map<std::string, BurstWord>> LastWords(Rig& rig) {
  ASSIGN_OR_RETURN(const auto devices, rig.DevicesOfPods());
  std::map<std::string, BurstWord> words;
  for (const auto& [pod, device] : devices) {
    for (int i = 0; i < kDevices; ++i) {
      if (device == DeviceName(i)) words[pod] = WordAfter(kChanges, i, kDevices);
    }
  }
  if (words.size() != kDevices) return NotFound("only {} Pods hold a device", words.size());
  return words;
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
  Duration made_in{}, true_after{};
  int pods_right = 0, devices_right = 0;
  Counts before, after;
  std::uint64_t journalled = 0;
};

std::vector<Figure> FiguresOf(const Outcome& outcome) {
  const std::uint64_t heard = outcome.after.changes - outcome.before.changes;
  const std::uint64_t reports = outcome.after.reports - outcome.before.reports;
  const std::uint64_t writes = outcome.after.api_writes - outcome.before.api_writes;
  const double seconds = std::chrono::duration<double>(outcome.made_in).count();
  return {
      {.what = fmt::format("{} changes over {} devices in {:.1f} s: last states right",
                           Count(kChanges), kDevices, seconds),
       .measured = fmt::format("{} of {} in the agent, {} of {} Pods", outcome.devices_right,
                               kDevices, outcome.pods_right, kDevices),
       .goal = "all; 0 lost",
       .met = outcome.devices_right == kDevices && outcome.pods_right == kDevices},
      {.what = "… transitions that the agent saw since its start, in its journal on disk",
       .measured =
           fmt::format("{} seen, {} kept", Count(outcome.after.changes), Count(outcome.journalled)),
       .goal = "each",
       .met = outcome.after.changes == outcome.journalled},
      {.what = "… reports on their way to the agent, where a newer one takes an older one's place",
       .measured = fmt::format("{} told, {} heard, {} merged; {} transitions seen", Count(kChanges),
                               Count(reports), Count(reports < kChanges ? kChanges - reports : 0),
                               Count(heard))},
      {.what = "… writes to the API, of status and NodeDeviceHealth",
       .measured = fmt::format("{} in all, {:.1f} a Pod; last Pod right {} after the last change",
                               Count(writes), static_cast<double>(writes) / kDevices,
                               Milliseconds(outcome.true_after))}};
}

}  // namespace

StatusOr<std::vector<Figure>> MeasureBurst(Bench& bench) {
  ASSIGN_OR_RETURN(const auto rig, Rig::Start(bench, "manager"));
  const OwnDriver driver{.devices = kDevices,
                         .changes = kChanges,
                         .start_file = rig->place().directory + "/start",
                         .result_file = rig->place().directory + "/result"};
  RETURN_IF_ERROR(rig->StartOwnDriver(driver));
  RETURN_IF_ERROR(rig->MakePods(kOwnDriverName, kDevices));
  ASSIGN_OR_RETURN(const auto words, LastWords(*rig));
  Outcome outcome;
  ASSIGN_OR_RETURN(outcome.before, CountsOf(*rig));
  ASSIGN_OR_RETURN(outcome.made_in, MakeChanges(*rig, driver));
  const Time made = bench.loop.Now();
  // In vain or not: how many are right is the figure.
  const Time limit = made + kTrueWithin;
  // The condition holds at the limit too, so that a Pod that is wrong becomes a figure, not an
  // error.
  RETURN_IF_ERROR(rig->Until("the Pods", kTrueWithin + 1s, [&] {
    return PodsRight(*rig, words) == kDevices || bench.loop.Now() >= limit;
  }));
  outcome.true_after = bench.loop.Now() - made;
  rig->Pause(kRest);
  outcome.pods_right = PodsRight(*rig, words);
  ASSIGN_OR_RETURN(outcome.devices_right, DevicesRight(*rig));
  ASSIGN_OR_RETURN(outcome.after, CountsOf(*rig));
  // The journal has one writer and is read when that has gone.
  rig->programs().End(Rig::kAgent, SIGTERM);
  ASSIGN_OR_RETURN(outcome.journalled, ChangesInJournal(rig->place().agent_state() + "/journal"));
  return FiguresOf(outcome);
}

}  // namespace galen::bench
