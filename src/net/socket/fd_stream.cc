#include "net/socket/fd_stream.h"

#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <utility>

#include "base/liveness.h"

namespace galen::net {
namespace {

// Large enough that a list of tens of megabytes takes few turns of the loop, small enough for the
// stack and for other connections to get their turn in between.
constexpr std::size_t kReadBytesMax = 64 * 1024;

class FdStream final : public ByteStream {
 public:
  FdStream(IoLoop& loop, Fd fd) : loop_(loop), fd_(std::move(fd)) {}

  void SetSink(Sink& sink) override {
    sink_ = &sink;
    if (watch_) return;
    watch_ = loop_.WatchFd(fd_.get(), Interest(), [this](Readiness found) { OnReady(found); });
  }

  void Write(std::string_view bytes) override {
    if (broken_) return;
    // New bytes go behind those that wait already, or they would change places.
    const std::size_t sent = unsent_.empty() ? SendSome(bytes) : 0;
    if (broken_ || sent == bytes.size()) return;
    const bool was_empty = unsent_.empty();
    unsent_.append(bytes.substr(sent));
    // Asking for writability only while something waits: a writable socket would wake each turn.
    if (was_empty && watch_) watch_.SetInterest(Interest());
  }

  std::size_t unsent() const override { return unsent_.size(); }

 private:
  Readiness Interest() const {
    return {.readable = true, .writable = !unsent_.empty(), .hung_up = false};
  }

  // How much the kernel took. When it takes no more for ever, reading reports it: what the peer
  // sent before it left is still to be read.
  std::size_t SendSome(std::string_view bytes) {
    // MSG_NOSIGNAL: a peer that is gone is an error, whatever the process does with SIGPIPE.
    const ssize_t sent = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno == EAGAIN || errno == EINTR) return 0;
    broken_ = true;
    unsent_.clear();
    return 0;
  }

  void OnReady(Readiness found) {
    Liveness::Watch watch(liveness_);
    // Writing first makes room: what is read next may want to answer.
    if (found.writable && !unsent_.empty()) SendUnsent();
    if (!watch.alive()) return;
    if (found.readable || found.hung_up) ReadSome();
  }

  void SendUnsent() {
    unsent_.erase(0, SendSome(unsent_));
    if (!unsent_.empty()) return;
    watch_.SetInterest(Interest());
    if (!broken_) sink_->OnWritable();
  }

  void ReadSome() {
    char buffer[kReadBytesMax];
    // Once a turn; level-triggered readiness brings us back, after others had their turn.
    const ssize_t got = recv(fd_.get(), buffer, sizeof(buffer), 0);
    if (got > 0) return sink_->OnBytes({buffer, static_cast<std::size_t>(got)});
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    const Status status = got == 0 ? Unavailable("the peer closed the connection")
                                   : Unavailable("{}", ErrnoStatus(errno, "read").message());
    // A stream that has ended is readable for ever.
    watch_.Cancel();
    sink_->OnClosed(status);
  }

  IoLoop& loop_;
  Fd fd_;
  Sink* sink_ = nullptr;
  std::string unsent_;
  bool broken_ = false;
  FdWatch watch_;
  Liveness liveness_;
};

}  // namespace

std::unique_ptr<ByteStream> MakeFdStream(IoLoop& loop, Fd fd) {
  return std::make_unique<FdStream>(loop, std::move(fd));
}

}  // namespace galen::net
