#include "base/loop/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>

#include "base/environment.h"
#include "base/fd.h"
#include "base/process_handle.h"

namespace galen {
namespace {

// The most that is read of what a child has left in its pipe, so that reading ends even when a
// grandchild goes on writing. By the kernel's default limit no pipe holds more.
constexpr std::size_t kRestBytesMax = std::size_t{1} << 20;

// The file actions and attributes of posix_spawn, freed at the end of the scope.
class SpawnPlan {
 public:
  SpawnPlan() {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
  }
  ~SpawnPlan() {
    ::posix_spawnattr_destroy(&attributes_);
    ::posix_spawn_file_actions_destroy(&actions_);
  }
  SpawnPlan(const SpawnPlan&) = delete;

  // A child starts with no signal blocked and each as it is by default, whatever we do with ours.
  void ResetSignals() {
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    SetFlags(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  // The group's id is the pid of the child.
  void MakeGroup() {
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    SetFlags(POSIX_SPAWN_SETPGROUP);
  }

  posix_spawn_file_actions_t* actions() { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  void SetFlags(int more) {
    flags_ |= more;
    ::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags_));
  }

  int flags_ = 0;
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

// Our environment (none for a confined process) with `added` on top; one line a name, so that no
// program sees an overridden value.
std::vector<std::string> MergedEnvironment(const std::vector<std::string>& added, bool confined) {
  Environment merged = confined ? Environment() : ReadEnvironment();
  for (const std::string& line : added) {
    const std::size_t equals = std::min(line.find('='), line.size() - 1);
    merged[line.substr(0, equals)] = line.substr(equals + 1);
  }
  std::vector<std::string> lines;
  for (const auto& [name, value] : merged) lines.push_back(name + "=" + value);
  return lines;
}

// The array of pointers that C wants; valid as long as `texts`.
std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

Status CheckOptions(const Process::Options& options) {
  if (options.command.empty() || options.command.front().empty()) {
    return InvalidArgument("start a process: no program is named");
  }
  for (const std::string& line : options.environment) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos || equals == 0) {
      return InvalidArgument("start {}: environment line \"{}\" is not KEY=value",
                             options.command.front(), line);
    }
  }
  return OkStatus();
}

// Writes the pid into the groups' files, up to the first that refuses it; true when none did.
bool Join(pid_t pid, const std::vector<std::string>& files) {
  const std::string number = std::to_string(pid);
  return std::ranges::all_of(files, [&number](const std::string& path) {
    const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    return file &&
           ::write(file.get(), number.data(), number.size()) == static_cast<ssize_t>(number.size());
  });
}

// Sets the limits right after the start, since posix_spawn cannot set them before: unless the
// machine is busy, the program is still being loaded then. Between SIGXCPU and SIGKILL lies a
// second, in which it may clean up. Where the kernel refuses a limit, the caller's timeout still
// holds.
void ConfineOne(pid_t pid, const Process::Confinement& confinement) {
  const bool joined = Join(pid, confinement.join);
  const auto seconds = static_cast<rlim_t>(confinement.cpu_most.count());
  const rlimit limit{.rlim_cur = seconds, .rlim_max = seconds + 1};
  ::prlimit(pid, RLIMIT_CPU, &limit, nullptr);
  if (!joined || !confinement.joined_bounds_memory) {
    const rlimit memory{.rlim_cur = confinement.memory_most, .rlim_max = confinement.memory_most};
    ::prlimit(pid, RLIMIT_DATA, &memory, nullptr);
  }
  // The highest score of proc(5): when memory runs out, the kernel kills this process first. A
  // refusal is ignored like those of the limits above.
  const Fd score(
      ::open(("/proc/" + std::to_string(pid) + "/oom_score_adj").c_str(), O_WRONLY | O_CLOEXEC));
  if (score) static_cast<void>(!::write(score.get(), "1000", 4));
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(pid),
                ::getpriority(PRIO_PROCESS, 0) + confinement.nice);
}

// Processes confined at most; a program that starts more at once is ended by its timeout.
constexpr std::size_t kConfinedMax = 64;

// Children of the process's first thread, in the kernel's order; the first kConfinedMax.
std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{0}/task/{0}/children", pid));
  std::vector<pid_t> children;
  for (pid_t child = 0; children.size() < kConfinedMax && file >> child;) {
    if (child > 0) children.push_back(child);  // 0: of another pid namespace
  }
  return children;
}

