// A child process on the loop: started without a shell, its output read, its exit reported.
// Standard input is /dev/null. The child has every signal as by default and none of our descriptors
// but those named here. Belongs to its loop, which outlives it; the owner keeps it for as long as
// the child may run. Has no deadline: who wants one holds a Timer and sends a signal.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop/io_loop.h"
#include "base/time.h"

namespace galen {

class Process {
 public:
  // For a program of somebody else's, which may hang, fork, spin and print without end. It has a
  // process group of its own, which is killed whole with it and when it has ended; of our
  // environment it has nothing, and what it writes to standard error is dropped. A child of it that
  // makes itself a session or group of its own is not met.
  struct Confinement {
    int nice = 10;                     // added to ours
    std::chrono::seconds cpu_most{2};  // RLIMIT_CPU of each of its processes
    // RLIMIT_DATA of each of its processes; runtimes that take much and use little (Go) fit. Where
    // memory runs out all the same, it is ended in our place.
    std::size_t memory_most = std::size_t{256} << 20;
    // It joins control groups by these files (ControlGroups::JoinFiles), right after its start,
    // with what it has started by then. They bound the memory of all its processes then, in the
    // place of memory_most.
    std::vector<std::string> join{};
    bool joined_bounds_memory = false;
  };
  // What to run and where its output goes.
  struct Options {
    // Program and arguments. A program without a slash is found by our own PATH.
    std::vector<std::string> command;
    // "KEY=value" lines added to ours; they win over ours.
    std::vector<std::string> environment;
    // Where it starts; "" = our own working directory.
    std::string directory;
    // Where standard output and error go: a file's path, or "" to have it passed to on_output. The
    // file is appended to and made with mode 0644 when it is missing. With "" errors go to our own
    // standard error.
    std::string output_path;
    // Bytes as they come from standard output (not error) when output_path is empty; in pieces that
    // end anywhere. Runs on the loop and may destroy the Process. Not bounded: who keeps the bytes
    // bounds them.
    std::function<void(std::string_view)> on_output;
    std::optional<Confinement> confinement{};
  };
  // How it ended.
  struct Exit {
    int code = 0;    // valid when signal is 0
    int signal = 0;  // that ended it
    Duration cpu{};  // of it and of those children that it waited for
  };

  // Starts the child; it runs when this returns. `on_exit` runs once, on the loop, after all output
  // was delivered (what a grandchild writes later is not waited for); it may destroy the Process.
  // Errors: InvalidArgument for an empty command or a bad environment line, NotFound when there is
  // no such program, PermissionDenied when it may not be run, ResourceExhausted when processes or
  // descriptors are used up, or the error of opening output_path.
  static StatusOr<std::unique_ptr<Process>> Start(IoLoop& loop, Options options,
                                                  std::function<void(Exit)> on_exit);
  // The same in two steps, the first of which any thread may take: it waits until the kernel has
  // loaded the program, for ever where that lies on a file system that hangs. Nothing is read of
  // the child and no end seen before the second, which is taken once, on the loop.
  static StatusOr<std::unique_ptr<Process>> Spawn(Options options);
  void Watch(IoLoop& loop, std::function<void(Exit)> on_exit);
  // Kills (SIGKILL) and reaps when it still runs; on_exit is not called then. A confined one is not
  // waited for, since in the kernel it may hang for ever: it is reaped when we end.
  ~Process();

  // Stays what it was after the child has ended; the number may then be another's.
  pid_t pid() const;
  // Sends `signal` to the child alone, not to its children; a confined one's group has it too. Does
  // nothing when it has ended.
  void Signal(int signal);

 private:
  struct Impl;
  explicit Process(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace galen
