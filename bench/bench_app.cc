#include "bench/bench_app.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/flags.h"
#include "base/posix_file_system.h"
#include "base/signal.h"
#include "base/version.h"
#include "bench/parts.h"

namespace galen::bench {
namespace {

constexpr int kExitMissed = 1;

// One thing that can be measured, by the name people call it; the explanation ends up on the page
// of the figures.
struct Part {
  std::string name;
  StatusOr<std::vector<Figure>> (*measure)(Bench&);
  std::string explanation;
};

const std::vector<Part>& Parts() {
  static const std::vector<Part> kParts = {
      {"latency", MeasureLatency,
       "300 single signs, XID 79 and its reset, injected over the driver's socket into eight GPUs "
       "in "
       "turn; the driver's answer holds when. The end is the moment at which a watcher of Pods in "
       "this program, over TLS, knows the new `allocatedResourcesStatus`."},
      {"burst", MeasureBurst,
       "a driver on the SDK makes one change in each round of health and asks for the next round "
       "at "
       "once. Where its stream is slower than it, a newer snapshot takes an older one's place: "
       "that "
       "is what merges. Then the agent is stopped and its journal is read from disk."},
      {"killed", MeasureKilledDriver,
       "SIGKILL to the driver; the end is the last of eight Pods that says Unknown."},
      {"silent", MeasureSilentDriver,
       "SIGSTOP to a driver whose word holds one second; sockets stay open. The agent is asked for "
       "the age of the last report and its deadline; counted from that deadline."},
      {"idle", MeasureIdle,
       "an observer beside a simulated kubelet, 16 Pods with a GPU each. Ticks, resident memory "
       "and "
       "bytes to disk are the kernel's own count for the agent; writes to the API are the agent's "
       "count and the objects whose version changed."},
      {"restart", MeasureRestart,
       "SIGKILL to the agent, a GPU changes meanwhile, the agent is started; the end is the Pod "
       "that "
       "says what changed, so journal, API, registration and the driver's stream are all in it."},
      {"list", MeasureListMemory,
       "a process of its own with the agent's informer; the growth of its resident peak, divided "
       "by "
       "the bytes of the list."}};
  return kParts;
}

struct Settings {
  std::vector<std::string> parts;
  std::string markdown;
  Duration idle = std::chrono::seconds(60);
};

// Those asked for, or all. InvalidArgument names what there is.
StatusOr<std::vector<Part>> Choose(const std::vector<std::string>& names) {
  if (names.empty()) return Parts();
  std::vector<Part> chosen;
  std::string known;
  for (const Part& part : Parts()) known += (known.empty() ? "" : ", ") + part.name;
  for (const std::string& name : names) {
    const auto it = std::find_if(Parts().begin(), Parts().end(),
                                 [&](const Part& part) { return part.name == name; });
    if (it == Parts().end()) return InvalidArgument("no part '{}'; there are: {}", name, known);
    chosen.push_back(*it);
  }
  return chosen;
}

std::string OwnDirectory() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().string();
}

// A part that could not be measured is a figure that was missed: a goal never passes unseen.
std::vector<Figure> Measure(Bench& bench, const std::vector<Part>& parts) {
  std::vector<Figure> figures;
  for (const Part& part : parts) {
    // What was measured so far is still shown.
    if (bench.interrupted) break;
    fmt::print(stderr, "galen-bench: {} …\n", part.name);
    auto measured = part.measure(bench);
    if (!measured.ok()) {
      figures.push_back({.what = part.name,
                         .measured = "not measured: " + measured.status().message(),
                         .goal = "measured",
                         .met = false});
      continue;
    }
    for (Figure& figure : *measured) figures.push_back(std::move(figure));
  }
  return figures;
}

RunFacts FactsOf(const Settings& settings, const std::vector<Part>& parts) {
  RunFacts facts{.command = "./dev bench",
                 .cores = static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_ONLN))};
  for (const std::string& name : settings.parts) facts.command += " " + name;
#ifdef __OPTIMIZE__
  facts.build = "an optimised build";
#else
  facts.build = "a build for debugging";
#endif
  for (const Part& part : parts) {
    facts.explanations.push_back("**" + part.name + "**: " + part.explanation);
  }
  return facts;
}

StatusOr<int> Run(const Settings& settings) {
  ASSIGN_OR_RETURN(const std::vector<Part> parts, Choose(settings.parts));
  ASSIGN_OR_RETURN(const auto loop, EpollLoop::Create());
  Bench bench{.loop = *loop, .bin_directory = OwnDirectory(), .idle = settings.idle};
  ASSIGN_OR_RETURN(const auto signals, SignalWatch::Start(*loop, [&bench] {
                     bench.interrupted = true;
                     bench.loop.Stop();
                   }));
  const std::vector<Figure> figures = Measure(bench, parts);
  fmt::print("{}", TextTable(figures));
  std::fflush(stdout);
  if (bench.interrupted) return Cancelled("interrupted");
  if (!settings.markdown.empty()) {
    PosixFileSystem files;
    RETURN_IF_ERROR(files.WriteAtomically(settings.markdown,
                                          MarkdownPage(figures, FactsOf(settings, parts)), 0644));
  }
  return AllMet(figures) ? 0 : kExitMissed;
}

}  // namespace

int RunBench(int argc, char** argv) {
  Settings settings;
  Flags flags("galen-bench", "Measures this build's real processes: ratios and counts of one run",
              std::string(kVersion));
  flags.AddPositionals("part", settings.parts,
                       "latency, burst, killed, silent, idle, restart, list; all unless named");
  flags.Add("--markdown", settings.markdown, "also write the page of the figures here");
  flags.Add("--idle", settings.idle, "how long the idle agent is looked at");
  if (const auto code = flags.Parse(argc, argv)) return *code;
  const StatusOr<int> code = Run(settings);
  if (code.ok()) return *code;
  fmt::print(stderr, "galen-bench: {}\n", code.status().message());
  return code.status().code() == Code::kInvalidArgument ? kExitUsage : kExitMissed;
}

}  // namespace galen::bench