// The pid of its parent; 0 when it has none or is gone.
pid_t ParentNumberOf(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line, '\0');
  // "7 (name) S 1 ...", where the name may have anything in it, a parenthesis too.
  std::istringstream rest(line.substr(std::min(line.rfind(')') + 1, line.size())));
  std::string state;
  pid_t parent = 0;
  rest >> state >> parent;
  return parent;
}

// Confines `pid` if it still is a child of one of `parents`: the listed child may have ended and
// another process have its pid. True when it was confined.
bool ConfineChild(pid_t pid, const std::vector<pid_t>& parents,
                  const Process::Confinement& confinement) {
  // Handle, parent, then whether the process is still there: so the parent was read of the process
  // that the handle means.
  const Fd handle = OpenProcess(pid);
  if (!handle || std::ranges::find(parents, ParentNumberOf(pid)) == parents.end()) return false;
  if (!SignalProcess(handle, 0)) return false;
  ConfineOne(pid, confinement);
  return true;
}

// Confines the process, and those that it started before we came to it and that inherited no
// limits; what they start afterwards inherits them. Missed are children of other threads than the
// first, and processes whose parent has ended by now (a daemon's double fork): these have no
// limits, and end with the process group unless they leave it.
void Confine(pid_t pid, const Process::Confinement& confinement) {
  ConfineOne(pid, confinement);  // not reaped yet, so that the number is its own
  std::vector<pid_t> confined = {pid};
  std::vector<pid_t> seen = {pid};
  for (std::vector<pid_t> found = {pid}; !found.empty();) {
    found.clear();
    for (const pid_t parent : confined) {
      for (const pid_t child : ChildrenOf(parent)) {
        if (seen.size() >= kConfinedMax) break;
        if (std::ranges::find(seen, child) != seen.end()) continue;
        seen.push_back(child);
        found.push_back(child);
      }
    }
    for (const pid_t child : found) {
      if (ConfineChild(child, confined, confinement)) confined.push_back(child);
    }
  }
}

