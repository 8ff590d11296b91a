#include "agent/containers/process_search.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/process_handle.h"

namespace galen::agent {
namespace {

namespace fs = std::filesystem;

std::string ReadProc(pid_t pid, const char* name) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/" + name, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Whether a piece of `text` satisfies `is`; pieces end with `end`.
bool HasPiece(const std::string& text, char end, const std::function<bool(std::string_view)>& is) {
  std::size_t from = 0;
  while (from < text.size()) {
    const std::size_t to = std::min(text.find(end, from), text.size());
    if (is(std::string_view(text).substr(from, to - from))) return true;
    from = to + 1;
  }
  return false;
}

}  // namespace

int SignalThese(const std::vector<pid_t>& pids, int signal, const IsMeant& is_meant) {
  int signalled = 0;
  for (const pid_t pid : pids) {
    if (pid == ::getpid()) continue;
    // First the handle, then the check: if the process id still matches then, the handle means that
    // process, or it is gone.
    const Fd handle = OpenProcess(pid);
    if (handle && is_meant(pid) && SignalProcess(handle, signal)) ++signalled;
  }
  return signalled;
}

std::vector<pid_t> AllProcesses() {
  std::vector<pid_t> pids;
  std::error_code error;
  // Step by step, since a loop over a range would throw.
  for (fs::directory_iterator it("/proc", error), none; !error && it != none; it.increment(error)) {
    const std::string name = it->path().filename();
    pid_t pid = 0;
    const auto [end, fault] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (fault == std::errc() && end == name.data() + name.size()) pids.push_back(pid);
  }
  return pids;
}

bool HasEnvironmentLine(pid_t pid, const std::function<bool(std::string_view line)>& is_such) {
  return HasPiece(ReadProc(pid, "environ"), '\0', is_such);
}

bool IsInControlGroup(pid_t pid, std::string_view group) {
  return HasPiece(ReadProc(pid, "cgroup"), '\n',
                  [&](std::string_view line) { return line.ends_with(group); });
}

}  // namespace galen::agent
