// Notifies, from a NETLINK_ROUTE socket of the kernel, that network interfaces came, went, or
// gained or lost their carrier. The notification carries nothing; the state itself is read anew.
// Belongs to its loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/loop/io_loop.h"

namespace galen::probes {

// One message about a link.
struct LinkMessage {
  int index = 0;
  std::string name{};  // "" when the message carries none
  bool removed = false;
  bool running = false;  // the kernel's IFF_RUNNING: up, with carrier

  bool operator==(const LinkMessage&) const = default;
};

// The link messages in one datagram of the kernel's (netlink(7), rtnetlink(7)); what is broken or
// of another kind is left out.
std::vector<LinkMessage> ParseLinkMessages(std::string_view datagram);

class LinkWatch {
 public:
  // `on_change` gets the names that something was said of, a name perhaps more than once; empty:
  // messages were lost, look at all. It runs on the loop. `network_namespace` is a file that stands
  // for one ("/proc/1/ns/net"; entering it takes CAP_SYS_ADMIN), or "" for the one that the process
  // is in. Errors are those of socket(2), setns(2) and bind(2). `loop` is lent; destroying the
  // watch ends it.
  static StatusOr<std::unique_ptr<LinkWatch>> Start(
      IoLoop& loop, const std::string& network_namespace,
      std::function<void(const std::vector<std::string>&)> on_change);

 private:
  LinkWatch(Fd fd, std::function<void(const std::vector<std::string>&)> on_change)
      : fd_(std::move(fd)), on_change_(std::move(on_change)) {}

  void Read();

  Fd fd_;
  const std::function<void(const std::vector<std::string>&)> on_change_;
  FdWatch watch_;  // after the descriptor it watches
};

}  // namespace galen::probes
