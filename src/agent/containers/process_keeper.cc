#include "agent/containers/process_keeper.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>
#include <vector>

#include "agent/containers/keeper_main.h"
#include "base/process_handle.h"

namespace galen::agent {
namespace {

// The program's file: a name without a slash is looked for along the container's own PATH.
StatusOr<std::string> FindProgram(const ContainerCommand& command) {
  const std::string& program = command.command.front();
  if (program.empty()) return InvalidArgument("the command names no program");
  if (program.find('/') != std::string::npos) return program;
  std::string path;
  for (const std::string& line : command.environment) {
    if (line.starts_with("PATH=")) path = line.substr(5);
  }
  for (std::size_t from = 0; from < path.size();) {
    const std::size_t to = std::min(path.find(':', from), path.size());
    const std::string file = path.substr(from, to - from) + "/" + program;
    if (::access(file.c_str(), X_OK) == 0) return file;
    from = to + 1;
  }
  return NotFound("start {}: no such program in PATH ({}) of this machine", program, path);
}

Status ToStatus(const StartFault& fault, const ContainerCommand& command) {
  switch (fault.step) {
    case StartFault::Step::kNone:
      return OkStatus();
    case StartFault::Step::kFork:
      return ErrnoStatus(fault.error, "make a process");
    case StartFault::Step::kGroup:
      return ErrnoStatus(fault.error, "enter the control group of " + command.id);
    case StartFault::Step::kDirectory:
      return ErrnoStatus(fault.error, "enter the directory " + command.working_directory);
    case StartFault::Step::kProgram:
      return ErrnoStatus(fault.error, "start " + command.command.front());
  }
  GALEN_UNREACHABLE();
}

// As StartFault says. A text ends at its first zero byte, as for execve(2).
std::string PlanOf(const ContainerCommand& command, const std::string& program) {
  std::string plan;
  const auto add = [&](const std::string& text) { plan.append(text.c_str()) += '\0'; };
  add(program);
  add(command.working_directory);
  for (const std::string& argument : command.command) add(argument);
  for (const std::string& line : command.environment) add(line);
  return plan;
}

struct SocketPair {
  Fd ours, theirs;
};

StatusOr<SocketPair> MakeSocketPair(int type) {
  int ends[2];
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0) {
    return ErrnoStatus(errno, "make a socket pair");
  }
  return SocketPair{Fd(ends[0]), Fd(ends[1])};
}

// Bounds each wait on the socket.
void SetPatience(int socket, Duration patience) {
  const auto all = std::chrono::duration_cast<std::chrono::microseconds>(patience);
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(all);
  const timeval time{.tv_sec = whole.count(), .tv_usec = (all - whole).count()};
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
}

// False with errno set: EAGAIN when it is not read in time, EPIPE when the other end is closed.
bool SendAll(int link, const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = ::send(link, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) sent += static_cast<std::size_t>(count);
  }
  return ::shutdown(link, SHUT_WR) == 0;
}

// Hands the plan over; returns when the process runs its program, or has said why it does not.
Status HandOver(int link, const std::string& plan, const ContainerCommand& command) {
  const std::string& program = command.command.front();
  const bool sent = SendAll(link, plan);
  const bool late = !sent && errno == EAGAIN;
  StartFault fault;
  ssize_t count = 0;
  // A process that ended early may have sent its fault before.
  while (!late && (count = ::recv(link, &fault, sizeof(fault), 0)) < 0 && errno == EINTR) {
  }
  if (count == sizeof(fault)) return ToStatus(fault, command);
  if (count == 0 && sent) return OkStatus();
  if (late || (count < 0 && errno == EAGAIN)) {
    return DeadlineExceeded("start {}: it did not run in time: a disk may hang", program);
  }
  return Unavailable("start {}: the keeper of container processes did not take it", program);
}

std::string HowItEnded(int status) {
  return WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                             : fmt::format("exit code {}", WEXITSTATUS(status));
}

}  // namespace

Status WhyNoKeeper(int error) {
  constexpr std::string_view kWhat = "keep the processes of containers";
  if (error == ENOSYS) {
    return Unimplemented(
        "{}: this kernel is too old, Linux 5.9 or newer is needed: update the "
        "node's kernel, or start the agent without --containers processes",
        kWhat);
  }
  if (error == EPERM) {
    return PermissionDenied(
        "{}: the machine refuses a system call (close_range, signalfd4 or "
        "prctl): allow it in the sandbox or seccomp profile that the agent "
        "runs in, or start the agent without --containers processes",
        kWhat);
  }
  return ErrnoStatus(error, kWhat);
}

