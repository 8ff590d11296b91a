#include "bench/manifest.h"
#include "bench/parts.h"
#include "bench/process_use.h"
#include "protos/galen/inspect/v1/inspect.pb.h"

namespace galen::bench {
namespace {

namespace inspect = galen::inspect::v1;
using namespace std::chrono_literals;

// Twice what most nodes have.
constexpr int kDevices = 16;
// First lists, Events and the journal's late records are over by then.
constexpr Duration kSettle = 10s;
// The goals: 20 MiB resident, one tick of CPU a minute, no write at all.
constexpr std::uint64_t kRssMost = std::uint64_t{20} << 20;
constexpr double kTicksAMinuteMost = 1;

// Everything that an agent may write, by kind and name, with its version.
StatusOr<std::map<std::string, std::string>> Versions(Rig& rig) {
  std::map<std::string, std::string> versions;
  for (const kube::Resource& resource : {kube::kPods, kube::kEvents, kube::kNodeDeviceHealths}) {
    ASSIGN_OR_RETURN(const std::vector<Json> objects, rig.session().List(resource, ""));
    for (const Json& object : objects) {
      const Json& meta = object["metadata"];
      versions[resource.kind + " " + meta["namespace"].AsString() + "/" + meta["name"].AsString()] =
          meta["resourceVersion"].AsString();
    }
  }
  return versions;
}

std::size_t Differences(const std::map<std::string, std::string>& before,
                        const std::map<std::string, std::string>& after) {
  std::size_t different = 0;
  for (const auto& [name, version] : after) {
    const auto it = before.find(name);
    // New or written; an Event that expired in between is no write of the agent's.
    different += it == before.end() || it->second != version;
  }
  return different;
}

// What an agent has used and written up to a moment.
struct Moment {
  ProcessUse use;
  std::uint64_t api_writes = 0, journal_records = 0;
  std::map<std::string, std::string> versions;
};

// `ask_first`: the questions are no part of the quiet time, so they lie outside of it.
StatusOr<Moment> Look(Rig& rig, bool ask_first) {
  Moment moment;
  const pid_t pid = rig.programs().pid(Rig::kAgent);
  // At the end of the quiet time: what was used is read before anything is asked.
  if (!ask_first) {
    ASSIGN_OR_RETURN(moment.use, ReadProcessUse(pid));
  }
  ASSIGN_OR_RETURN(const auto status, rig.AskAgent<inspect::GetStatusResponse>(
                                          "GetStatus", inspect::GetStatusRequest()));
  moment.api_writes = status.api_writes();
  moment.journal_records = status.journal_records();
  ASSIGN_OR_RETURN(moment.versions, Versions(rig));
  if (!ask_first) return moment;
  rig.Pause(500ms);  // the answer's connection is closed
  ASSIGN_OR_RETURN(moment.use, ReadProcessUse(pid));
  return moment;
}

std::vector<Figure> FiguresOf(const Moment& before, const Moment& after, Duration quiet) {
  const std::uint64_t ticks = after.use.ticks - before.use.ticks;
  const double minutes = std::chrono::duration<double, std::ratio<60>>(quiet).count();
  const std::size_t changed = Differences(before.versions, after.versions);
  const std::uint64_t writes = after.api_writes - before.api_writes;
  const std::uint64_t disk = after.use.disk_bytes - before.use.disk_bytes;
  const std::uint64_t records = after.journal_records - before.journal_records;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(quiet).count();
  // CPU time: a run shorter than a minute is allowed the tick of a whole one, for there is no half
  // tick.
  return {{.what = fmt::format("observer with {} devices, {} s in which nothing happens: memory",
                               kDevices, seconds),
           .measured = Mebibytes(after.use.rss_bytes) + " resident",
           .goal = "≤ 20 MiB",
           .met = after.use.rss_bytes <= kRssMost},
          {.what = "… CPU time, in ticks of 10 ms",
           .measured = fmt::format("{} in {} s", ticks, seconds),
           .goal = "≤ 1 a minute",
           .met = static_cast<double>(ticks) <= kTicksAMinuteMost * std::max(minutes, 1.0)},
          {.what = "… writes to the API",
           .measured = fmt::format("{} by its own count, {} objects changed", writes, changed),
           .goal = "0",
           .met = writes == 0 && changed == 0},
          {.what = "… writes to disk",
           .measured = fmt::format("{} bytes, {} journal records", disk, records),
           .goal = "0",
           .met = disk == 0 && records == 0}};
}

}  // namespace

StatusOr<std::vector<Figure>> MeasureIdle(Bench& bench) {
  ASSIGN_OR_RETURN(const auto rig, Rig::Start(bench, {.role = "observer"}));
  RETURN_IF_ERROR(rig->StartGpuDriver(kDevices));
  RETURN_IF_ERROR(rig->MakePods({.driver = Rig::kGpuDriver, .count = kDevices}));
  rig->Pause(kSettle);
  ASSIGN_OR_RETURN(const Moment before, Look(*rig, true));
  const Time began = bench.loop.Now();
  rig->Pause(bench.idle);
  const Duration quiet = bench.loop.Now() - began;
  ASSIGN_OR_RETURN(const Moment after, Look(*rig, false));
  if (bench.interrupted) return Cancelled("interrupted");
  return FiguresOf(before, after, quiet);
}

}  // namespace galen::bench
