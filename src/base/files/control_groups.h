// Control groups of other people's programs: they bound what a program and all its children use,
// count when memory ran out, and name every process of it whatever it does. Version 1's memory
// controller where it is mounted, else version 2. Made below our own group, for which a machine may
// give us no right: then there are none, and programs run without. Linux only; blocking calls, each
// a small file. Source: the kernel's Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst. Belongs
// to its owner's loop.
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
  std::optional<int> processes{};      // and threads
  std::optional<double> processors{};  // 0.5: half the time of one

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
  // Where things are; another root in tests.
  struct Places {
    std::string cgroup_root = "/sys/fs/cgroup";
    std::string own_groups = "/proc/self/cgroup";
  };

  // What is wanted beside a bound of memory.
  struct Wanted {
    bool processes = false, processors = false;
    // Version 2 bounds nothing below a group that has processes of its own: where we are alone in
    // ours, we go into one of our own beside the others.
    bool make_room = false;
  };

  // Makes the group of all groups, named `name`. What fails is in limitation().
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
  // Whether the kernel killed a process of it for want of memory.
  bool RanOutOfMemory(const std::string& group) const;
  // Whether a process or thread could not be made since the group had as many as it may.
  bool RanOutOfProcesses(const std::string& group) const;
  // Processes in it now that have a number here.
  std::vector<pid_t> Members(const std::string& group) const;
  // Kills every process in it but ourselves, by what means that process and no other that has its
  // number by then. They go a little later. Where the kernel cannot kill a group as one, what forks
  // without end may have some left: call it again.
  void EndMembers(const std::string& group) const;
  // Removes it; false for one that stays, since it still has processes.
  bool Remove(const std::string& group) const;
  // At the end: removes every group that has no processes, and the one of all after them.
  void RemoveAll() const;
  // Cleans up after earlier programs: kills what still runs in groups named `prefix` and a process
  // number, where that process is gone, and removes those groups once they are empty.
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
  // Version 2 gives controllers to groups only below one without processes: moves this process into
  // a group of its own below, if it is alone in the present one.
  void MakeRoom(const std::string& base);
  // Turns a controller of version 2 on for the groups below ours; false where that is refused.
  bool Enable(const std::string& base, const std::string& controller);
  void AddLimitation(const std::string& what);
  // The group's directory in that tree of groups.
  std::string In(const std::string& tree, const std::string& group) const;
  // All of its directories, the one that names it first.
  std::vector<std::string> Trees(const std::string& group) const;
  // As far as this machine bounds anything.
  void Bound(MadeControlGroup& made, const ControlGroupBounds& bounds) const;
  // Version 1 refuses a group more than those above it may use: what they may.
  double ProcessorsAbove() const;

  const Places places_;
  const std::string name_;
  const Wanted wanted_;
  std::string directory_;  // of all groups; "" without any
  bool version2_ = false;
  bool bounds_memory_ = false;
  // Where those of this controller are, directory_ itself in version 2; "" where it is not had.
  std::string of_processes_, of_processors_;
  std::string limitation_;
};

}  // namespace galen
