// Tested by process_keeper_test.cc, as a process.
#include "agent/containers/keeper_main.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "agent/containers/process_search.h"

namespace galen::agent {
namespace {

constexpr std::size_t kDescriptorsMax = 3;
// How long to wait for an end of a child between two looks, while all are being ended: a process
// whose parent ended by itself becomes a child of the keeper without any signal.
constexpr int kLookAgainMs = 20;
// Signals that ask a program to stop are for the agent, which stops its containers in their order;
// the keeper ends when the agent has.
constexpr std::array kIgnored = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGUSR1, SIGUSR2};

// What a process needs to become its container.
struct Plan {
  std::string bytes;
  std::vector<char*> arguments, environment;  // with the null at their ends
  const char* program = nullptr;
  const char* directory = nullptr;
};

std::string ReadAll(int fd) {
  std::string bytes;
  std::array<char, 16 * 1024> buffer;
  for (;;) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return bytes;
    bytes.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

// Ends the process when the agent died while it wrote the plan.
Plan ReadPlan(int link, const KeeperRequest& request) {
  Plan plan;
  plan.bytes = ReadAll(link);
  if (plan.bytes.size() != request.plan_bytes) ::_exit(127);
  std::size_t from = 0;
  const auto next = [&] {
    char* const text = plan.bytes.data() + from;
    from += std::strlen(text) + 1;
    return text;
  };
  plan.program = next();
  plan.directory = next();
  while (plan.arguments.size() < request.arguments) plan.arguments.push_back(next());
  while (from < plan.bytes.size()) plan.environment.push_back(next());
  plan.arguments.push_back(nullptr);
  plan.environment.push_back(nullptr);
  return plan;
}

// If this cannot be written, nobody is left to read it.
void ReportFault(int link, StartFault::Step step) {
  const StartFault fault{errno, step};
  ::send(link, &fault, sizeof(fault), MSG_NOSIGNAL);
}

[[noreturn]] void GiveUp(int link, StartFault::Step step) {
  ReportFault(link, step);
  ::_exit(127);
}

void ResetSignals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// In the child of the keeper.
[[noreturn]] void BecomeContainer(const KeeperRequest& request, const std::vector<Fd>& descriptors,
                                  pid_t keeper) {
  const int link = descriptors[0].get();
  ::setsid();
  // The keeper kills it when the agent dies; this is for a keeper that dies itself.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != keeper) ::_exit(127);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ResetSignals();
  Plan plan = ReadPlan(link, request);
  // "0" stands for the writing process itself.
  if (descriptors.size() > 2 && ::write(descriptors[2].get(), "0", 1) != 1) {
    GiveUp(link, StartFault::Step::kGroup);
  }
  // Standard input is the keeper's: /dev/null.
  ::dup2(descriptors[1].get(), STDOUT_FILENO);
  ::dup2(descriptors[1].get(), STDERR_FILENO);
  if (::chdir(plan.directory) != 0) GiveUp(link, StartFault::Step::kDirectory);
  ::execve(plan.program, plan.arguments.data(), plan.environment.data());
  GiveUp(link, StartFault::Step::kProgram);
}

// 0 when it is gone. The fourth field of /proc/PID/stat; the second may hold any characters.
pid_t ParentOf(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos || name_end + 4 > line.size()) return 0;
  return static_cast<pid_t>(std::atoi(line.c_str() + name_end + 4));
}

// The keeper's state. Has one thread and may allocate, its children too until they run a program.
class Keeper {
 public:
  Keeper(int agent, int child_ends) : agent_(agent), child_ends_(child_ends) {}

  // Runs until the agent and every process that it started are gone.
  void Run() {
    for (;;) {
      Reap();
      std::array<pollfd, 2> wanted{pollfd{child_ends_, POLLIN, 0}, pollfd{agent_, POLLIN, 0}};
      ::poll(wanted.data(), wanted.size(), -1);
      ClearChildEnds();
      if (wanted[1].revents != 0 && !HandleRequest()) return EndAll();
    }
  }

 private:
  // Only empties the descriptor: waitid(2) shows which children ended, since their signals merge.
  void ClearChildEnds() {
    signalfd_siginfo info{};
    while (::read(child_ends_, &info, sizeof(info)) > 0) {
    }
  }

  // Does what the agent asks for. False when it is gone.
  bool HandleRequest() {
    const KeeperPacket packet = ReceiveRequest(agent_);
    if (packet.size < 0) return errno == EINTR;
    if (packet.size != sizeof(KeeperRequest)) return false;
    if (packet.request.kind == KeeperRequest::Kind::kStart) {
      Start(packet);
    } else if (const auto it = running_.find(packet.request.id); it != running_.end()) {
      Signal(it->second, packet.request.signal);
    }
    return true;
  }

  void Start(const KeeperPacket& packet) {
    if (packet.descriptors.empty()) return;  // none is left here; the link is closed, which says so
    const pid_t keeper = ::getpid();
    const pid_t pid = ::fork();
    if (pid == 0) BecomeContainer(packet.request, packet.descriptors, keeper);
    if (pid < 0) return ReportFault(packet.descriptors[0].get(), StartFault::Step::kFork);
    running_[packet.request.id] = pid;
  }