StatusOr<std::unique_ptr<ProcessKeeper>> ProcessKeeper::Start(Duration start_within) {
  ASSIGN_OR_RETURN(SocketPair pair, MakeSocketPair(SOCK_SEQPACKET));
  const pid_t pid = ::fork();
  if (pid < 0) return ErrnoStatus(errno, "make a process");
  if (pid == 0) KeepProcesses(pair.theirs.get());
  pair.theirs.Reset();
  std::unique_ptr<ProcessKeeper> keeper(new ProcessKeeper(std::move(pair.ours), pid, start_within));
  KeeperReport report;
  ssize_t count = 0;
  while ((count = ::recv(keeper->socket_.get(), &report, sizeof(report), 0)) < 0 &&
         errno == EINTR) {
  }
  if (count != sizeof(report)) return Unavailable("the keeper of container processes ended");
  if (report.status != 0) return WhyNoKeeper(report.status);
  return keeper;
}

ProcessKeeper::~ProcessKeeper() {
  watch_.Cancel();
  if (reaped_) return;
  // Not only closed: a program that we start at this moment may hold it too.
  ::shutdown(socket_.get(), SHUT_RDWR);
  const Fd handle = OpenProcess(pid_);
  pollfd end{handle.get(), POLLIN, 0};
  ::poll(&end, 1, static_cast<int>(kEndWithin / std::chrono::milliseconds(1)));
  ::waitpid(pid_, nullptr, WNOHANG);
}

void ProcessKeeper::Watch(IoLoop& loop, OnEnd on_end, OnLost on_lost) {
  on_end_ = std::move(on_end);
  on_lost_ = std::move(on_lost);
  watch_ = loop.WatchFd(socket_.get(), {.readable = true}, [this](Readiness) { OnReport(); });
}

// One report a turn of the loop.
void ProcessKeeper::OnReport() {
  KeeperReport report;
  const ssize_t count = ::recv(socket_.get(), &report, sizeof(report), MSG_DONTWAIT);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count != sizeof(report)) return Lose();
  on_end_(report.id, report.status);
}

void ProcessKeeper::Lose() {
  watch_.Cancel();
  socket_.Reset();
  // A keeper that does not read any more is of no use either; its containers die with it.
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  reaped_ = true;
  on_lost_(HowItEnded(status));
}

StatusOr<std::uint64_t> ProcessKeeper::Run(const ContainerCommand& command, int output,
                                           const std::string& group) {
  ASSIGN_OR_RETURN(const std::string program, FindProgram(command));
  const Fd procs(group.empty() ? -1
                               : ::open((group + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  // Outside of its group it would have no bound, and outlive its Pod.
  if (!group.empty() && !procs) return ErrnoStatus(errno, "open " + group + "/cgroup.procs");
  ASSIGN_OR_RETURN(SocketPair link, MakeSocketPair(SOCK_STREAM));
  SetPatience(link.ours.get(), start_within_);
  const std::string plan = PlanOf(command, program);
  const KeeperRequest request{.kind = KeeperRequest::Kind::kStart,
                              .id = ++last_id_,
                              .plan_bytes = plan.size(),
                              .arguments = command.command.size()};
  std::vector<int> descriptors = {link.theirs.get(), output};
  if (procs) descriptors.push_back(procs.get());
  if (!Send(request, descriptors)) {
    return Unavailable("start {}: the keeper of container processes is gone: restart the agent",
                       command.command.front());
  }
  link.theirs.Reset();
  const Status handed = HandOver(link.ours.get(), plan, command);
  if (handed.ok()) return last_id_;
  // It may still start.
  Signal(last_id_, SIGKILL);
  return handed;
}

void ProcessKeeper::Signal(std::uint64_t id, int signal) {
  const KeeperRequest request{.kind = KeeperRequest::Kind::kSignal, .signal = signal, .id = id};
  Send(request, {});
}

bool ProcessKeeper::Send(const KeeperRequest& request, const std::vector<int>& descriptors) {
  if (!socket_) return false;
  if (SendRequest(socket_.get(), request, descriptors)) return true;
  // Hundreds of unread messages: the keeper is stopped or hangs, and would not kill what it should.
  // Its end is then handled as any other.
  if (errno == EAGAIN) ::kill(pid_, SIGKILL);
  return false;
}

}  // namespace galen::agent
