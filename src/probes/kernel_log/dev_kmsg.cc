#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "probes/kernel_log/kernel_log.h"

namespace galen::probes {
namespace {

// Too long records in a row; a kernel writes fewer, so it is a file that answers EINVAL for ever.
constexpr int kTooLongInARowMax = 100;

// A plain file, a directory and /dev/null can be read, but nothing says when there is more.
Status CheckThatItCanBeWaitedFor(int fd, const std::string& path) {
  const Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  if (epoll && ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) == 0) return OkStatus();
  // epoll_ctl(2): the file does not support it. Anything else is no fault of the file's.
  if (!epoll || errno != EPERM) return ErrnoStatus(errno, "wait for " + path);
  return InvalidArgument("{} is not a kernel log: give /dev/kmsg, or a pipe with its records",
                         path);
}

}  // namespace

StatusOr<std::unique_ptr<DevKmsg>> DevKmsg::Open(IoLoop& loop, const std::string& path,
                                                 std::size_t record_bytes_max) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd) {
    Status status = ErrnoStatus(errno, "open " + path);
    if (status.code() == Code::kPermissionDenied) {
      return PermissionDenied("{}; reading the kernel's log needs root or CAP_SYSLOG",
                              status.message());
    }
    return status;
  }
  RETURN_IF_ERROR(CheckThatItCanBeWaitedFor(fd.get(), path));
  return std::unique_ptr<DevKmsg>(new DevKmsg(loop, std::move(fd), record_bytes_max));
}

StatusOr<std::optional<std::string>> DevKmsg::Next() {
  while (true) {
    const ssize_t size = ::read(fd_.get(), buffer_.data(), buffer_.size());
    if (size > 0) {
      too_long_ = 0;
      return std::optional(buffer_.substr(0, static_cast<std::size_t>(size)));
    }
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return std::optional<std::string>();
    // The reader now stands at the oldest record there is.
    if (size < 0 && errno == EPIPE) return DataLoss("records were overwritten");
    // The reader stands behind the one that did not fit (devkmsg_read of the kernel's printk.c).
    if (size < 0 && errno == EINVAL && ++too_long_ <= kTooLongInARowMax) {
      return DataLoss("a record is longer than {} bytes", buffer_.size());
    }
    dead_ = true;
    watch_.Cancel();  // or the loop would be woken for it for ever
    if (size == 0) return Unavailable("the kernel's log has ended");
    return ErrnoStatus(errno, "read the kernel's log");
  }
}

void DevKmsg::OnReadable(std::function<void()> callback) {
  if (dead_) return;
  watch_.Cancel();  // a descriptor has one watch
  watch_ = loop_.WatchFd(fd_.get(), {.readable = true},
                         [callback = std::move(callback)](Readiness) { callback(); });
}

}  // namespace galen::probes
