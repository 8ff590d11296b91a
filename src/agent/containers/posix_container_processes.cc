#include "agent/containers/posix_container_processes.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <utility>

#include "agent/containers/container_plan.h"
#include "agent/containers/process_search.h"
#include "base/data/fnv1a.h"
#include "base/fd.h"

namespace galen::agent {
namespace {

// Read in one turn of the loop, so that a container that writes without end starves nobody; also
// what is read of a container that has ended, whose pipe holds no more by the kernel's default
// limit.
constexpr std::size_t kReadBytesMax = std::size_t{1} << 20;

// What SIGKILL ended takes a moment to be gone; who waits for it may give its devices to others.
constexpr Duration kLookForRestEvery = std::chrono::milliseconds(5);
// Something that hangs in the kernel is not waited for any longer.
constexpr int kLooksForRestMax = 400;

// Where a start failed, reported by the child through a pipe that a good start closes.
struct StartFault {
  int error = 0;
  enum class Step { kNone, kGroup, kDirectory, kProgram } step = Step::kNone;
};

// All that the child needs, made before there is one: between fork and exec nothing may allocate.
struct ChildPlan {
  std::vector<char*> arguments, environment;
  const char* program = nullptr;
  const char* directory = nullptr;
  int output = -1, faults = -1, null = -1;
  int group = -1;  // cgroup.procs of its group, or -1
  pid_t parent = 0;
};

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void GiveUp(const ChildPlan& plan, StartFault::Step step) {
  const StartFault fault{errno, step};
  // If this fails too, nobody is left to report it to.
  if (::write(plan.faults, &fault, sizeof(fault)) < 0) ::_exit(126);
  ::_exit(127);
}

// In the child. Only calls that are safe after fork in a process with threads (signal-safety(7)).
[[noreturn]] void BecomeContainer(const ChildPlan& plan) {
  ::setsid();
  // The agent may be gone already; then nobody would take our end, and nobody would kill us.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != plan.parent) ::_exit(127);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // "0" is whoever writes it.
  if (plan.group >= 0 && ::write(plan.group, "0", 1) != 1) GiveUp(plan, StartFault::Step::kGroup);
  ::dup2(plan.null, STDIN_FILENO);
  ::dup2(plan.output, STDOUT_FILENO);
  ::dup2(plan.output, STDERR_FILENO);
  if (::chdir(plan.directory) != 0) GiveUp(plan, StartFault::Step::kDirectory);
  ::execve(plan.program, plan.arguments.data(), plan.environment.data());
  GiveUp(plan, StartFault::Step::kProgram);
}

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
    case StartFault::Step::kGroup:
      return ErrnoStatus(fault.error, "enter the control group of " + command.id);
    case StartFault::Step::kDirectory:
      return ErrnoStatus(fault.error, "enter the directory " + command.working_directory);
    case StartFault::Step::kProgram:
      return ErrnoStatus(fault.error, "start " + command.command.front());
  }
  GALEN_UNREACHABLE();
}

struct Pipe {
  Fd read, write;
};

StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "make a pipe");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

