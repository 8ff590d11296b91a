// The keeper's own side: the process beside the agent that starts the processes of containers, and
// the messages between it and the agent's side (process_keeper.h). Each message is one packet of a
// SOCK_SEQPACKET pair. Linux only.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "base/fd.h"

namespace galen::agent {

// What the agent asks for.
struct KeeperRequest {
  // kStart: descriptors are the link, the output, and cgroup.procs of the group where there is one.
  // kSignal: to the session of the process.
  enum class Kind : std::uint32_t { kStart, kSignal };
  Kind kind = Kind::kStart;
  std::int32_t signal = 0;       // of kSignal
  std::uint64_t id = 0;          // of the process; the agent counts them
  std::uint64_t plan_bytes = 0;  // of kStart: how long its plan is
  std::uint64_t arguments = 0;   // how many of the plan's texts are arguments
};

// A process has ended; `status` is that of waitpid(2). The first one, with id 0, says that the
// keeper is ready, or by an errno why it is not.
struct KeeperReport {
  std::uint64_t id = 0;
  std::int32_t status = 0;
};

// Where a start failed. The link of a start is a stream: the agent writes the plan (the program's
// file, the working directory, arguments, "KEY=value" lines; each ends with a zero byte) and shuts
// its writing side; the process answers with a fault, or runs its program, which closes the link.
struct StartFault {
  // The step of the start that failed.
  enum class Step : std::int32_t { kNone, kFork, kGroup, kDirectory, kProgram };
  std::int32_t error = 0;
  Step step = Step::kNone;
};

// A message that was received. `size` is recv(2)'s: 0 at the end, negative with errno set.
struct KeeperPacket {
  KeeperRequest request;
  std::vector<Fd> descriptors;
  ssize_t size = 0;
};

// False with errno set when it cannot be sent; EAGAIN when it would wait. At most 3 descriptors.
bool SendRequest(int socket, KeeperRequest request, const std::vector<int>& descriptors);
// Waits for one.
KeeperPacket ReceiveRequest(int socket);

// All that the keeper does, in a process of its own, which was forked from one that had no threads.
// It closes every descriptor but `socket`. When the other end of that is closed, for whatever
// reason, it kills all processes that descend from those that it started, and ends after them.
[[noreturn]] void KeepProcesses(int socket);

}  // namespace galen::agent
