#include "bench/bench_app.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/files/posix_file_system.h"
#include "base/flags.h"
#include "base/loop/signal.h"
#include "base/version.h"
#include "bench/part_list.h"

namespace galen::bench {
namespace {

constexpr int kExitMissed = 1;

struct Settings {
  std::vector<std::string> parts;
  std::string markdown;
  Duration idle = std::chrono::seconds(60);
  bool ignore_times = false;
};

// Those asked for, or all. InvalidArgument names what there is.
StatusOr<std::vector<Part>> Choose(const std::vector<std::string>& names) {
  if (names.empty()) return Parts();
  std::vector<Part> chosen;
  const std::string known = PartNames();
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
  const auto deciding = settings.ignore_times ? Deciding::kNoTimes : Deciding::kAll;
  return AllMet(figures, deciding) ? 0 : kExitMissed;
}

}  // namespace

int RunBench(int argc, char** argv) {
  Settings settings;
  Flags flags("galen-bench", "Measures this build's real processes: ratios and counts of one run",
              std::string(kVersion));
  flags.AddPositionals("part", settings.parts, PartNames() + "; all unless named");
  flags.Add("--markdown", settings.markdown, "also write the page of the figures here");
  flags.Add("--idle", settings.idle, "how long the idle agent is looked at");
  flags.AddSwitch(
      "--ignore-times", settings.ignore_times,
      "exit with 0 although a goal in units of time was missed: for a machine that is busy");
  if (const auto code = flags.Parse(argc, argv)) return *code;
  const StatusOr<int> code = Run(settings);
  if (code.ok()) return *code;
  fmt::print(stderr, "galen-bench: {}\n", code.status().message());
  return code.status().code() == Code::kInvalidArgument ? kExitUsage : kExitMissed;
}

}  // namespace galen::bench
