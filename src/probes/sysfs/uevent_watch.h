// The kernel's messages that a device came or went.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/loop/io_loop.h"
#include "base/status.h"

namespace galen::probes {

// The kernel's message about one device (kobject_uevent(); Documentation/ABI/testing/sysfs-uevent).
struct Uevent {
  std::string action;  // "add", "remove", "bind", "unbind", "change", "move", "online", "offline"
  std::string path;    // below /sys: "/devices/pci0000:00/0000:00:1c.0/0000:4b:00.0"
  std::string subsystem;  // "pci"; "" where it has none

  bool operator==(const Uevent&) const = default;
};

// One datagram of the kernel's: "add@/devices/…", then NAME=value texts, each ended by a zero byte.
// nullopt: it is none of these (udev's own begin with "libudev"), or lacks an action or a path.
std::optional<Uevent> ParseUevent(std::string_view datagram);

// Whether the event changes devices: they came, went, or changed their driver or place.
bool ChangesDevices(const Uevent& event);

// Gets the paths of devices that were removed, as the kernel's messages have them: one that is back
// soon after is another, which a look at /sys does not show.
using OnUevents = std::function<void(const std::vector<std::string>& removed)>;

// Notifies, from a NETLINK_KOBJECT_UEVENT socket, of devices that came or went. It is a hint to
// look: what is there stands in /sys. Messages that are not the kernel's are dropped. Belongs to
// its loop.
class UeventWatch {
 public:
  // `on_events` runs on the loop, once for a batch of messages of which one or more change devices;
  // and where the kernel lost some. Errors are those of socket(2) and bind(2). `loop` is lent;
  // destroying the watch ends it.
  static StatusOr<std::unique_ptr<UeventWatch>> Start(IoLoop& loop, OnUevents on_events);

 private:
  UeventWatch(Fd fd, OnUevents on_events) : fd_(std::move(fd)), on_events_(std::move(on_events)) {}

  void Read();

  Fd fd_;
  const OnUevents on_events_;
  FdWatch watch_;  // after the descriptor it watches
};

}  // namespace galen::probes