StatusOr<pid_t> SpawnChild(Process::Options& options, int output) {
  SpawnPlan plan;
  plan.ResetSignals();
  auto* actions = plan.actions();
  if (options.confinement) {
    plan.MakeGroup();
    ::posix_spawn_file_actions_addopen(actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  ::posix_spawn_file_actions_adddup2(actions, output, STDOUT_FILENO);
  if (!options.output_path.empty()) {
    ::posix_spawn_file_actions_adddup2(actions, output, STDERR_FILENO);
  }
  // A child that asks for input gets the end at once instead of the operator's terminal. Opened
  // after the output, which is descriptor 0 itself when our own input is closed.
  ::posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (!options.directory.empty()) {
    ::posix_spawn_file_actions_addchdir_np(actions, options.directory.c_str());
  }
  std::vector<std::string> environment =
      MergedEnvironment(options.environment, options.confinement.has_value());
  pid_t pid = -1;
  // Everything else we hold is opened with O_CLOEXEC and ends here.
  const int error =
      ::posix_spawnp(&pid, options.command.front().c_str(), actions, plan.attributes(),
                     Pointers(options.command).data(), Pointers(environment).data());
  if (error != 0) return ErrnoStatus(error, "start " + options.command.front());
  if (options.confinement) Confine(pid, *options.confinement);
  return pid;
}

Duration TimeOf(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

}  // namespace

struct Process::Impl {
  ~Impl();

  // Signals the child by its pid, which is reserved until it is reaped, and for a confined one its
  // process group too; the leader may have moved to another group.
  void Send(int signal) const;
  // Whether it has ended; reaps it then.
  bool Reap(int& status, rusage& usage);
  void OnOutput();
  void OnEnd();
  std::string ReadOutput(std::size_t bytes_max);
  bool PassOn(const std::string& bytes);

  pid_t pid = -1;
  bool confined = false;
  bool running = false;
  Fd pidfd;
  Fd output;  // our end of the pipe
  std::function<void(std::string_view)> on_output;
  std::function<void(Exit)> on_exit;
  FdWatch output_watch;
  FdWatch end_watch;
  bool* gone = nullptr;  // set when this dies inside a callback
};

Process::Impl::~Impl() {
  // Lets the PassOn() that is below us on the stack know that this is destroyed.
  if (gone != nullptr) *gone = true;
  if (!running) return;
  Send(SIGKILL);
  if (confined) {
    ::waitpid(pid, nullptr, WNOHANG);
    return;
  }
  // Waits for a process that SIGKILL ends at once, so that no zombie is left behind.
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Process::Impl::Send(int signal) const {
  if (confined) ::kill(-pid, signal);
  ::kill(pid, signal);
}

std::string Process::Impl::ReadOutput(std::size_t bytes_max) {
  std::string bytes;
  char buffer[16 * 1024];
  while (output && bytes.size() < bytes_max) {
    const ssize_t count = ::read(output.get(), buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    // The last writer has closed its end: no more output, but the child may go on running.
    if (count <= 0) {
      output_watch.Cancel();
      output.Reset();
      break;
    }
    bytes.append(buffer, static_cast<std::size_t>(count));
  }
  return bytes;
}

// False when the listener has destroyed this.
bool Process::Impl::PassOn(const std::string& bytes) {
  if (bytes.empty() || !on_output) return true;
  bool destroyed = false;
  gone = &destroyed;
  // A copy: the listener may destroy this, and its captures must live until it returns.
  const std::function<void(std::string_view)> notify = on_output;
  notify(bytes);
  if (!destroyed) gone = nullptr;
  return !destroyed;
}

// One read a turn, so that a child that writes without end starves nobody.
void Process::Impl::OnOutput() { PassOn(ReadOutput(1)); }

bool Process::Impl::Reap(int& status, rusage& usage) {
  siginfo_t ended{};
  if (confined &&
      ::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
      ended.si_pid == pid) {
    // What it left in its group, while the pid still names that group.
    ::kill(-pid, SIGKILL);
  }
  return ::wait4(pid, &status, WNOHANG, &usage) == pid;
}

void Process::Impl::OnEnd() {
  int status = 0;
  rusage usage{};
  // A pidfd is readable when the process has ended; reaping frees its number.
  if (!Reap(status, usage)) return;
  running = false;
  end_watch.Cancel();
  // What it wrote before it ended is in the pipe by now.
  const std::string rest = ReadOutput(kRestBytesMax);
  output_watch.Cancel();
  if (!PassOn(rest)) return;
  Exit exit{.cpu = TimeOf(usage.ru_utime) + TimeOf(usage.ru_stime)};
  if (WIFSIGNALED(status)) {
    exit.signal = WTERMSIG(status);
  } else {
    exit.code = WEXITSTATUS(status);
  }
  const std::function<void(Exit)> notify = on_exit;  // which may destroy this
  notify(exit);
}

Process::Process(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Process::~Process() = default;

StatusOr<std::unique_ptr<Process>> Process::Start(IoLoop& loop, Options options,
                                                  std::function<void(Exit)> on_exit) {
  ASSIGN_OR_RETURN(std::unique_ptr<Process> process, Spawn(std::move(options)));
  process->Watch(loop, std::move(on_exit));
  return process;
}

StatusOr<std::unique_ptr<Process>> Process::Spawn(Options options) {
  RETURN_IF_ERROR(CheckOptions(options));
  auto impl = std::make_unique<Impl>();
  Fd childs_end;
  if (options.output_path.empty()) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "make a pipe");
    impl->output = Fd(ends[0]);
    childs_end = Fd(ends[1]);
    // Our end only: the child may expect its standard output to block.
    ::fcntl(impl->output.get(), F_SETFL, O_NONBLOCK);
  } else {
    childs_end =
        Fd(::open(options.output_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    if (!childs_end) return ErrnoStatus(errno, "open " + options.output_path);
  }
  // The child's end is closed on return; while we held it, its end could never be seen.
  ASSIGN_OR_RETURN(impl->pid, SpawnChild(options, childs_end.get()));
  impl->confined = options.confinement.has_value();
  // From here on a failure kills and reaps the child, by ~Impl.
  impl->running = true;
  impl->pidfd = OpenProcess(impl->pid);
  if (!impl->pidfd) return ErrnoStatus(errno, "watch the end of " + options.command.front());
  impl->on_output = std::move(options.on_output);
  return std::unique_ptr<Process>(new Process(std::move(impl)));
}

void Process::Watch(IoLoop& loop, std::function<void(Exit)> on_exit) {
  Impl* const i = impl_.get();
  i->on_exit = std::move(on_exit);
  if (i->output) {
    i->output_watch =
        loop.WatchFd(i->output.get(), {.readable = true}, [i](Readiness) { i->OnOutput(); });
  }
  i->end_watch = loop.WatchFd(i->pidfd.get(), {.readable = true}, [i](Readiness) { i->OnEnd(); });
}

pid_t Process::pid() const { return impl_->pid; }

void Process::Signal(int signal) {
  if (impl_->running) impl_->Send(signal);
}

}  // namespace galen
