#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/thread.h"
#include "probes/network/network_interface.h"

namespace galen::probes {
namespace {

constexpr std::size_t kDatagramBytesMax = 32 * 1024;  // what the kernel uses for its own dumps
// A storm of messages must not keep the loop from its other work; what is left wakes it again.
constexpr int kDatagramsAtOnceMax = 64;

// A value out of bytes that may stand anywhere.
template <typename T>
std::optional<T> Take(std::string_view bytes, std::size_t at) {
  if (bytes.size() < at || bytes.size() - at < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

std::size_t Aligned(std::size_t size) { return (size + 3) & ~std::size_t{3}; }

// The interface's name among the attributes; "" when there is none.
std::string NameIn(std::string_view attributes) {
  while (const auto head = Take<rtattr>(attributes, 0)) {
    // A length that does not fit would make this walk read past the message, or stand still.
    if (head->rta_len < sizeof(rtattr) || head->rta_len > attributes.size()) return "";
    const std::string_view value =
        attributes.substr(sizeof(rtattr), head->rta_len - sizeof(rtattr));
    if (head->rta_type == IFLA_IFNAME) return std::string(value.substr(0, value.find('\0')));
    attributes.remove_prefix(std::min(Aligned(head->rta_len), attributes.size()));
  }
  return "";
}

std::optional<LinkMessage> ParseLink(std::uint16_t type, std::string_view payload) {
  if (type != RTM_NEWLINK && type != RTM_DELLINK) return std::nullopt;
  const auto link = Take<ifinfomsg>(payload, 0);
  if (!link) return std::nullopt;
  return LinkMessage{
      .index = link->ifi_index,
      .name = NameIn(payload.substr(std::min(Aligned(sizeof(ifinfomsg)), payload.size()))),
      .removed = type == RTM_DELLINK,
      .running = (link->ifi_flags & IFF_RUNNING) != 0};
}

StatusOr<Fd> OpenSocket() {
  Fd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!fd) return ErrnoStatus(errno, "open a netlink socket");
  return fd;
}

}  // namespace

// A socket stays in the network namespace where it was opened, and each thread can be in another.
// So a thread enters the namespace, opens the socket and ends: coming back would need rights over
// our own network, which root of a user namespace on the machine's network does not have
// (setns(2)).
StatusOr<Fd> OpenNetlinkSocket(const std::string& network_namespace) {
  if (network_namespace.empty()) return OpenSocket();
  const Fd wanted(::open(network_namespace.c_str(), O_RDONLY | O_CLOEXEC));
  if (!wanted) return ErrnoStatus(errno, "open " + network_namespace);
  StatusOr<Fd> fd = Internal("no thread ran");
  ASSIGN_OR_RETURN(std::thread thread, StartThread("netns", [&] {
                     fd = ::setns(wanted.get(), CLONE_NEWNET) == 0
                              ? OpenSocket()
                              : StatusOr<Fd>(ErrnoStatus(
                                    errno, "enter the network namespace " + network_namespace));
                   }));
  thread.join();
  return fd;
}

std::vector<LinkMessage> ParseLinkMessages(std::string_view datagram) {
  std::vector<LinkMessage> messages;
  while (const auto head = Take<nlmsghdr>(datagram, 0)) {
    if (head->nlmsg_len < sizeof(nlmsghdr) || head->nlmsg_len > datagram.size()) break;
    const std::string_view payload =
        datagram.substr(sizeof(nlmsghdr), head->nlmsg_len - sizeof(nlmsghdr));
    if (auto link = ParseLink(head->nlmsg_type, payload)) messages.push_back(std::move(*link));
    datagram.remove_prefix(std::min(Aligned(head->nlmsg_len), datagram.size()));
  }
  return messages;
}

StatusOr<std::unique_ptr<LinkWatch>> LinkWatch::Start(
    IoLoop& loop, const std::string& network_namespace,
    std::function<void(const std::vector<std::string>&)> on_change) {
  ASSIGN_OR_RETURN(Fd fd, OpenNetlinkSocket(network_namespace));
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  // Links only: addresses, routes and neighbours are other groups, and far busier.
  address.nl_groups = RTMGRP_LINK;
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return ErrnoStatus(errno, "listen to link changes");
  }
  std::unique_ptr<LinkWatch> watch(new LinkWatch(std::move(fd), std::move(on_change)));
  watch->watch_ = loop.WatchFd(watch->fd_.get(), {.readable = true},
                               [self = watch.get()](Readiness) { self->Read(); });
  return watch;
}

void LinkWatch::Read() {
  std::array<char, kDatagramBytesMax> buffer;
  std::vector<std::string> names;
  bool lost = false;
  for (int i = 0; i < kDatagramsAtOnceMax; ++i) {
    const ssize_t size = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    // The kernel had no room for a message and dropped it: which one is not known.
    if (size < 0 && errno == ENOBUFS) {
      lost = true;
      continue;
    }
    // EAGAIN: all was read. Any other error comes again at the next wake-up.
    if (size <= 0) break;
    for (LinkMessage& message :
         ParseLinkMessages({buffer.data(), static_cast<std::size_t>(size)})) {
      // A missing name may be any interface's.
      if (message.name.empty()) lost = true;
      names.push_back(std::move(message.name));
    }
  }
  if (lost) return on_change_({});
  if (!names.empty()) on_change_(names);
}

}  // namespace galen::probes