// Returns when the child runs its program, or has said why it does not.
StatusOr<pid_t> Fork(ContainerCommand command, int output, const std::string& group) {
  ASSIGN_OR_RETURN(const std::string program, FindProgram(command));
  ASSIGN_OR_RETURN(Pipe faults, MakePipe());
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null) return ErrnoStatus(errno, "open /dev/null");
  const Fd procs(group.empty() ? -1
                               : ::open((group + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  // Outside of its group it would have no bound, and outlive its Pod.
  if (!group.empty() && !procs) return ErrnoStatus(errno, "open " + group + "/cgroup.procs");
  const ChildPlan plan{.arguments = Pointers(command.command),
                       .environment = Pointers(command.environment),
                       .program = program.c_str(),
                       .directory = command.working_directory.c_str(),
                       .output = output,
                       .faults = faults.write.get(),
                       .null = null.get(),
                       .group = procs.get(),
                       .parent = ::getpid()};
  const pid_t pid = ::fork();
  if (pid < 0) return ErrnoStatus(errno, "make a process");
  if (pid == 0) BecomeContainer(plan);
  faults.write.Reset();
  StartFault fault;
  ssize_t count = 0;
  while ((count = ::read(faults.read.get(), &fault, sizeof(fault))) < 0 && errno == EINTR) {
  }
  if (count <= 0) return pid;
  ::waitpid(pid, nullptr, 0);  // it ends at once
  return ToStatus(fault, command);
}

// A container that runs; ends with all that came of it.
class Running final : public ContainerProcess {
 public:
  Running(const ControlGroups& groups, std::vector<std::string>& empty, std::string group,
          std::string mark)
      : groups_(groups), empty_(empty), group_(std::move(group)), mark_(std::move(mark)) {}
  ~Running() override {
    if (pid_ > 0) Finish();
  }

  // Takes the child; an error ends it.
  Status Watch(IoLoop& loop, pid_t pid, Fd output, ContainerProcesses::OnOutput on_output,
               ContainerProcesses::OnEnd on_end) {
    loop_ = &loop;
    pid_ = pid;
    output_ = std::move(output);
    on_output_ = std::move(on_output);
    on_end_ = std::move(on_end);
    pidfd_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!pidfd_) return ErrnoStatus(errno, "watch the end of a container");
    ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
    output_watch_ =
        loop.WatchFd(output_.get(), {.readable = true}, [this](Readiness) { ReadOutput(); });
    end_watch_ = loop.WatchFd(pidfd_.get(), {.readable = true}, [this](Readiness) { OnEnd(); });
    return OkStatus();
  }

  // The number of its session is nobody else's: we have not taken its end yet.
  void Signal(int signal) override { ::kill(-pid_, signal); }

 private:
  void ReadOutput() {
    char buffer[16 * 1024];
    for (std::size_t read = 0; output_ && read < kReadBytesMax;) {
      const ssize_t count = ::read(output_.get(), buffer, sizeof(buffer));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return;
      if (count <= 0) {
        output_watch_.Cancel();
        output_.Reset();
        return;
      }
      read += static_cast<std::size_t>(count);
      on_output_({buffer, static_cast<std::size_t>(count)});
    }
  }

  void OnEnd() {
    end_watch_.Cancel();
    ReportWhenGone(kLooksForRestMax);
  }

  // The end is reported once the last process is gone.
  void ReportWhenGone(int looks_left) {
    if (KillRest() > 0 && looks_left > 0) {
      look_ =
          loop_->After(kLookForRestEvery, [this, looks_left] { ReportWhenGone(looks_left - 1); });
      return;
    }
    const bool out_of_memory = !group_.empty() && groups_.RanOutOfMemory(group_);
    const int status = Finish();
    ReadOutput();
    ProcessEnd end;
    if (WIFSIGNALED(status)) {
      end.signal = WTERMSIG(status);
    } else {
      end.code = WEXITSTATUS(status);
    }
    end.out_of_memory = out_of_memory && end.signal == SIGKILL;
    const ContainerProcesses::OnEnd on_end = std::move(on_end_);  // which may destroy this
    on_end(end);
  }

  // Kills what is left of it and takes its end: as where the first process of a container's own
  // namespace ends, nothing outlives it. Gives its wait status.
  int Finish() {
    end_watch_.Cancel();
    KillRest();
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    // Those that were killed may take a moment to go, and the group stays until then.
    if (!group_.empty() && !groups_.Remove(group_)) empty_.push_back(group_);
    return status;
  }

  // The whole session's group, and what has left it: by the control group where there is one, else
  // by its environment. How many were still there beside its first process.
  int KillRest() {
    // Before its end is taken: until then no other session can have its number.
    ::kill(-pid_, SIGKILL);
    const std::string name = group_.substr(group_.empty() ? 0 : group_.rfind('/'));
    const auto is_mine = [&](pid_t pid) {
      if (pid == pid_) return false;
      if (!group_.empty()) return IsInControlGroup(pid, name);
      return HasEnvironmentLine(pid, [this](std::string_view line) { return line == mark_; });
    };
    return SignalThese(group_.empty() ? AllProcesses() : groups_.Members(group_), SIGKILL, is_mine);
  }

  const ControlGroups& groups_;
  std::vector<std::string>& empty_;  // groups that are to be removed later
  const std::string group_;          // "" without one
  const std::string mark_;           // the line of its environment that is only its own
  IoLoop* loop_ = nullptr;
  pid_t pid_ = -1;
  Timer look_;
  Fd pidfd_, output_;
  ContainerProcesses::OnOutput on_output_;
  ContainerProcesses::OnEnd on_end_;
  FdWatch output_watch_, end_watch_;
};

// Only containers of this directory have it: two agents of one machine do not meet.
std::string GroupName(const std::string& directory) {
  return fmt::format("galen-{:016x}", Fnv1a(directory));
}

std::string MarkOf(const ContainerCommand& command) {
  for (const std::string& line : command.environment) {
    if (line.starts_with(std::string(kContainerDirectoryVariable) + "=")) return line;
  }
  return "";
}

}  // namespace

