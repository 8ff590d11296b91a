#include "base/files/control_groups.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "base/process_handle.h"

namespace galen {
namespace {

namespace fs = std::filesystem;

// How many groups of one name, a container's or that of a command's run, may still have processes;
// past it there is no further one of that name.
constexpr int kSameNameMax = 16;
// Rounds of killing a group's processes one by one. Bounded, so that a program which forks without
// end is not followed for ever.
constexpr int kKillLooksMax = 16;
// Process handles open at a time while a group is killed.
constexpr std::size_t kHandlesMax = 64;

// Both without exceptions: what cannot be looked up (too long a path, a link into itself) counts as
// missing.
bool IsThere(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}
bool IsGroupDirectory(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// The directory's entries, as far as they can be read: groups come and go meanwhile, this one too.
std::vector<fs::path> GroupEntriesOf(const std::string& directory) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(it->path());
  }
  return entries;
}

std::string TextOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A control file takes a value in one write(2), whose result says whether the kernel took it.
Status WriteValue(const std::string& path, const std::string& value) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file << value;
  file.flush();
  if (!file) return ErrnoStatus(errno == 0 ? EIO : errno, "write " + path);
  return OkStatus();
}

void WriteIfThere(const std::string& path, const std::string& value) {
  // A refusal is not reported: the bound that the caller set beside this one holds.
  if (IsThere(path)) static_cast<void>(WriteValue(path, value));
}

// An existing directory must be writable for us: another user's agent may have left it.
Status MakeGroup(const std::string& directory) {
  const bool made = ::mkdir(directory.c_str(), 0755) == 0;
  if (made || (errno == EEXIST && ::access(directory.c_str(), W_OK) == 0)) return OkStatus();
  return ErrnoStatus(errno, "make the control group " + directory);
}

// One line of /proc/self/cgroup.
struct OwnGroup {
  std::string controllers;  // "cpu,cpuacct": version 1 may join several; "" for version 2
  std::string path;         // "" for the root
};

