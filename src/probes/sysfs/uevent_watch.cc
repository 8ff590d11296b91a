#include "probes/sysfs/uevent_watch.h"

#include <linux/netlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace galen::probes {
namespace {

// The kernel's own limit is 2 KiB (UEVENT_BUFFER_SIZE) and the head.
constexpr std::size_t kDatagramBytesMax = 8 * 1024;
// A storm of messages must not keep the loop from its other work; what is left wakes it again.
constexpr int kDatagramsAtOnceMax = 64;
// The group of the kernel's messages; udev's are in group 2.
constexpr unsigned kKernelGroup = 1;

// The value after `name` ("SUBSYSTEM="), or nullopt when the text is another's.
std::optional<std::string> ValueOf(std::string_view text, std::string_view name) {
  if (!text.starts_with(name)) return std::nullopt;
  return std::string(text.substr(name.size()));
}

}  // namespace

std::optional<Uevent> ParseUevent(std::string_view datagram) {
  Uevent event;
  bool first = true;
  while (!datagram.empty()) {
    const std::string_view text = datagram.substr(0, datagram.find('\0'));
    datagram.remove_prefix(std::min(text.size() + 1, datagram.size()));
    if (std::exchange(first, false)) {
      // "libudev" and other senders' heads have no such form.
      if (text.find("@/") == std::string_view::npos) return std::nullopt;
    } else if (auto action = ValueOf(text, "ACTION=")) {
      event.action = std::move(*action);
    } else if (auto path = ValueOf(text, "DEVPATH=")) {
      event.path = std::move(*path);
    } else if (auto subsystem = ValueOf(text, "SUBSYSTEM=")) {
      event.subsystem = std::move(*subsystem);
    }
  }
  if (event.action.empty() || event.path.empty()) return std::nullopt;
  return event;
}

bool ChangesDevices(const Uevent& event) {
  for (const std::string_view action : {"add", "remove", "bind", "unbind", "move"}) {
    if (event.action == action) return true;
  }
  return false;
}

StatusOr<std::unique_ptr<UeventWatch>> UeventWatch::Start(IoLoop& loop, OnUevents on_events) {
  Fd fd(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT));
  if (!fd) return ErrnoStatus(errno, "open a netlink socket");
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = kKernelGroup;
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return ErrnoStatus(errno, "listen to devices that come and go");
  }
  std::unique_ptr<UeventWatch> watch(new UeventWatch(std::move(fd), std::move(on_events)));
  watch->watch_ = loop.WatchFd(watch->fd_.get(), {.readable = true},
                               [self = watch.get()](Readiness) { self->Read(); });
  return watch;
}

void UeventWatch::Read() {
  std::array<char, kDatagramBytesMax> buffer;
  bool changed = false;
  std::vector<std::string> removed;
  for (int i = 0; i < kDatagramsAtOnceMax; ++i) {
    sockaddr_nl sender{};
    socklen_t length = sizeof(sender);
    const ssize_t size = ::recvfrom(fd_.get(), buffer.data(), buffer.size(), 0,
                                    reinterpret_cast<sockaddr*>(&sender), &length);
    if (size < 0 && errno == EINTR) continue;
    // The kernel had no room for a message and dropped it.
    if (size < 0 && errno == ENOBUFS) {
      changed = true;
      continue;
    }
    // EAGAIN: all was read. Anything else the next wake-up will meet again.
    if (size <= 0) break;
    // Programs with the right to may send here as well; the kernel's port is 0 (netlink(7)).
    if (sender.nl_pid != 0) continue;
    auto event = ParseUevent({buffer.data(), static_cast<std::size_t>(size)});
    if (!event || !ChangesDevices(*event)) continue;
    changed = true;
    if (event->action == "remove") removed.push_back(std::move(event->path));
  }
  if (changed) on_events_(removed);
}

}  // namespace galen::probes