PosixContainerProcesses::PosixContainerProcesses(IoLoop& loop, std::string directory,
                                                 ControlGroups::Places places)
    : loop_(loop),
      directory_(std::move(directory)),
      groups_(std::move(places), GroupName(directory_)) {}

PosixContainerProcesses::~PosixContainerProcesses() { groups_.RemoveAll(); }

StatusOr<std::unique_ptr<ContainerProcess>> PosixContainerProcesses::Start(
    const ContainerCommand& command, OnOutput on_output, OnEnd on_end) {
  std::string mark = MarkOf(command);
  // Without it left-over processes could not be distinguished from others.
  GALEN_CHECK(!command.command.empty() && !mark.empty());
  std::erase_if(empty_groups_, [this](const std::string& old) { return groups_.Remove(old); });
  std::string group;
  if (groups_.usable()) {
    ASSIGN_OR_RETURN(group, groups_.Make(command.id, command.memory_bytes_max));
  }
  ASSIGN_OR_RETURN(Pipe output, MakePipe());
  auto running = std::make_unique<Running>(groups_, empty_groups_, group, std::move(mark));
  const StatusOr<pid_t> pid = Fork(command, output.write.get(), group);
  if (!pid.ok()) {
    if (!group.empty()) groups_.Remove(group);
    return pid.status();
  }
  // On an error ~Running ends the child.
  RETURN_IF_ERROR(
      running->Watch(loop_, *pid, std::move(output.read), std::move(on_output), std::move(on_end)));
  return std::unique_ptr<ContainerProcess>(std::move(running));
}

int PosixContainerProcesses::KillLeftovers() {
  // Every container's directory lies below ours, and no other agent's does.
  const std::string mark = fmt::format("{}={}/", kContainerDirectoryVariable, directory_);
  const auto is_ours = [&](std::string_view line) { return line.starts_with(mark); };
  int killed = SignalThese(AllProcesses(), SIGKILL,
                           [&](pid_t pid) { return HasEnvironmentLine(pid, is_ours); });
  for (const std::string& group : groups_.All()) {
    const std::string name = group.substr(group.rfind('/'));
    killed += SignalThese(groups_.Members(group), SIGKILL,
                          [&](pid_t pid) { return IsInControlGroup(pid, name); });
    groups_.Remove(group);
  }
  return killed;
}

StatusOr<std::string> PosixContainerProcesses::ReadStart(const std::string& path,
                                                         std::size_t bytes_max) {
  // Neither a link to a file of ours nor a pipe that nobody fills.
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return ErrnoStatus(errno, "read " + path);
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return ErrnoStatus(errno, "read " + path);
  if (!S_ISREG(info.st_mode)) return NotFound("{} is no file", path);
  std::string bytes(bytes_max, '\0');
  std::size_t size = 0;
  while (size < bytes_max) {
    const ssize_t count = ::read(file.get(), bytes.data() + size, bytes_max - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, "read " + path);
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  bytes.resize(size);
  return bytes;
}

void PosixContainerProcesses::RemoveTree(const std::string& directory) {
  std::error_code ignored;  // what cannot be removed is looked at again by the next agent
  std::filesystem::remove_all(directory, ignored);
}

}  // namespace galen::agent
