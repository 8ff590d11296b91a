// Control groups for programs that nobody trusts. A group bounds what a program and its children
// use together, counts how often their memory ran out, and lists them, however they fork. By
// version 1's memory controller where it is mounted, else by version 2. Groups are made below our
// own; where we may not do that there are none, and programs run without. Linux only; blocking
// calls, each a small file. Source: the kernel's Documentation/admin-guide/cgroup-v1 and
// cgroup-v2.rst. Belongs to its owner's loop.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace galen {

// What the processes of one group may use together; what is not set is not bounded.
struct ControlGroupBounds {
  std::optional<std::uint64_t> memory_bytes{};
  std::optional<int> processes{};      // processes and threads together
  std::optional<double> processors{};  // 0.5: half of one processor's time

  bool operator==(const ControlGroupBounds&) const = default;
};

// A group as it was made.
struct MadeControlGroup {
  std::string directory;
  bool bounds_memory = false;     // the bound that was asked for holds
  std::vector<Status> refused{};  // bounds that the kernel did not take, and why; the others hold
};

class ControlGroups {
 public:
  // Paths of the control groups; tests give others.
  struct Places {
    std::string cgroup_root = "/sys/fs/cgroup";
    std::string own_groups = "/proc/self/cgroup";
  };

  // Controllers that the caller wants beside memory.
  struct Wanted {
    bool processes = false, processors = false;
    // Version 2 bounds nothing below a group that has processes of its own: when this process is
    // alone in its group, it moves into one of its own beside the programs' groups.
    bool make_room = false;
  };

  // Makes the parent of all groups, named `name`. What fails is in limitation().
  ControlGroups(Places places, const std::string& name, Wanted wanted);
  ControlGroups(Places places, const std::string& name)
      : ControlGroups(std::move(places), name, Wanted()) {}

  // Whether programs get groups at all.
  bool usable() const { return !directory_.empty(); }
  // What is missing, as a sentence; "" for nothing.
  const std::string& limitation() const { return limitation_; }

  // A group of that name, empty and with those bounds of which this machine gives the controller.
  // Where one of the name still has processes, another with a number behind it. An error leaves no
  // group. A bound that the kernel refuses is no error.
  StatusOr<MadeControlGroup> Make(const std::string& name, const ControlGroupBounds& bounds) const;
  // Files into which a process's number is written to put it into the group.
  std::vector<std::string> JoinFiles(const std::string& group) const;
  // Whether the kernel killed a process of the group for want of memory.
  bool RanOutOfMemory(const std::string& group) const;
  // Whether a process or thread could not be started because the group was at its limit.
  bool RanOutOfProcesses(const std::string& group) const;
  // The group's processes that are in our pid namespace.
  std::vector<pid_t> Members(const std::string& group) const;
  // Kills every process of the group but ourselves, never one that took over a pid. They end a
  // little later. Where the kernel cannot kill a group as a whole, a program that forks without end
  // may have processes left: call it again.
  void EndMembers(const std::string& group) const;
  // Removes the group; false when it stays, because it still has processes.
  bool Remove(const std::string& group) const;
  // At the end: removes every group that has no processes, and their parent last.
  void RemoveAll() const;
  // Cleans up after earlier programs: kills what still runs in groups named `prefix` and a pid
  // whose process is gone, and removes those groups once they are empty.
  void EndLeftovers(const std::string& prefix) const;
  // Groups that are there in any tree, as directories of the first: after a start those of a
  // program before this one.
  std::vector<std::string> All() const;

 private:
  void UseVersion1(const std::string& own);
  // Version 1 has a tree of groups for each controller. Makes the directory of our groups in the
  // controller's tree and returns it; "" where that is not allowed. `lines`: /proc/self/cgroup.
  std::string TreeBeside(const std::string& lines, const std::string& controller);
  void UseVersion2(const std::string& own);
  // Version 2 enables controllers only below a group without processes: moves this process into a
  // group of its own below, if it is alone in the present one.
  void MakeRoom(const std::string& base);
  // Turns a controller of version 2 on for the groups below ours; false where that is refused.
  bool Enable(const std::string& base, const std::string& controller);
  void AddLimitation(const std::string& what);
  // The group's directory in `tree`, one controller's tree of groups.
  std::string In(const std::string& tree, const std::string& group) const;
  // The group's directories in all trees; first `group` itself.
  std::vector<std::string> Trees(const std::string& group) const;
  // As far as this machine bounds anything.
  void Bound(MadeControlGroup& made, const ControlGroupBounds& bounds) const;
  // Version 1 refuses a group more than those above it may use: what they may.
  double ProcessorsAbove() const;

  const Places places_;
  const std::string name_;
  const Wanted wanted_;
  std::string directory_;  // the parent of all groups; "": none could be made
  bool version2_ = false;
  bool bounds_memory_ = false;
  // The parent of all groups in the trees of pids and cpu: directory_ itself in version 2, "" when
  // the controller is missing.
  std::string of_processes_, of_processors_;
  std::string limitation_;
};

}  // namespace galen
