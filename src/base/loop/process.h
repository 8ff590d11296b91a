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
  // Limits for somebody else's program, which may hang, fork, spin and print without end. Its
  // process group is its own, and is killed whole with it and once it has ended; it gets none of
  // our environment, and its standard error is dropped. A child that makes a session or group of
  // its own escapes that kill.
  struct Confinement {
    int nice = 10;                     // added to ours
    std::chrono::seconds cpu_most{2};  // RLIMIT_CPU of each of its processes
    // RLIMIT_DATA of each of its processes; runtimes that take much and use little (Go) fit. When
    // the machine's memory runs out all the same, the kernel ends this program rather than us.
    std::size_t memory_most = std::size_t{256} << 20;
    // Control groups that it joins by these files (ControlGroups::JoinFiles) right after its start,
    // with what it has started by then.
    std::vector<std::string> join{};
    // These groups bound the memory of all its processes: memory_most is not used.
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
    int signal = 0;  // the signal that ended it
    Duration cpu{};  // its own, and that of children that it waited for
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
