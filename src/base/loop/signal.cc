#include "base/loop/signal.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/fd.h"

namespace galen {

struct SignalWatch::Impl {
  ~Impl() {
    if (stopping && second == SecondSignal::kIsIgnored) {
      std::signal(SIGTERM, SIG_IGN);  // also drops one that waits
      std::signal(SIGINT, SIG_IGN);
    }
    // A terminal that goes away sends it twice, from the shell and from the kernel.
    if (stopping) std::signal(SIGHUP, SIG_IGN);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void OnReadable();

  sigset_t before{};  // what the process blocked until now
  Fd fd;
  std::function<void()> on_stop;
  SecondSignal second{};
  FdWatch watch;
  bool stopping = false;
};

void SignalWatch::Impl::OnReadable() {
  signalfd_siginfo info{};
  // One signal a turn. Equal signals that wait merge into one in the kernel.
  if (::read(fd.get(), &info, sizeof(info)) != sizeof(info)) return;
  if (std::exchange(stopping, true)) {
    if (second == SecondSignal::kIsIgnored || info.ssi_signo == SIGHUP) return;
    // Whoever asks twice does not want to wait.
    ::_exit(128 + static_cast<int>(info.ssi_signo));
  }
  const std::function<void()> notify = on_stop;  // which may destroy this
  notify();
}

SignalWatch::SignalWatch(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SignalWatch::~SignalWatch() = default;

StatusOr<std::unique_ptr<SignalWatch>> SignalWatch::Start(IoLoop& loop,
                                                          std::function<void()> on_stop,
                                                          SecondSignal second) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  // A terminal that is closed; not of who asked to outlive it, by nohup(1).
  struct sigaction hangup = {};
  const bool outlives = ::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler == SIG_IGN;
  if (!outlives) sigaddset(&signals, SIGHUP);
  // A peer that is gone is an error of write(2), not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  auto impl = std::make_unique<Impl>();
  // A signalfd only sees signals that are blocked, or they would have their default effect.
  ::pthread_sigmask(SIG_BLOCK, &signals, &impl->before);
  impl->fd = Fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!impl->fd) return ErrnoStatus(errno, "create signalfd");
  impl->on_stop = std::move(on_stop);
  impl->second = second;
  impl->watch = loop.WatchFd(impl->fd.get(), {.readable = true},
                             [i = impl.get()](Readiness) { i->OnReadable(); });
  return std::unique_ptr<SignalWatch>(new SignalWatch(std::move(impl)));
}

}  // namespace galen