  // To the whole session's group, or to a child that has not made its session yet.
  static void Signal(pid_t pid, int signal) {
    if (::kill(-pid, signal) != 0) ::kill(pid, signal);
  }

  // Takes the ends of all children that have ended; false when there is no child any more.
  bool Reap() {
    for (;;) {
      siginfo_t info{};
      // Looks first without reaping: until then no other process can get its id.
      if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return errno != ECHILD;
      if (info.si_pid == 0) return true;
      TakeEnd(info.si_pid);
    }
  }

  // Ends its whole session, as the end of the first process ends a PID namespace.
  void TakeEnd(pid_t pid) {
    auto it = running_.begin();
    while (it != running_.end() && it->second != pid) ++it;
    if (it != running_.end()) ::kill(-pid, SIGKILL);
    KeeperReport report;
    if (::waitpid(pid, &report.status, 0) != pid || it == running_.end()) return;
    report.id = it->first;
    running_.erase(it);
    // Waits while the agent does not read, at most until the agent has died.
    ::send(agent_, &report, sizeof(report), MSG_NOSIGNAL);
  }

  // A killed process leaves its children to the keeper (PR_SET_CHILD_SUBREAPER), whatever their
  // session; so killing children until none is left ends all of them.
  void EndAll() {
    const pid_t self = ::getpid();
    do {
      for (const auto& [id, pid] : running_) Signal(pid, SIGKILL);
      for (const pid_t pid : AllProcesses()) {
        if (ParentOf(pid) == self) ::kill(pid, SIGKILL);
      }
      pollfd wanted{child_ends_, POLLIN, 0};
      ::poll(&wanted, 1, kLookAgainMs);
      ClearChildEnds();
    } while (Reap());
  }

  const int agent_, child_ends_;
  std::map<std::uint64_t, pid_t> running_;
};

// Closes every descriptor but `socket` and puts /dev/null in the place of the three first ones.
// Gives the socket's new number; nullopt with errno set.
std::optional<int> KeepOnly(int socket) {
  const int kept = ::fcntl(socket, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (kept < 0) return std::nullopt;
  if (::close_range(static_cast<unsigned>(kept) + 1, UINT_MAX, 0) != 0) {
    return std::nullopt;
  }
  const bool more = kept > STDERR_FILENO + 1;
  if (more && ::close_range(STDERR_FILENO + 1, static_cast<unsigned>(kept) - 1, 0) != 0) {
    return std::nullopt;
  }
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return std::nullopt;
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (null == fd ? ::fcntl(fd, F_SETFD, 0) < 0 : ::dup2(null, fd) < 0) return std::nullopt;
  }
  if (null > STDERR_FILENO) ::close(null);
  return kept;
}

// A signalfd(2) that is readable once a child has ended; nullopt with errno set.
std::optional<int> ChildEnds() {
  ResetSignals();
  for (const int signal : kIgnored) ::signal(signal, SIG_IGN);
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  const int made = ::signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
  return made < 0 ? std::nullopt : std::optional(made);
}

// Returns when there is no error.
void ReportReady(int agent, int error) {
  const KeeperReport report{.id = 0, .status = error};
  ::send(agent, &report, sizeof(report), MSG_NOSIGNAL);
  if (error != 0) ::_exit(1);
}

// The descriptors that came with a message.
std::vector<Fd> DescriptorsOf(msghdr& message) {
  std::vector<Fd> descriptors;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= c->cmsg_len; at += sizeof(int)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + at, sizeof(fd));
      descriptors.emplace_back(fd);
    }
  }
  return descriptors;
}

}  // namespace

bool SendRequest(int socket, KeeperRequest request, const std::vector<int>& descriptors) {
  iovec part{&request, sizeof(request)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kDescriptorsMax * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (const std::size_t bytes = descriptors.size() * sizeof(int); bytes > 0) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* const c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(c), descriptors.data(), bytes);
  }
  return ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(request);
}

KeeperPacket ReceiveRequest(int socket) {
  KeeperPacket packet;
  iovec part{&packet.request, sizeof(packet.request)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kDescriptorsMax * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  packet.size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (packet.size <= 0) return packet;
  packet.descriptors = DescriptorsOf(message);
  // Without one of them a container would run outside of its group.
  if ((message.msg_flags & MSG_CTRUNC) != 0) packet.descriptors.clear();
  return packet;
}

void KeepProcesses(int socket) {
  ::prctl(PR_SET_NAME, "galen-keeper");
  // Signals to the agent's group, as a terminal sends them, are not for the keeper.
  ::setsid();
  const std::optional<int> agent = KeepOnly(socket);
  if (!agent) ReportReady(socket, errno);
  const std::optional<int> child_ends = ChildEnds();
  const bool adopts = child_ends && ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
  ReportReady(*agent, adopts ? 0 : errno);
  Keeper(*agent, *child_ends).Run();
  ::_exit(0);
}

}  // namespace galen::agent
