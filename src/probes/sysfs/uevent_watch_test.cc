#include "probes/sysfs/uevent_watch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop/epoll_loop.h"
#include "base/random.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

const std::string kAdded =
    "add@/devices/pci0000:00/0000:4b:00.0\0ACTION=add\0DEVPATH=/devices/pci0000:00/0000:4b:00.0\0"
    "SUBSYSTEM=pci\0PCI_ID=10DE:2330\0SEQNUM=883\0"s;

TEST(Uevent, SaysWhatHappenedToWhichDevice) {
  EXPECT_EQ(
      ParseUevent(kAdded),
      (Uevent{.action = "add", .path = "/devices/pci0000:00/0000:4b:00.0", .subsystem = "pci"}));
}

TEST(Uevent, WhatIsNotTheKernelsIsNone) {
  EXPECT_EQ(ParseUevent(""), std::nullopt);
  EXPECT_EQ(ParseUevent("libudev\0ACTION=add\0DEVPATH=/devices/x\0"s), std::nullopt);
  EXPECT_EQ(ParseUevent("add@/devices/x\0ACTION=add\0"s), std::nullopt) << "of no device";
  EXPECT_EQ(ParseUevent("add@/devices/x\0DEVPATH=/devices/x\0"s), std::nullopt)
      << "nothing happened";
}

TEST(Uevent, OnlySomeChangeWhichDevicesThereAre) {
  for (const char* action : {"add", "remove", "bind", "unbind", "move"}) {
    EXPECT_TRUE(ChangesDevices({.action = action})) << action;
  }
  for (const char* action : {"change", "online", "offline", "added", ""}) {
    EXPECT_FALSE(ChangesDevices({.action = action})) << action;
  }
}

TEST(Uevent, NoBytesWhateverBreakTheReader) {
  constexpr std::uint64_t kSeed = 815;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  Random chance(kSeed);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = kAdded;
    for (int n = 0; n < 4; ++n) {
      bytes[chance.Next() % bytes.size()] = static_cast<char>(chance.Next());
    }
    bytes.resize(chance.Next() % (bytes.size() + 1));
    const auto event = ParseUevent(bytes);
    if (event) {
      ASSERT_LE(event->path.size(), bytes.size());
    }
  }
}

// Has the kernel tell all that the loopback interface did this: what root asks it to tell it tells
// (uevent_net_rcv_skb in its sources). Unlike a write to /sys this goes where /sys is read-only.
bool Announce(const std::string& action) {
  const Fd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_KOBJECT_UEVENT));
  const std::string path = "/devices/virtual/net/lo";
  const std::string text =
      action + "@" + path + "\0ACTION="s + action + "\0DEVPATH="s + path + "\0SUBSYSTEM=net\0"s;
  nlmsghdr head{};
  head.nlmsg_len = static_cast<std::uint32_t>(sizeof(head) + text.size());
  head.nlmsg_type = NLMSG_MIN_TYPE;
  head.nlmsg_flags = NLM_F_REQUEST;
  const std::string message =
      std::string(reinterpret_cast<const char*>(&head), sizeof(head)) + text;
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  return ::sendto(fd.get(), message.data(), message.size(), 0,
                  reinterpret_cast<const sockaddr*>(&kernel), sizeof(kernel)) > 0;
}

// Whether the watch notifies of what the kernel is made to say, before the limit.
bool IsNotified(EpollLoop& loop, const std::string& action, Duration limit,
                std::vector<std::string>* gone = nullptr) {
  bool notified = false;
  const auto watch = UeventWatch::Start(loop, [&](const std::vector<std::string>& removed) {
    notified = true;
    if (gone != nullptr) *gone = removed;
    loop.Stop();
  });
  EXPECT_TRUE(watch.ok()) << watch.status().message();
  if (!watch.ok() || !Announce(action)) return false;
  const Timer end = loop.After(limit, [&loop] { loop.Stop(); });
  loop.Run();
  return notified;
}

TEST(UeventWatch, HearsTheRealKernelSayThatADeviceCame) {
  if (::geteuid() != 0 || !Announce("change")) {
    fmt::print("not tried, only the parser is tested: having the kernel tell needs root\n");
    return;
  }
  const auto loop = EpollLoop::Create();
  ASSERT_TRUE(loop.ok());
  EXPECT_TRUE(IsNotified(**loop, "add", 1s));
  EXPECT_FALSE(IsNotified(**loop, "change", 1ms)) << "no device came or went";
  std::vector<std::string> gone;
  EXPECT_TRUE(IsNotified(**loop, "remove", 1s, &gone));
  EXPECT_EQ(gone, std::vector<std::string>{"/devices/virtual/net/lo"});
}

}  // namespace
}  // namespace galen::probes
