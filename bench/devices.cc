// What reading real devices costs: galen-driver over files like those of /sys, and over an NVML
// library that answers from a table.
#include <filesystem>
#include <fstream>

#include "bench/parts.h"
#include "bench/process_use.h"

namespace galen::bench {
namespace {

using namespace std::chrono_literals;

// First reads, slices and the report of them are over by then.
constexpr Duration kSettle = 10s;
// The goals.
constexpr double kFilesPercentMost = 0.2;
constexpr double kNvmlPercentMost = 0.5;
constexpr std::uint64_t kRssMost = std::uint64_t{20} << 20;

constexpr int kDevices = 64, kFiles = 30;
constexpr int kGpus = 8;

// A reading and two rules for each file.
std::string RulesOfFiles() {
  std::string signs = "signs:\n- {name: present, kind: reading, help: 0 when it is gone}\n";
  std::string rules =
      "rules:\n- {id: gone, sign: present, when: == 0, state: Unhealthy, code: Gone, "
      "sentence: It is gone, owner: Hardware}\n";
  for (int file = 0; file < kFiles; ++file) {
    signs += fmt::format("- {{name: sensor-{0}, kind: reading, file: sensor{0}, help: a sensor}}\n",
                         file);
    rules += fmt::format(
        "- {{id: high-{0}, sign: sensor-{0}, when: '> 900', enter_for: 2s, state: Unhealthy, code: "
        "High, sentence: 'Sensor {0} shows {{value}}', owner: Hardware}}\n",
        file);
  }
  return signs + rules;
}

void WriteFile(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

std::string GpuAnswers() {
  std::string table = fmt::format("driver 570.124.06\ngpus {}\n", kGpus);
  for (int gpu = 0; gpu < kGpus; ++gpu) {
    table += fmt::format(
        "{0} uuid GPU-{0}\n{0} name NVIDIA H100\n{0} serial 16{0}\n{0} bus {1}\n{0} minor {0}\n"
        "{0} memory 85899345920\n{0} temperature 41\n{0} slowdown-at 87\n{0} shutdown-at 92\n"
        "{0} power 300000\n{0} utilization 90\n{0} uncorrected 0\n{0} corrected 0\n"
        "{0} remap-pending 0\n{0} clock-reasons 0\n{0} width-most 16\n{0} width 16\n",
        gpu, 75 + gpu);
  }
  return table;
}

struct Spent {
  double percent = 0;  // of a core
  std::uint64_t rss_bytes = 0;
};

// The driver while nothing changes; it has been started.
StatusOr<Spent> Watch(Rig& rig, Duration quiet) {
  rig.Pause(kSettle);
  const pid_t pid = rig.programs().pid(Rig::kDriver);
  ASSIGN_OR_RETURN(const ProcessUse before, ReadProcessUse(pid));
  rig.Pause(quiet);
  ASSIGN_OR_RETURN(const ProcessUse after, ReadProcessUse(pid));
  const double seconds = std::chrono::duration<double>(quiet).count();
  const double used = std::chrono::duration<double>(after.cpu - before.cpu).count();
  return Spent{used / seconds * 100, after.rss_bytes};
}

void AddFigures(const std::string& what, const Spent& spent, double percent_most,
                std::vector<Figure>& figures) {
  figures.push_back({.what = what,
                     .measured = fmt::format("{:.2f} % of a core", spent.percent),
                     .goal = fmt::format("≤ {} % of a core", percent_most),
                     .met = spent.percent <= percent_most,
                     .is_time = true});
  figures.push_back({.what = "… memory of the driver",
                     .measured = Mebibytes(spent.rss_bytes) + " resident",
                     .goal = "≤ 20 MiB",
                     .met = spent.rss_bytes <= kRssMost});
}

StatusOr<Spent> WatchFiles(Bench& bench) {
  ASSIGN_OR_RETURN(const auto rig, Rig::Start(bench, {.role = "observer"}));
  const std::filesystem::path place = rig->place().directory;
  for (int device = 0; device < kDevices; ++device) {
    for (int file = 0; file < kFiles; ++file) {
      WriteFile(place / fmt::format("sys/class/bench/card{}/sensor{}", device, file), "42\n");
    }
  }
  WriteFile(place / "rules.yaml", RulesOfFiles());
  RETURN_IF_ERROR(
      rig->StartDriver("sysfs", Rig::kGpuDriver,
                       {"--sysfs-root", (place / "sys").string(), "--pattern", "class/bench/card*",
                        "--rules", (place / "rules.yaml").string(), "--poll", "5s"}));
  return Watch(*rig, bench.idle);
}

StatusOr<Spent> WatchNvml(Bench& bench) {
  const std::filesystem::path library =
      std::filesystem::path(bench.bin_directory).parent_path() / "scripted_nvml/libnvidia-ml.so.1";
  if (!std::filesystem::exists(library)) return NotFound("{} is not built", library.string());
  ASSIGN_OR_RETURN(const auto rig, Rig::Start(bench, {.role = "observer"}));
  const std::filesystem::path place = rig->place().directory;
  WriteFile(place / "answers", GpuAnswers());
  // The driver's environment is ours. The library is to cost as little as one can: it is the driver
  // that is measured.
  ::setenv("GALEN_NVML_ANSWERS", (place / "answers").c_str(), 1);
  ::setenv("GALEN_NVML_FIXED", "1", 1);
  RETURN_IF_ERROR(rig->StartDriver(
      "nvidia", Rig::kGpuDriver,
      {"--nvml", library.string(), "--driver-root", (place / "driver").string(), "--poll", "1s"}));
  return Watch(*rig, bench.idle);
}

}  // namespace

StatusOr<std::vector<Figure>> MeasureDevices(Bench& bench) {
  std::vector<Figure> figures;
  ASSIGN_OR_RETURN(const Spent files, WatchFiles(bench));
  AddFigures(fmt::format("galen-driver sysfs: {} devices of {} files, each read every 5 s",
                         kDevices, kFiles),
             files, kFilesPercentMost, figures);
  ASSIGN_OR_RETURN(const Spent nvml, WatchNvml(bench));
  AddFigures(fmt::format("galen-driver nvidia: {} GPUs, all that NVML has is asked every second, a "
                         "library that answers from a table",
                         kGpus),
             nvml, kNvmlPercentMost, figures);
  if (bench.interrupted) return Cancelled("interrupted");
  return figures;
}

}  // namespace galen::bench
