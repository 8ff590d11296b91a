#include "agent/containers/control_groups.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

namespace galen::agent {
namespace {

namespace fs = std::filesystem;

// How many runs of one container that have not ended whole are kept in mind, to be removed later.
constexpr int kSameNameMax = 16;

std::string TextOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Control files take a value in one write(2), and answer by it.
Status WriteValue(const std::string& path, const std::string& value) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file << value;
  file.flush();
  if (!file) return ErrnoStatus(errno == 0 ? EIO : errno, "write " + path);
  return OkStatus();
}

// One that is there already must be ours to use: another user's agent may have left it.
Status MakeGroup(const std::string& directory) {
  const bool made = ::mkdir(directory.c_str(), 0755) == 0;
  if (made || (errno == EEXIST && ::access(directory.c_str(), W_OK) == 0)) return OkStatus();
  return ErrnoStatus(errno, "make the control group " + directory);
}

// The path of the line whose controllers are `wanted` ("" is version 2's); nullopt without one.
std::optional<std::string> OwnPath(const std::string& lines, std::string_view wanted) {
  std::istringstream text(lines);
  for (std::string line; std::getline(text, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    if (line.substr(first + 1, second - first - 1) != wanted) continue;
    const std::string path = line.substr(second + 1);
    return path == "/" ? "" : path;
  }
  return std::nullopt;
}

// The number behind `key` in lines of "key number".
std::uint64_t CountOf(const std::string& lines, std::string_view key) {
  std::istringstream text(lines);
  std::string name;
  for (std::uint64_t count = 0; text >> name >> count;) {
    if (name == key) return count;
  }
  return 0;
}

}  // namespace

ControlGroups::ControlGroups(Places places, const std::string& name)
    : places_(std::move(places)), name_(name) {
  const std::string own = TextOf(places_.own_groups);
  const auto version1 = OwnPath(own, "memory");
  const auto version2 = OwnPath(own, "");
  if (version1 && fs::is_directory(places_.cgroup_root + "/memory")) {
    UseVersion1(*version1);
  } else if (version2) {
    UseVersion2(*version2);
  } else {
    limitation_ =
        "this machine shows no control groups: memory limits are not kept and a process "
        "that leaves its session is found by its environment only";
  }
}

void ControlGroups::UseVersion1(const std::string& own) {
  const std::string directory = places_.cgroup_root + "/memory" + own + "/" + name_;
  if (const Status made = MakeGroup(directory); !made.ok()) {
    limitation_ = made.message() + ": memory limits are not kept";
    return;
  }
  directory_ = directory;
  bounds_memory_ = true;
}

void ControlGroups::UseVersion2(const std::string& own) {
  const bool unified = fs::exists(places_.cgroup_root + "/cgroup.controllers");
  const std::string base = places_.cgroup_root + (unified ? "" : "/unified") + own;
  if (const Status made = MakeGroup(base + "/" + name_); !made.ok()) {
    limitation_ = made.message() + ": memory limits are not kept";
    return;
  }
  directory_ = base + "/" + name_;
  version2_ = true;
  // The kernel refuses it in a group that has processes of its own, as ours has unless it is the
  // root; groups without the controller still name their processes.
  Status bounded = WriteValue(base + "/cgroup.subtree_control", "+memory");
  if (bounded.ok()) bounded = WriteValue(directory_ + "/cgroup.subtree_control", "+memory");
  bounds_memory_ = bounded.ok();
  if (!bounds_memory_) limitation_ = bounded.message() + ": memory limits are not kept";
}

StatusOr<std::string> ControlGroups::Make(const std::string& name,
                                          std::optional<std::uint64_t> memory_bytes_max) const {
  std::string group = directory_ + "/" + name;
  // One of an earlier run whose last processes have not gone yet keeps its name and its counts.
  for (int number = 2; fs::exists(group) && !Remove(group); ++number) {
    if (number > kSameNameMax) return ResourceExhausted("{} control groups {}", number, name);
    group = fmt::format("{}/{}-{}", directory_, name, number);
  }
  RETURN_IF_ERROR(MakeGroup(group));
  if (!memory_bytes_max || !bounds_memory_) return group;
  const Status bounded = WriteValue(group + (version2_ ? "/memory.max" : "/memory.limit_in_bytes"),
                                    std::to_string(*memory_bytes_max));
  if (bounded.ok()) return group;
  Remove(group);
  return bounded;
}

bool ControlGroups::RanOutOfMemory(const std::string& group) const {
  // Both versions have the count of processes that the kernel killed in the group.
  return CountOf(TextOf(group + (version2_ ? "/memory.events" : "/memory.oom_control")),
                 "oom_kill") > 0;
}

std::vector<pid_t> ControlGroups::Members(const std::string& group) const {
  std::istringstream text(TextOf(group + "/cgroup.procs"));
  std::vector<pid_t> members;
  for (pid_t pid = 0; text >> pid;) members.push_back(pid);
  return members;
}

bool ControlGroups::Remove(const std::string& group) const {
  return ::rmdir(group.c_str()) == 0 || errno == ENOENT;
}

void ControlGroups::RemoveAll() const {
  for (const std::string& group : All()) Remove(group);
  if (usable()) Remove(directory_);
}

std::vector<std::string> ControlGroups::All() const {
  std::vector<std::string> groups;
  std::error_code error;
  if (!usable()) return groups;
  for (const auto& entry : fs::directory_iterator(directory_, error)) {
    if (entry.is_directory(error)) groups.push_back(entry.path());
  }
  return groups;
}

}  // namespace galen::agent
