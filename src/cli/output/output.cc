#include "cli/output/output.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "cli/output/terminal.h"

namespace galen::cli {
namespace {

// Only pipes and sockets show that their reader is gone; epoll refuses plain files.
bool HasReader(int fd) {
  struct stat info = {};
  return ::fstat(fd, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode));
}

}  // namespace

void Output::Write(std::string_view text) {
  while (!text.empty() && status_.ok()) {
    const ssize_t count = ::write(fd_, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      // Another process that shares the descriptor may have made it non-blocking.
      pollfd room{.fd = fd_, .events = POLLOUT, .revents = 0};
      ::poll(&room, 1, -1);
    } else if (errno == EPIPE) {
      Lose(Cancelled("nobody reads the output any more"));
    } else if (errno != EINTR) {
      Lose(ErrnoStatus(errno, "write to standard output"));
    }
  }
}

std::unique_ptr<Output::Watching> Output::Watch(IoLoop& loop, std::function<void()> on_lost) {
  on_lost_ = std::move(on_lost);
  if (HasReader(fd_)) {
    watch_ = loop.WatchFd(fd_, {}, [this](Readiness ready) {
      if (ready.hung_up) Lose(Cancelled("nobody reads the output any more"));
    });
  }
  return std::make_unique<Watching>(*this);
}

void Output::Lose(Status why) {
  watch_.Cancel();
  if (!status_.ok()) return;
  status_ = std::move(why);
  if (on_lost_) on_lost_();
}

void Output::Unwatch() {
  watch_.Cancel();
  on_lost_ = {};
}

void PrintError(std::string_view message) {
  std::fputs(("galen: " + PrintableLines(message) + "\n").c_str(), stderr);
}

StatusOr<int> ExitCodeOf(const Output& output) {
  if (output.status().ok()) return 0;
  if (output.status().code() == Code::kCancelled) return kExitReaderGone;
  return output.status();
}

}  // namespace galen::cli
