// Processes of the machine, the kernel's pressure information, and the parts of NVIDIA's driver.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <sstream>

#include "doctor/probes/probes.h"
#include "model/driver_version.h"

namespace galen::doctor {
namespace {

// Names of container runtimes' processes, as /proc/PID/comm has them.
constexpr std::array<std::string_view, 3> kRuntimes = {"containerd", "crio", "dockerd"};

// When this machine was started, in seconds since 1970: the line "btime 1795000000" of /proc/stat.
StatusOr<std::int64_t> BootTime(FileSystem& files, const std::string& proc) {
  ASSIGN_OR_RETURN(const std::string text, files.Read(proc + "/stat"));
  const std::size_t at = text.find("btime ");
  std::int64_t seconds = 0;
  const char* from = at == std::string::npos ? nullptr : text.data() + at + 6;
  if (from == nullptr ||
      std::from_chars(from, text.data() + text.size(), seconds).ec != std::errc()) {
    return DataLoss("{}/stat has no line btime: is a proc file system mounted there?", proc);
  }
  return seconds;
}

// avg60 of a line "some avg10=0.00 avg60=1.25 avg300=0.80 total=5021".
StatusOr<double> AverageOf(FileSystem& files, const std::string& path, std::string_view line) {
  ASSIGN_OR_RETURN(const std::string text, files.Read(path));
  constexpr std::string_view kName = "avg60=";
  const std::size_t from = text.find(line);
  const std::size_t at = from == std::string::npos ? from : text.find(kName, from);
  double value = 0;
  if (at == std::string::npos ||
      std::from_chars(text.data() + at + kName.size(), text.data() + text.size(), value).ec !=
          std::errc()) {
    return DataLoss("{} has no avg60 of \"{}\"", path, line);
  }
  return value;
}

std::string FirstLine(const StatusOr<std::string>& text) {
  return text.ok() ? text->substr(0, text->find('\n')) : "";
}

}  // namespace

StatusOr<WallTime> StartedAt(FileSystem& files, const std::string& proc, std::int64_t pid) {
  const std::string path = fmt::format("{}/{}/stat", proc, pid);
  ASSIGN_OR_RETURN(const std::string text, files.Read(path));
  ASSIGN_OR_RETURN(const std::int64_t boot, BootTime(files, proc));
  // The second field is a name that may contain anything; the 22nd is the start time, in ticks
  // since boot.
  std::istringstream words(text.substr(std::min(text.rfind(')'), text.size() - 1) + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) words >> skipped;
  std::int64_t ticks = 0;
  const long ticks_per_second = ::sysconf(_SC_CLK_TCK);
  if (!(words >> ticks) || ticks < 0 || ticks_per_second <= 0) {
    return DataLoss("{} has no start of the process", path);
  }
  return WallTime(std::chrono::seconds(boot + ticks / ticks_per_second));
}

StatusOr<RuntimeSeen> FindRuntime(FileSystem& files, const std::string& proc) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(proc));
  std::optional<RuntimeSeen> oldest;
  for (const std::string& name : names) {
    std::int64_t pid = 0;
    const char* end = name.data() + name.size();
    if (std::from_chars(name.data(), end, pid).ptr != end) continue;
    const std::string program = FirstLine(files.Read(proc + "/" + name + "/comm"));
    if (std::ranges::find(kRuntimes, program) == kRuntimes.end()) continue;
    const StatusOr<WallTime> started = StartedAt(files, proc, pid);
    if (!started.ok()) continue;  // it ended meanwhile
    if (!oldest || *started < oldest->started) oldest = RuntimeSeen{program, *started};
  }
  if (!oldest) {
    return NotFound(
        "no containerd, CRI-O or Docker among the processes that are seen from here: run this on "
        "the node");
  }
  return *oldest;
}

StatusOr<PressureSeen> LookAtPressure(FileSystem& files, const KernelPlaces& places) {
  const std::string directory = places.proc + "/pressure/";
  PressureSeen seen;
  ASSIGN_OR_RETURN(seen.cpu, AverageOf(files, directory + "cpu", "some "));
  ASSIGN_OR_RETURN(seen.memory, AverageOf(files, directory + "memory", "full "));
  ASSIGN_OR_RETURN(seen.io, AverageOf(files, directory + "io", "full "));
  return seen;
}

NvidiaSeen LookAtNvidia(FileSystem& files, const KernelPlaces& places) {
  NvidiaSeen seen;
  StatusOr<std::string> module = files.Read(places.sysfs + "/module/nvidia/version");
  if (!module.ok()) module = files.Read(places.proc + "/driver/nvidia/version");
  if (module.ok()) seen.module = KernelModuleVersion(*module);
  for (const std::string& root : places.nvidia_roots) {
    std::vector<std::string> names;
    for (const std::string_view directory : kNvidiaLibraryDirectories) {
      const std::string path = (root == "/" ? "/" : root + "/") + std::string(directory);
      const StatusOr<std::vector<std::string>> here = files.List(path);
      if (here.ok()) names.insert(names.end(), here->begin(), here->end());
    }
    seen.libraries = LibraryVersions(names);
    seen.root = root;
    if (!seen.libraries.empty()) break;
  }
  return seen;
}

}  // namespace galen::doctor
