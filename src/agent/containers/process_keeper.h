// The agent's side of its keeper: one small process whose children all containers are. It sees the
// agent's end, whatever ends it, and then kills all their descendants, daemons with a session of
// their own too, since it adopts what loses its parent (PR_SET_CHILD_SUBREAPER). Linux only.
// Belongs to the agent's loop from Watch on.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/containers/container_processes.h"
#include "base/fd.h"
#include "base/loop/io_loop.h"
#include "base/status.h"

namespace galen::agent {

struct KeeperRequest;

// Why a keeper that was forked could not go on, by its errno: Unimplemented where the kernel is
// older than Linux 5.9, which brought close_range(2); PermissionDenied where a sandbox refuses a
// call.
Status WhyNoKeeper(int error);

// A keeper that runs, and its end of the conversation.
class ProcessKeeper {
 public:
  // How long Run waits for the program to start. A disk that hangs blocks the loop no longer than
  // this; systemd's watchdog would end the agent after 30 s.
  static constexpr Duration kStartWithin = std::chrono::seconds(5);
  // How long the destructor waits for the keeper and all its processes to end.
  static constexpr Duration kEndWithin = std::chrono::seconds(2);

  // Forks it; `start_within` is another in tests. REQUIRES: this process has no threads yet.
  // ResourceExhausted: no processes or descriptors are left; others as WhyNoKeeper has them.
  static StatusOr<std::unique_ptr<ProcessKeeper>> Start(Duration start_within = kStartWithin);
  // Kills all that it started, and ends it.
  ~ProcessKeeper();

  // A process that Run gave the number of has ended; `status` is waitpid(2)'s.
  using OnEnd = std::function<void(std::uint64_t id, int status)>;
  // The keeper itself ended unasked; `how` names its signal or exit code. Nothing can be run any
  // more, and OnEnd is not called. Once.
  using OnLost = std::function<void(const std::string& how)>;
  // Once, before anything is run. The loop outlives this.
  void Watch(IoLoop& loop, OnEnd on_end, OnLost on_lost);

  // Starts the command as the leader of a session of its own, with `output` as standard output and
  // error, in the control group of that directory ("": none). It runs when this returns; its number
  // here, never used again. Errors as of ContainerProcesses::Start; Unavailable: the keeper is
  // gone; DeadlineExceeded: it does not run within kStartWithin, and is killed.
  StatusOr<std::uint64_t> Run(const ContainerCommand& command, int output,
                              const std::string& group);
  // To the session's first process group; nothing for one that has ended.
  void Signal(std::uint64_t id, int signal);

  pid_t pid() const { return pid_; }

 private:
  ProcessKeeper(Fd socket, pid_t pid, Duration start_within)
      : socket_(std::move(socket)), pid_(pid), start_within_(start_within) {}

  void OnReport();
  void Lose();
  // False: it has ended, or is ended since it takes nothing.
  bool Send(const KeeperRequest& request, const std::vector<int>& descriptors);

  Fd socket_;  // empty once the keeper is lost
  const pid_t pid_;
  const Duration start_within_;
  bool reaped_ = false;
  std::uint64_t last_id_ = 0;
  OnEnd on_end_;
  OnLost on_lost_;
  FdWatch watch_;
};

}  // namespace galen::agent
