#include "agent/containers/posix_container_processes.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

// The most that is read in one turn of the loop, so that a container that writes without end does
// not block others; also the most that is read after its end, since by default a pipe holds no
// more.
constexpr std::size_t kReadBytesMax = std::size_t{1} << 20;

// After SIGKILL a process takes a moment to be gone; callers may pass its devices on only then.
constexpr Duration kLookForRestEvery = std::chrono::milliseconds(5);
// A process that hangs in the kernel is not waited for any longer.
constexpr int kLooksForRestMax = 400;

struct Pipe {
  Fd read, write;
};

StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "make a pipe");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

// Only containers of this directory have this name: two agents of one machine never share a group.
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

// A container that runs; destroying it kills all its processes.
class PosixContainerProcesses::Running final : public ContainerProcess {
 public:
  // Listed in its owner while it runs, by `id`.
  Running(PosixContainerProcesses& owner, std::uint64_t id, std::string group, std::string mark,
          Fd output, OnOutput on_output, OnEnd on_end)
      : owner_(owner),
        id_(id),
        group_(std::move(group)),
        mark_(std::move(mark)),
        output_(std::move(output)),
        on_output_(std::move(on_output)),
        on_end_(std::move(on_end)) {
    owner_.running_[id_] = this;
    ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
    HoldOutput(false);
  }
  ~Running() override {
    if (finished_) return;
    owner_.keeper_->Signal(id_, SIGKILL);
    KillRest();
    Finish();
  }

  void Signal(int signal) override { owner_.keeper_->Signal(id_, signal); }

  void HoldOutput(bool hold) override {
    held_ = hold;
    output_watch_.Cancel();
    if (held_ || !output_) return;
    output_watch_ = owner_.loop_.WatchFd(output_.get(), {.readable = true},
                                         [this](Readiness) { ReadOutput(); });
  }

  // Its first process has ended; the end is reported once the last one is gone.
  void OnFirstEnded(int status) {
    owner_.running_.erase(id_);
    ReportWhenGone(status, kLooksForRestMax);
  }

 private:
  void ReadOutput() {
    char buffer[16 * 1024];
    for (std::size_t read = 0; output_ && (!held_ || finished_) && read < kReadBytesMax;) {
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

  void ReportWhenGone(int status, int looks_left) {
    if (KillRest() > 0 && looks_left > 0) {
      look_ = owner_.loop_.After(kLookForRestEvery, [this, status, looks_left] {
        ReportWhenGone(status, looks_left - 1);
      });
      return;
    }
    const bool out_of_memory = !group_.empty() && owner_.groups_.RanOutOfMemory(group_);
    Finish();
    ReadOutput();
    ProcessEnd end;
    if (WIFSIGNALED(status)) {
      end.signal = WTERMSIG(status);
    } else {
      end.code = WEXITSTATUS(status);
    }
    end.out_of_memory = out_of_memory && end.signal == SIGKILL;
    const OnEnd on_end = std::move(on_end_);  // which may destroy this
    on_end(end);
  }

  void Finish() {
    finished_ = true;
    owner_.running_.erase(id_);
    // Killed processes may take a moment to go, and the group stays until then.
    if (!group_.empty() && !owner_.groups_.Remove(group_)) owner_.empty_groups_.push_back(group_);
  }

  // Kills processes that have left the session, found by the control group where there is one, else
  // by their environment. Returns how many were left.
  int KillRest() {
    const std::string name = group_.substr(group_.empty() ? 0 : group_.rfind('/'));
    const auto is_mine = [&](pid_t pid) {
      if (!group_.empty()) return IsInControlGroup(pid, name);
      return HasEnvironmentLine(pid, [this](std::string_view line) { return line == mark_; });
    };
    return SignalThese(group_.empty() ? AllProcesses() : owner_.groups_.Members(group_), SIGKILL,
                       is_mine);
  }

  PosixContainerProcesses& owner_;
  const std::uint64_t id_;   // the keeper's
  const std::string group_;  // "" without one
  const std::string mark_;   // the environment line that identifies its processes
  bool finished_ = false;
  bool held_ = false;
  Timer look_;
  Fd output_;
  OnOutput on_output_;
  OnEnd on_end_;
  FdWatch output_watch_;
};

PosixContainerProcesses::PosixContainerProcesses(IoLoop& loop, Log& log,
                                                 std::unique_ptr<ProcessKeeper> keeper,
                                                 std::string directory,
                                                 ControlGroups::Places places)
    : loop_(loop),
      log_(log),
      keeper_(std::move(keeper)),
      directory_(std::move(directory)),
      groups_(std::move(places), GroupName(directory_)) {
  keeper_->Watch(
      loop_, [this](std::uint64_t id, int status) { OnEnded(id, status); },
      [this](const std::string& how) { OnKeeperLost(how); });
}

PosixContainerProcesses::~PosixContainerProcesses() {
  keeper_.reset();
  groups_.RemoveAll();
}

// A start that failed has an end as well, which nobody waits for.
void PosixContainerProcesses::OnEnded(std::uint64_t id, int status) {
  if (const auto it = running_.find(id); it != running_.end()) it->second->OnFirstEnded(status);
}

void PosixContainerProcesses::OnKeeperLost(const std::string& how) {
  log_.Error(
      "the keeper of container processes ended: containers ended with it, and none can be "
      "started until the agent is restarted",
      {{"keeper", keeper_->pid()}, {"by", how}, {"containers", running_.size()}});
  std::vector<std::uint64_t> ids;
  for (const auto& [id, running] : running_) ids.push_back(id);
  // The kernel kills them: they asked for it when they started (PR_SET_PDEATHSIG).
  for (const std::uint64_t id : ids) OnEnded(id, SIGKILL);
}

StatusOr<std::unique_ptr<ContainerProcess>> PosixContainerProcesses::Start(
    const ContainerCommand& command, OnOutput on_output, OnEnd on_end) {
  std::string mark = MarkOf(command);
  // Without it left-over processes could not be distinguished from others.
  GALEN_CHECK(!command.command.empty() && !mark.empty());
  std::erase_if(empty_groups_, [this](const std::string& old) { return groups_.Remove(old); });
  std::string group;
  if (groups_.usable()) {
    ASSIGN_OR_RETURN(MadeControlGroup made,
                     groups_.Make(command.id, {.memory_bytes = command.memory_bytes_max}));
    group = std::move(made.directory);
    // A container does not run without a limit that it asks for.
    if (!made.refused.empty()) {
      groups_.Remove(group);
      return made.refused.front();
    }
  }
  ASSIGN_OR_RETURN(Pipe output, MakePipe());
  const StatusOr<std::uint64_t> id = keeper_->Run(command, output.write.get(), group);
  if (!id.ok()) {
    if (!group.empty() && !groups_.Remove(group)) empty_groups_.push_back(group);
    return id.status();
  }
  return std::unique_ptr<ContainerProcess>(new Running(*this, *id, std::move(group),
                                                       std::move(mark), std::move(output.read),
                                                       std::move(on_output), std::move(on_end)));
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
  // Neither follows a link to a file of ours nor waits for a pipe without a writer.
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
  std::error_code ignored;  // the next agent tries to remove it again
  std::filesystem::remove_all(directory, ignored);
}

}  // namespace galen::agent
