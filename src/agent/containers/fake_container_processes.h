// Containers' processes that a test makes up: it sees what was started and signalled, and says what
// they write and how they end. For tests.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/containers/container_processes.h"
#include "base/files/file_system.h"
#include "base/loop/loop.h"

namespace galen::agent {

class FakeContainerProcesses final : public ContainerProcesses {
 public:
  // Containers write into `files`.
  FakeContainerProcesses(Loop& loop, FileSystem& files) : loop_(loop), files_(files) {}

  StatusOr<std::unique_ptr<ContainerProcess>> Start(const ContainerCommand& command,
                                                    OnOutput on_output, OnEnd on_end) override {
    if (!refusal.ok()) return refusal;
    started.push_back(command);
    const int number = ++numbers_;
    running_[number] = {command.id, std::move(on_output), std::move(on_end)};
    return std::unique_ptr<ContainerProcess>(new Process(*this, number));
  }
  int KillLeftovers() override { return std::exchange(leftovers, 0); }
  StatusOr<std::string> ReadStart(const std::string& path, std::size_t bytes_max) override {
    most_read = std::max(most_read, bytes_max);
    ASSIGN_OR_RETURN(const std::string bytes, files_.Read(path));
    return bytes.substr(0, bytes_max);
  }
  void RemoveTree(const std::string& directory) override {
    removed.push_back(directory);
    Remove(directory);
  }
  std::string limitation() const override { return ""; }

  // Ids of what runs, in the order of their starts.
  std::vector<std::string> Running() const {
    std::vector<std::string> ids;
    for (const auto& [number, run] : running_) ids.push_back(run.id);
    return ids;
  }
  // What runs under the id writes this. REQUIRES: it runs.
  void Say(const std::string& id, std::string_view bytes) {
    Run& run = Find(id)->second;
    run.written += bytes;
    if (!run.held) HandOn(run);
  }
  // Whether a process would wait that writes now. REQUIRES: it runs.
  bool IsHeld(const std::string& id) { return Find(id)->second.held; }
  // It ends, by a task of the loop. REQUIRES: it runs.
  void End(const std::string& id, ProcessEnd end) {
    loop_.Post([this, number = Find(id)->first, end] {
      const auto run = running_.find(number);
      if (run == running_.end()) return;  // it was destroyed meanwhile
      HandOn(run->second);
      const OnEnd on_end = std::move(run->second.on_end);
      running_.erase(run);
      on_end(end);
    });
  }
  // "uid-a.main.0 15": what was signalled since the last call.
  std::vector<std::string> TakeSignals() { return std::exchange(signals_, {}); }

  std::vector<ContainerCommand> started;
  std::vector<std::string> removed;
  Status refusal;  // of each start, while it is one
  int leftovers = 0;
  std::size_t most_read = 0;  // bytes of a file that were asked for

 private:
  struct Run {
    std::string id;
    OnOutput on_output;
    OnEnd on_end;
    bool held = false;
    std::string written{};  // and not handed on
  };
  class Process final : public ContainerProcess {
   public:
    Process(FakeContainerProcesses& owner, int number) : owner_(owner), number_(number) {}
    ~Process() override { owner_.running_.erase(number_); }
    void Signal(int signal) override {
      const auto run = owner_.running_.find(number_);
      if (run == owner_.running_.end()) return;
      owner_.signals_.push_back(run->second.id + " " + std::to_string(signal));
    }
    void HoldOutput(bool hold) override {
      const auto run = owner_.running_.find(number_);
      if (run == owner_.running_.end()) return;
      run->second.held = hold;
      if (hold || run->second.written.empty()) return;
      // Later, as it is read from a pipe.
      owner_.loop_.Post([&owner = owner_, number = number_] {
        const auto later = owner.running_.find(number);
        if (later != owner.running_.end() && !later->second.held) HandOn(later->second);
      });
    }

   private:
    FakeContainerProcesses& owner_;
    const int number_;
  };

  static void HandOn(Run& run) {
    const std::string bytes = std::exchange(run.written, {});
    if (!bytes.empty()) run.on_output(bytes);
  }
  // Files alone: FakeFileSystem keeps its directories.
  void Remove(const std::string& path) {
    const StatusOr<std::vector<std::string>> names = files_.List(path);
    if (names.ok()) {
      for (const std::string& name : *names) Remove(path + "/" + name);
    }
    static_cast<void>(files_.Remove(path));  // what cannot be removed stays
  }

  std::map<int, Run>::iterator Find(const std::string& id) {
    auto run = running_.begin();
    while (run->second.id != id) ++run;
    return run;
  }

  Loop& loop_;
  FileSystem& files_;
  int numbers_ = 0;
  std::map<int, Run> running_;
  std::vector<std::string> signals_;
};

}  // namespace galen::agent
