#include "agent/containers/pod_directories.h"

#include <utility>

#include "agent/containers/container_plan.h"

namespace galen::agent {

// The work that the disk does at one time. Removals come first: a Pod's directory that is made in
// the same turn stays.
struct PodDirectories::Turn {
  FileSystem& files;
  ContainerProcesses& processes;
  std::string directory;
  std::optional<std::set<std::string>> keep;
  std::set<std::string> removals;
  std::map<PodRef, Request> makes;

  void Run() {
    for (const std::string& removal : removals) processes.RemoveTree(removal);
    if (keep) RemoveOthers();
    for (auto& [pod, request] : makes) request.made = Make(request.directories);
  }

  void RemoveOthers() {
    const StatusOr<std::vector<std::string>> names = files.List(directory);
    if (!names.ok()) return;  // there is none before the first Pod
    for (const std::string& name : *names) {
      const std::string path = directory + "/" + name;
      if (!keep->contains(path)) processes.RemoveTree(path);
    }
  }

  Status Make(const std::vector<std::string>& wanted) {
    for (const std::string& path : wanted) {
      // Private: the directories hold logs and programs' files.
      RETURN_IF_ERROR(files.MakeDirectories(path, 0700));
    }
    return OkStatus();
  }
};

void PodDirectories::Make(const PodRef& pod, std::vector<std::string> directories, Done done) {
  makes_[pod] = {std::move(directories), std::move(done), OkStatus()};
  Look();
}

void PodDirectories::Remove(const PodRef& pod) {
  makes_.erase(pod);
  if (removals_.size() >= kRemovalsMax) return;
  removals_.insert(DirectoryOfPod(directory_, pod));
  Look();
}

void PodDirectories::RemoveOthers(const std::vector<PodRef>& pods) {
  keep_.emplace();
  for (const PodRef& pod : pods) keep_->insert(DirectoryOfPod(directory_, pod));
  Look();
}

void PodDirectories::Look() {
  if (busy_since_ || (makes_.empty() && removals_.empty() && !keep_)) return;
  busy_since_ = edges_.loop.Now();
  RunFor(
      liveness_, edges_.disk,
      [turn = Turn{.files = edges_.files,
                   .processes = edges_.processes,
                   .directory = directory_,
                   .keep = std::exchange(keep_, std::nullopt),
                   .removals = std::exchange(removals_, {}),
                   .makes = std::exchange(makes_, {})}]() mutable {
        turn.Run();
        return std::move(turn);
      },
      [this](Turn turn) { End(std::move(turn)); });
}

void PodDirectories::End(Turn turn) {
  const Liveness::Watch watch(liveness_);
  for (auto& [pod, request] : turn.makes) {
    request.done(request.made);
    if (!watch.alive()) return;
  }
  busy_since_.reset();
  Look();
}

}  // namespace galen::agent
