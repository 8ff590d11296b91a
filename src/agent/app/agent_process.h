// The agent with its real edges: loop, files, API client, sockets and child processes of one
// process, in the order in which they need each other. It offers an admin page; the program decides
// who serves it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "agent/app/agent_app.h"
#include "agent/app/config.h"
#include "agent/containers/posix_container_processes.h"
#include "agent/drivers/posix_socket_directory.h"
#include "base/fd.h"
#include "base/files/disk_thread.h"
#include "base/files/posix_file_system.h"
#include "base/loop/epoll_loop.h"
#include "base/loop/service_manager.h"
#include "base/loop/signal.h"
#include "base/status.h"
#include "kube/exec_runner.h"
#include "kube/refusal_watch.h"
#include "kube/transport.h"
#include "net/admin_page.h"
#include "net/endpoint/socket_keeper.h"
#include "rpc/peer_gate.h"

namespace galen::agent {

// Sees to it that one agent runs per state directory and per kubelet: two would write one journal
// or contradict each other on the Pods. An flock(2), which ends with its process, however that
// ends; the file stays. Held for as long as the object lives. Taken before the loop runs; belongs
// to the thread that took it.
class NodeLock {
 public:
  // Locks `path`, making it when it is missing, and the directory that it is in, and writes our
  // process id into it; on a read-only disk that lacks the file, the directory alone. Never waits.
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

// Reads and checks the configuration whole; nothing is started, and nothing written but the agent's
// own directories. InvalidArgument names every fault at once; other codes are of directories that
// cannot be made, which may be possible in a moment.
StatusOr<AgentConfig> PrepareConfig(const AgentFlags& flags);

// Everything is called from one thread, which is the loop's. In this order: Create, PrepareApi,
// Start, Run.
class AgentProcess {
 public:
  // Forks the keeper of containers' processes, where the configuration asks for them, and makes the
  // loop. REQUIRES: this process has no threads yet. Errors: the machine lacks what they need.
  static StatusOr<std::unique_ptr<AgentProcess>> Create(AgentConfig config);

  // Finds the API server and its credentials. On an error the operator has to repair the
  // configuration.
  Status PrepareApi();
  // Takes the node (FailedPrecondition when another agent has it), then starts what others can see.
  Status Start();
  // Until SIGINT or SIGTERM and the end of what was under way, 6 s at most. Ends the process where
  // a disk that hangs would hold it.
  void Run();

  IoLoop& loop() { return *loop_; }
  Log& log() { return log_; }
  FileSystem& files() { return files_; }
  const AgentConfig& config() const { return config_; }
  // Metrics, readiness and notes. Its checks are there once Start has returned.
  net::AdminPage& page() { return page_; }

 private:
  AgentProcess(std::unique_ptr<EpollLoop> loop, std::unique_ptr<DiskThread> disk,
               AgentConfig config, std::unique_ptr<ProcessKeeper> keeper);

  // Containers as processes, where the configuration asks for them.
  Status PrepareProcesses();
  void DescribeItself();
  std::string WhyNotReady() const;

  // Members end in the opposite order: sockets before the agent they ask, the agent before its
  // edges.
  std::unique_ptr<EpollLoop> loop_;
  const AgentConfig config_;
  Log log_;
  Metrics metrics_;
  Random random_{Random::Seed()};
  PosixFileSystem files_;
  std::unique_ptr<DiskThread> disk_;
  PosixSocketDirectory registry_, health_sources_;
  std::unique_ptr<NodeLock> lock_, node_lock_;
  std::unique_ptr<net::Dialer> dialer_;
  std::unique_ptr<kube::ExecRunner> exec_;
  std::unique_ptr<kube::Transport> transport_;
  std::unique_ptr<kube::RefusalWatch> refusals_;
  std::unique_ptr<ProcessKeeper> keeper_;  // moved into processes_
  std::unique_ptr<PosixContainerProcesses> processes_;
  // A disk thread for containers' output, where containers run: it must not delay the journal,
  // which a change waits for at most 250 ms.
  std::unique_ptr<DiskThread> container_disk_;
  std::unique_ptr<AgentApp> app_;
  std::unique_ptr<net::SocketHost> sockets_;
  std::optional<rpc::PeerGate> gate_;
  std::optional<net::SocketKeeper> inspect_;
  net::AdminPage page_{metrics_};
  std::unique_ptr<SignalWatch> signals_;
  ServiceManager service_manager_;
};

}  // namespace galen::agent
