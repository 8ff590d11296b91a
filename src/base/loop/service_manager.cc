#include "base/loop/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>

#include "base/fd.h"

namespace galen {
namespace {

// 0 for what is not a number.
std::uint64_t NumberOf(const Environment& environment, std::string_view name) {
  const std::string text = Lookup(environment, name).value_or("");
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

Duration WatchdogOf(const Environment& environment, pid_t self) {
  const std::uint64_t pid = NumberOf(environment, "WATCHDOG_PID");
  if (pid != 0 && pid != static_cast<std::uint64_t>(self)) return Duration::zero();
  // A watchdog of a day is as good as none, and does not overflow.
  constexpr std::uint64_t kMicrosecondsMax = std::uint64_t{24} * 3600 * 1'000'000;
  const std::uint64_t interval = NumberOf(environment, "WATCHDOG_USEC");
  return std::chrono::microseconds(std::min(interval, kMicrosecondsMax));
}

}  // namespace

ServiceManager::ServiceManager(Loop& loop, const Environment& environment, pid_t self)
    : loop_(loop),
      socket_(Lookup(environment, "NOTIFY_SOCKET").value_or("")),
      watchdog_(WatchdogOf(environment, self)) {}

void ServiceManager::Ready() {
  Send("READY=1");
  if (watchdog_ > Duration::zero()) AnswerWatchdog();
}

void ServiceManager::AnswerWatchdog() {
  Send("WATCHDOG=1");
  // Half of it, as sd_watchdog_enabled(3) recommends.
  timer_ = loop_.After(watchdog_ / 2, [this] { AnswerWatchdog(); });
}

void ServiceManager::Send(std::string_view state) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.empty() || socket_.size() >= sizeof(address.sun_path)) return;
  std::ranges::copy(socket_, address.sun_path);
  // "@" stands for the zero byte of an abstract name.
  if (socket_.front() == '@') address.sun_path[0] = '\0';
  const Fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  [[maybe_unused]] const ssize_t sent = ::sendto(fd.get(), state.data(), state.size(), MSG_NOSIGNAL,
                                                 reinterpret_cast<const sockaddr*>(&address), size);
}

}  // namespace galen
