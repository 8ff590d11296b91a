#include "bench/process_use.h"

#include <charconv>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace galen::bench {
namespace {

// In /proc/PID/stat, counted from the state, which follows the program's name: utime and stime,
// fields 14 and 15 of proc(5).
constexpr int kUserTicks = 11;
constexpr int kSystemTicks = 12;
constexpr std::uint64_t kKibibyte = 1024;

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

StatusOr<std::uint64_t> ParseNumber(std::string_view text, std::string_view what) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) return InvalidArgument("{} is no number", what);
  return number;
}

// The number behind "name:" at the beginning of a line.
StatusOr<std::uint64_t> NumberOf(std::string_view text, const std::string& name) {
  std::size_t at = text.starts_with(name + ":") ? 0 : text.find("\n" + name + ":");
  if (at == std::string_view::npos) return NotFound("there is no {}", name);
  at = text.find_first_not_of(" \t", text.find(':', at) + 1);
  return ParseNumber(text.substr(std::min(at, text.size())), name);
}

// The program's name stands in brackets and may hold anything, brackets too.
StatusOr<std::uint64_t> TicksOf(std::string_view stat) {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos) return InvalidArgument("stat names no program");
  std::istringstream fields{std::string(stat.substr(name_end + 1))};
  std::uint64_t ticks = 0;
  std::string field;
  for (int i = 0; i <= kSystemTicks && fields >> field; ++i) {
    if (i != kUserTicks && i != kSystemTicks) continue;
    ASSIGN_OR_RETURN(const std::uint64_t part, ParseNumber(field, "a time in stat"));
    ticks += part;
  }
  if (!fields) return InvalidArgument("stat is too short");
  return ticks;
}

}  // namespace

StatusOr<ProcessUse> ParseProcessUse(std::string_view stat, std::string_view status,
                                     std::string_view io) {
  ProcessUse use;
  ASSIGN_OR_RETURN(use.ticks, TicksOf(stat));
  ASSIGN_OR_RETURN(use.rss_bytes, NumberOf(status, "VmRSS"));
  ASSIGN_OR_RETURN(use.peak_bytes, NumberOf(status, "VmHWM"));
  ASSIGN_OR_RETURN(use.disk_bytes, NumberOf(io, "write_bytes"));
  use.rss_bytes *= kKibibyte;
  use.peak_bytes *= kKibibyte;
  return use;
}

StatusOr<ProcessUse> ReadProcessUse(pid_t pid) {
  const std::string place = fmt::format("/proc/{}/", pid);
  StatusOr<ProcessUse> use =
      ParseProcessUse(ReadText(place + "stat"), ReadText(place + "status"), ReadText(place + "io"));
  if (!use.ok()) return Annotate(use.status(), "read {}", place);
  clockid_t clock = 0;
  timespec used = {};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) {
    return Unavailable("the CPU time of process {} cannot be read", pid);
  }
  use->cpu = std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
  return use;
}

StatusOr<std::size_t> CountDescriptors(pid_t pid) {
  std::error_code error;
  const std::filesystem::directory_iterator all(fmt::format("/proc/{}/fd", pid), error);
  if (error) return Unavailable("/proc/{}/fd: {}", pid, error.message());
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

Status ResetOwnPeak() {
  std::ofstream file("/proc/self/clear_refs");
  file << "5" << std::flush;
  return file ? OkStatus() : Unavailable("/proc/self/clear_refs cannot be written");
}

}  // namespace galen::bench
