// Control groups of containers: they bound memory, count when it ran out, and name every process of
// a container whatever it does. Version 1's memory controller where it is mounted, else version 2.
// Made below our own group, for which a machine may give us no right: then there are none, and
// containers run without. Linux only; blocking calls, each a small file. Source: the kernel's
// Documentation/admin-guide/cgroup-v1/memory.rst and cgroup-v2.rst. Belongs to the agent's loop.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace galen::agent {

class ControlGroups {
 public:
  // Where things are; another root in tests.
  struct Places {
    std::string cgroup_root = "/sys/fs/cgroup";
    std::string own_groups = "/proc/self/cgroup";
  };

  // Makes the group of all containers, named `name`. What fails is in limitation().
  ControlGroups(Places places, const std::string& name);

  // Whether containers get groups at all.
  bool usable() const { return !directory_.empty(); }
  // What is missing, as a sentence; "" for nothing.
  const std::string& limitation() const { return limitation_; }

  // A group of that name, empty and with that bound; its directory. Where one of the name still has
  // processes, another with a number behind it. An error leaves none.
  StatusOr<std::string> Make(const std::string& name,
                             std::optional<std::uint64_t> memory_bytes_max) const;
  // Whether the kernel killed a process of it for want of memory.
  bool RanOutOfMemory(const std::string& group) const;
  // Processes in it now.
  std::vector<pid_t> Members(const std::string& group) const;
  // Removes it; false for one that stays, since it still has processes.
  bool Remove(const std::string& group) const;
  // At the end: removes every group that has no processes, and the one of all containers after
  // them.
  void RemoveAll() const;
  // Groups that are there, as directories: after a start those of an agent before this one.
  std::vector<std::string> All() const;

 private:
  void UseVersion1(const std::string& own);
  void UseVersion2(const std::string& own);

  const Places places_;
  const std::string name_;
  std::string directory_;  // of all containers' groups; "" without any
  bool version2_ = false;
  bool bounds_memory_ = false;
  std::string limitation_;
};

}  // namespace galen::agent
