// The directories of Pods whose containers are processes: made before a Pod runs and removed with
// it, beside the loop. One piece of work is with the disk at a time; what is asked for meanwhile is
// the next. Belongs to the agent's loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/containers/container_processes.h"
#include "base/files/disk_queue.h"
#include "base/files/file_system.h"
#include "base/liveness.h"
#include "base/loop/loop.h"
#include "model/claim.h"

namespace galen::agent {

class PodDirectories {
 public:
  // Removals that wait for the disk; what exceeds this is left to the next agent's RemoveOthers.
  static constexpr std::size_t kRemovalsMax = 4096;

  // What it needs of the process; borrowed.
  struct Edges {
    Loop& loop;
    FileSystem& files;
    ContainerProcesses& processes;
    DiskQueue& disk;
  };
  // On the loop, perhaps inside the call that asked; never after this was destroyed.
  using Done = std::function<void(const Status& made)>;

  // `directory` is that of all Pods. The arguments outlive this and the work that the disk has.
  PodDirectories(Edges edges, std::string directory)
      : edges_(edges), directory_(std::move(directory)) {}

  // Makes these directories of the Pod's containers, which only the agent's user may enter. A
  // second call replaces a first that has not begun, whose `done` is not called.
  void Make(const PodRef& pod, std::vector<std::string> directories, Done done);
  // The Pod is gone: what was asked for it and has not begun is dropped, what is there goes.
  void Remove(const PodRef& pod);
  // Removes the directories of all Pods but these, and so what earlier agents left.
  void RemoveOthers(const std::vector<PodRef>& pods);

  // Since when the disk has had the present piece of work; nullopt while it has none.
  std::optional<Time> busy_since() const { return busy_since_; }

 private:
  struct Request {
    std::vector<std::string> directories;
    Done done;
    Status made;
  };
  struct Turn;

  void Look();
  void End(Turn turn);

  const Edges edges_;
  const std::string directory_;
  std::map<PodRef, Request> makes_;
  std::set<std::string> removals_;
  std::optional<std::set<std::string>> keep_;  // names that RemoveOthers leaves, until it has begun
  std::optional<Time> busy_since_;
  Liveness liveness_;
};

}  // namespace galen::agent
