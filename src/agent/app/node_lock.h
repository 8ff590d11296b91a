// Sees to it that one agent runs per state directory and per kubelet: two would write one journal
// or contradict each other on the Pods. An flock(2), which dies with its process, however that
// dies; the file stays. Held for as long as the object lives. Taken before the loop runs; belongs
// to the thread that took it.
#pragma once

#include <memory>
#include <string>

#include "base/fd.h"
#include "base/status.h"

namespace galen::agent {

class NodeLock {
 public:
  // Locks `path`, making it when it is missing, and the directory that it is in, and writes our
  // process id into it; on a read-only disk without it the directory alone. Never waits.
  // AlreadyExists names the process that holds them; other errors are those of opening, locking or
  // writing.
  static StatusOr<std::unique_ptr<NodeLock>> Take(const std::string& path);
  // Locks the drivers' registry, of which a node has one, whatever state directories its agents
  // have; needs no right to write. One that does not exist yet is not locked.
  static StatusOr<std::unique_ptr<NodeLock>> TakeRegistry(const std::string& directory);

 private:
  explicit NodeLock(Fd directory, Fd file = {})
      : directory_(std::move(directory)), file_(std::move(file)) {}

  Fd directory_;
  Fd file_;  // empty: there is none
};

}  // namespace galen::agent
