// The processes of containers, behind a seam: the machine's own (PosixContainerProcesses) and those
// that a test makes up (FakeContainerProcesses). A container is a process and all its descendants.
// Belongs to one loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace galen::agent {

// What to run.
struct ContainerCommand {
  std::string id;                        // unique among those that run; a file's name
  std::vector<std::string> command;      // not empty; a program without a slash is found by PATH
  std::vector<std::string> environment;  // "KEY=value", all that it gets
  std::string working_directory;
  std::optional<std::uint64_t> memory_bytes_max;
};

// How its first process ended.
struct ProcessEnd {
  int code = 0;                 // valid when no signal ended it
  std::optional<int> signal{};  // the one that ended it
  bool out_of_memory = false;

  bool operator==(const ProcessEnd&) const = default;
};

// A running container. Destroying it kills all its processes; on_end is not called then.
class ContainerProcess {
 public:
  virtual ~ContainerProcess() = default;
  // To all its processes, as far as they are known.
  virtual void Signal(int signal) = 0;
  // True: output is no longer handed on, so that writers block once the pipe is full, until false.
  // When the container ends, its output is handed on all the same.
  virtual void HoldOutput(bool hold) = 0;
};

class ContainerProcesses {
 public:
  virtual ~ContainerProcesses() = default;

  // Standard output and error, as they come, in pieces that end anywhere.
  using OnOutput = std::function<void(std::string_view bytes)>;
  // Once, later, after all output was handed on and every process of the container is gone; may
  // destroy the ContainerProcess.
  using OnEnd = std::function<void(const ProcessEnd& end)>;

  // It runs when this returns. NotFound: no such program or working directory; PermissionDenied:
  // it may not be run; ResourceExhausted: no processes or descriptors are left.
  virtual StatusOr<std::unique_ptr<ContainerProcess>> Start(const ContainerCommand& command,
                                                            OnOutput on_output, OnEnd on_end) = 0;
  // Kills what containers of an agent before this one left behind, each found by its environment
  // and never by a process id, which may have been reused. How many were killed.
  virtual int KillLeftovers() = 0;
  // The next two touch the disk, and nothing of the loop's: they may be called from another thread,
  // one at a time.
  //
  // The file's first bytes, at most that many, which a container wrote: never more than these are
  // held, whatever it is. NotFound when there is none; an error for a link or what is no file.
  virtual StatusOr<std::string> ReadStart(const std::string& path, std::size_t bytes_max) = 0;
  // Removes the directory with all that containers put into it.
  virtual void RemoveTree(const std::string& directory) = 0;
  // What this machine does not support, as a sentence; "" when nothing is missing.
  virtual std::string limitation() const = 0;
};

}  // namespace galen::agent