// The line of `controller` ("" for version 2); nullopt when there is none.
std::optional<OwnGroup> OwnGroupOf(const std::string& lines, std::string_view controller) {
  std::istringstream text(lines);
  for (std::string line; std::getline(text, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (("," + controllers + ",").find(fmt::format(",{},", controller)) == std::string::npos) {
      continue;
    }
    const std::string path = line.substr(second + 1);
    return OwnGroup{controllers, path == "/" ? "" : path};
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

// The pids in the group; 0 stands for a process of another pid namespace, which has no pid here.
std::vector<pid_t> NumbersIn(const std::string& directory) {
  std::istringstream text(TextOf(directory + "/cgroup.procs"));
  std::vector<pid_t> numbers;
  for (pid_t pid = 0; text >> pid;) numbers.push_back(pid);
  return numbers;
}

// Positive pids only: kill(2) takes 0 for our own process group and -1 for every process.
std::vector<pid_t> MembersOf(const std::string& directory) {
  std::vector<pid_t> members = NumbersIn(directory);
  std::erase_if(members, [](pid_t pid) { return pid <= 0; });
  return members;
}

// Kills every process in the group but ourselves and those in `killed`, and adds them to it. False
// when there was none.
bool KillMore(const std::string& directory, std::set<pid_t>& killed) {
  std::vector<pid_t> found = MembersOf(directory);
  std::erase_if(found, [&](pid_t pid) { return pid == ::getpid() || killed.contains(pid); });
  for (std::size_t from = 0; from < found.size(); from += kHandlesMax) {
    std::map<pid_t, Fd> handles;
    for (std::size_t i = from; i < std::min(found.size(), from + kHandlesMax); ++i) {
      handles[found[i]] = OpenProcess(found[i]);
    }
    // The handle before the listing: when the group still lists the pid, the handle's process
    // either is that member or has ended.
    for (const pid_t pid : MembersOf(directory)) {
      const auto it = handles.find(pid);
      if (it != handles.end()) SignalProcess(it->second, SIGKILL);
    }
  }
  killed.insert(found.begin(), found.end());
  return !found.empty();
}

void KillMembers(const std::string& directory) {
  const std::vector<pid_t> members = NumbersIn(directory);
  if (members.empty()) return;
  // cgroup.kill (version 2, Linux 5.14) kills a whole group at once, with whatever it starts
  // meanwhile.
  const bool with_us = std::ranges::find(members, ::getpid()) != members.end();
  const std::string at_once = directory + "/cgroup.kill";
  if (!with_us && IsThere(at_once) && WriteValue(at_once, "1").ok()) return;
  WriteIfThere(directory + "/pids.max", "0");  // what is killed starts no more
  std::set<pid_t> killed;
  for (int look = 0; look < kKillLooksMax && KillMore(directory, killed); ++look) {
  }
}

}  // namespace

ControlGroups::ControlGroups(Places places, const std::string& name, Wanted wanted)
    : places_(std::move(places)), name_(name), wanted_(wanted) {
  const std::string own = TextOf(places_.own_groups);
  const auto version1 = OwnGroupOf(own, "memory");
  const auto version2 = OwnGroupOf(own, "");
  if (version1 && IsGroupDirectory(places_.cgroup_root + "/memory")) {
    UseVersion1(version1->path);
    if (usable() && wanted_.processes) of_processes_ = TreeBeside(own, "pids");
    if (usable() && wanted_.processors) of_processors_ = TreeBeside(own, "cpu");
  } else if (version2) {
    UseVersion2(version2->path);
  } else {
    limitation_ =
        "this machine has no control groups (is /sys/fs/cgroup mounted?): memory limits are not "
        "enforced, and a process that leaves its session is found by its environment only";
  }
}

void ControlGroups::AddLimitation(const std::string& what) {
  limitation_ += (limitation_.empty() ? "" : "; ") + what;
}

void ControlGroups::UseVersion1(const std::string& own) {
  const std::string directory = places_.cgroup_root + "/memory" + own + "/" + name_;
  if (const Status made = MakeGroup(directory); !made.ok()) {
    AddLimitation(made.message() + ": memory limits are not enforced");
    return;
  }
  directory_ = directory;
  bounds_memory_ = true;
}

std::string ControlGroups::TreeBeside(const std::string& lines, const std::string& controller) {
  const std::optional<OwnGroup> own = OwnGroupOf(lines, controller);
  std::string directory;
  Status made = NotFound("this machine has no control groups of the controller {}", controller);
  if (own) {
    // Controllers that share a tree have a link each on most systems, but not on all.
    std::string tree = places_.cgroup_root + "/" + controller;
    if (!IsGroupDirectory(tree)) tree = places_.cgroup_root + "/" + own->controllers;
    directory = tree + own->path + "/" + name_;
    made = MakeGroup(directory);
  }
  if (made.ok()) return directory;
  AddLimitation(fmt::format("{}: limits of {} are not enforced", made.message(), controller));
  return "";
}

void ControlGroups::UseVersion2(const std::string& own) {
  const bool unified = IsThere(places_.cgroup_root + "/cgroup.controllers");
  const std::string base = places_.cgroup_root + (unified ? "" : "/unified") + own;
  if (const Status made = MakeGroup(base + "/" + name_); !made.ok()) {
    AddLimitation(made.message() + ": memory limits are not enforced");
    return;
  }
  directory_ = base + "/" + name_;
  version2_ = true;
  if (wanted_.make_room) MakeRoom(base);
  bounds_memory_ = Enable(base, "memory");
  if (wanted_.processes && Enable(base, "pids")) of_processes_ = directory_;
  if (wanted_.processors && Enable(base, "cpu")) of_processors_ = directory_;
}

void ControlGroups::MakeRoom(const std::string& base) {
  // The root group has no cgroup.events, and may have processes beside its groups. Other processes
  // in our group are not ours to move.
  if (!IsThere(base + "/cgroup.events")) return;
  if (NumbersIn(base) != std::vector<pid_t>{::getpid()}) return;
  const std::string ours = base + "/" + name_ + ".self";
  Status moved = MakeGroup(ours);
  if (moved.ok()) moved = WriteValue(ours + "/cgroup.procs", std::to_string(::getpid()));
  if (!moved.ok()) AddLimitation(moved.message());
}

bool ControlGroups::Enable(const std::string& base, const std::string& controller) {
  // The kernel refuses this in a group that has processes of its own, as ours has unless it is the
  // root or we made room. Without the controller the groups still name their processes.
  Status enabled = WriteValue(base + "/cgroup.subtree_control", "+" + controller);
  if (enabled.ok()) enabled = WriteValue(directory_ + "/cgroup.subtree_control", "+" + controller);
  if (enabled.ok()) return true;
  AddLimitation(fmt::format("{}: {} limits are not enforced", enabled.message(), controller));
  return false;
}

std::string ControlGroups::In(const std::string& tree, const std::string& group) const {
  return tree + group.substr(directory_.size());
}

std::vector<std::string> ControlGroups::Trees(const std::string& group) const {
  std::vector<std::string> trees = {group};
  for (const std::string& tree : {of_processes_, of_processors_}) {
    if (!tree.empty() && tree != directory_) trees.push_back(In(tree, group));
  }
  return trees;
}

void ControlGroups::Bound(MadeControlGroup& made, const ControlGroupBounds& bounds) const {
  const std::string& group = made.directory;
  const auto set = [&made](const std::string& path, const std::string& value) {
    const Status done = WriteValue(path, value);
    if (!done.ok()) made.refused.push_back(done);
    return done.ok();
  };
  if (bounds.memory_bytes && bounds_memory_) {
    const std::string bytes = std::to_string(*bounds.memory_bytes);
    made.bounds_memory = set(group + (version2_ ? "/memory.max" : "/memory.limit_in_bytes"), bytes);
    // Else what does not fit goes there. A kernel without swap has no such file.
    WriteIfThere(group + (version2_ ? "/memory.swap.max" : "/memory.memsw.limit_in_bytes"),
                 version2_ ? "0" : bytes);
  }
  if (bounds.processes && !of_processes_.empty()) {
    set(In(of_processes_, group) + "/pids.max", std::to_string(*bounds.processes));
  }
  if (!bounds.processors || of_processors_.empty()) return;
  constexpr int kPeriod = 100'000;  // microseconds, the kernel's own
  const std::string directory = In(of_processors_, group);
  const int quota = static_cast<int>(std::min(*bounds.processors, ProcessorsAbove()) * kPeriod);
  if (version2_) {
    set(directory + "/cpu.max", fmt::format("{} {}", quota, kPeriod));
  } else if (set(directory + "/cpu.cfs_period_us", std::to_string(kPeriod))) {
    set(directory + "/cpu.cfs_quota_us", std::to_string(quota));
  }
}

double ControlGroups::ProcessorsAbove() const {
  double least = std::numeric_limits<double>::infinity();
  if (version2_) return least;
  for (fs::path above = fs::path(of_processors_).parent_path();
       above.native().size() > places_.cgroup_root.size(); above = above.parent_path()) {
    const double quota = std::atof(TextOf(above / "cpu.cfs_quota_us").c_str());
    const double period = std::atof(TextOf(above / "cpu.cfs_period_us").c_str());
    if (quota > 0 && period > 0) least = std::min(least, quota / period);  // -1: unbounded
  }
  return least;
}

StatusOr<MadeControlGroup> ControlGroups::Make(const std::string& name,
                                               const ControlGroupBounds& bounds) const {
  std::string group = directory_ + "/" + name;
  // A group of an earlier run whose last processes have not gone yet keeps its name and its counts.
  for (int number = 2; IsThere(group) && !Remove(group); ++number) {
    if (number > kSameNameMax)
      return ResourceExhausted("{} control groups named {} still have processes", kSameNameMax,
                               name);
    group = fmt::format("{}/{}-{}", directory_, name, number);
  }
  for (const std::string& tree : Trees(group)) {
    if (const Status made = MakeGroup(tree); !made.ok()) {
      Remove(group);
      return made;
    }
  }
  MadeControlGroup made{.directory = std::move(group)};
  Bound(made, bounds);
  return made;
}

std::vector<std::string> ControlGroups::JoinFiles(const std::string& group) const {
  std::vector<std::string> files;
  for (const std::string& tree : Trees(group)) files.push_back(tree + "/cgroup.procs");
  return files;
}

bool ControlGroups::RanOutOfProcesses(const std::string& group) const {
  return !of_processes_.empty() &&
         CountOf(TextOf(In(of_processes_, group) + "/pids.events"), "max") > 0;
}

bool ControlGroups::RanOutOfMemory(const std::string& group) const {
  // Both versions count the processes that the kernel killed in the group.
  return CountOf(TextOf(group + (version2_ ? "/memory.events" : "/memory.oom_control")),
                 "oom_kill") > 0;
}

std::vector<pid_t> ControlGroups::Members(const std::string& group) const {
  return MembersOf(group);
}

void ControlGroups::EndMembers(const std::string& group) const {
  // First in the tree of pids, where every process of the group is and pids.max stops new ones.
  if (!of_processes_.empty() && !version2_) KillMembers(In(of_processes_, group));
  for (const std::string& tree : Trees(group)) KillMembers(tree);
}

bool ControlGroups::Remove(const std::string& group) const {
  bool gone = true;
  for (const std::string& tree : Trees(group)) {
    gone = (::rmdir(tree.c_str()) == 0 || errno == ENOENT) && gone;
  }
  return gone;
}

void ControlGroups::RemoveAll() const {
  for (const std::string& group : All()) Remove(group);
  if (usable()) Remove(directory_);
}

void ControlGroups::EndLeftovers(const std::string& prefix) const {
  for (const std::string& tree : {of_processes_, directory_, of_processors_}) {
    if (tree.empty()) continue;
    for (const fs::path& entry : GroupEntriesOf(fs::path(tree).parent_path())) {
      const std::string name = entry.filename();
      if (!name.starts_with(prefix)) continue;
      const pid_t maker = std::atoi(name.c_str() + prefix.size());
      if (maker <= 0 || ::kill(maker, 0) == 0 || errno != ESRCH) continue;
      for (const fs::path& group : GroupEntriesOf(entry)) {
        KillMembers(group);
        ::rmdir(group.c_str());
      }
      ::rmdir(entry.c_str());
    }
  }
}

std::vector<std::string> ControlGroups::All() const {
  std::set<std::string> groups;
  if (!usable()) return {};
  for (const std::string& tree : Trees(directory_)) {
    for (const fs::path& entry : GroupEntriesOf(tree)) {
      if (IsGroupDirectory(entry)) groups.insert(directory_ + "/" + entry.filename().native());
    }
  }
  return {groups.begin(), groups.end()};
}

}  // namespace galen
