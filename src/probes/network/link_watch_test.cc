#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/files/posix_file_system.h"
#include "base/files/test_temporary_directory.h"
#include "base/loop/epoll_loop.h"
#include "base/loop/process.h"
#include "base/random.h"
#include "probes/network/network_interface.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

template <typename T>
void Append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  while (bytes.size() % 4 != 0) bytes += '\0';
}

// A datagram with one message, as the kernel builds it.
std::string Message(std::uint16_t type, unsigned flags, const std::string& name) {
  std::string body;
  ifinfomsg link{};
  link.ifi_index = 7;
  link.ifi_flags = flags;
  Append(body, link);
  const auto attribute = [&body](std::uint16_t kind, const std::string& value) {
    const rtattr head{static_cast<std::uint16_t>(sizeof(rtattr) + value.size()), kind};
    Append(body, head);
    body += value;
    while (body.size() % 4 != 0) body += '\0';
  };
  attribute(IFLA_MTU, std::string(4, '\1'));
  if (!name.empty()) attribute(IFLA_IFNAME, name + '\0');
  std::string message;
  nlmsghdr head{};
  head.nlmsg_len = static_cast<std::uint32_t>(sizeof(nlmsghdr) + body.size());
  head.nlmsg_type = type;
  Append(message, head);
  return message + body;
}

TEST(LinkMessages, SayWhichLinkIsHow) {
  const auto messages = ParseLinkMessages(Message(RTM_NEWLINK, IFF_UP | IFF_RUNNING, "eth0") +
                                          Message(RTM_DELLINK, IFF_UP, "veth1"));
  EXPECT_THAT(messages, ElementsAre(LinkMessage{7, "eth0", false, true},
                                    LinkMessage{7, "veth1", true, false}));
}

TEST(LinkMessages, OfOtherKindsAreLeftOutAndANameMayBeMissing) {
  EXPECT_THAT(ParseLinkMessages(Message(RTM_NEWADDR, 0, "eth0")), IsEmpty());
  EXPECT_THAT(ParseLinkMessages(Message(RTM_NEWLINK, 0, "")),
              ElementsAre(LinkMessage{7, "", false, false}));
  EXPECT_THAT(ParseLinkMessages(""), IsEmpty());
}

TEST(LinkMessages, NoBytesWhateverBreakTheReader) {
  const std::string good = Message(RTM_NEWLINK, IFF_UP, "eth0") + Message(RTM_DELLINK, 0, "veth1");
  Random chance(4711);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = good;
    for (int n = 0; n < 4; ++n)
      bytes[chance.Next() % bytes.size()] = static_cast<char>(chance.Next());
    bytes.resize(chance.Next() % (bytes.size() + 1));
    for (const LinkMessage& message : ParseLinkMessages(bytes)) {
      ASSERT_LE(message.name.size(), bytes.size());
    }
  }
}

// Runs a program until it ends; gives whether it ended well.
bool RunProgram(EpollLoop& loop, std::vector<std::string> command) {
  int code = -1;
  Process::Options options;
  options.command = std::move(command);
  const auto process = Process::Start(loop, std::move(options), [&](Process::Exit exit) {
    code = exit.signal == 0 ? exit.code : -1;
    loop.Stop();
  });
  if (!process.ok()) return false;
  loop.Run();
  return code == 0;
}

// What the thread in a network of its own saw.
struct Seen {
  std::string missing;  // why it could not be tried; "" when it was
  std::string fault;
  Duration down{};
  Duration up{};
};

// How long after `ip link set … STATE` was started until sysfs, read upon the notification, showed
// it.
std::optional<Duration> TimeToSee(EpollLoop& loop, NetworkProbe& probe, const std::string& state) {
  const double wanted = state == "up" ? 1 : 0;
  std::optional<Duration> taken;
  const Time start = loop.Now();
  const auto watch = LinkWatch::Start(loop, "", [&](const std::vector<std::string>& names) {
    const auto signs = names.empty() ? *probe.Observe() : probe.ObserveSome(names);
    for (const Sign& sign : signs) {
      const bool carrier = sign.device == "galen0" && sign.name == "carrier";
      if (carrier && NumberOf(sign) == wanted && !taken) taken = loop.Now() - start;
    }
  });
  if (!watch.ok()) return std::nullopt;
  if (!RunProgram(loop, {"ip", "link", "set", "galen1", state})) return std::nullopt;
  if (!taken) {
    const Timer limit = loop.After(2s, [&] { loop.Stop(); });
    loop.Run();
  }
  return taken;
}

// A network namespace belongs to a thread: this one's ends with it and touches no other.
Seen WatchARealVethPair(const std::string& sysfs) {
  if (::unshare(CLONE_NEWNET | CLONE_NEWNS) != 0)
    return {"a network namespace (needs root)", "", {}, {}};
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("sysfs", sysfs.c_str(), "sysfs", 0, nullptr) != 0) {
    return {"a sysfs of that namespace (needs root)", "", {}, {}};
  }
  const auto loop = EpollLoop::Create();
  if (!loop.ok()) return {"", loop.status().message(), {}, {}};
  if (!RunProgram(**loop,
                  {"ip", "link", "add", "galen0", "type", "veth", "peer", "name", "galen1"}) ||
      !RunProgram(**loop, {"ip", "link", "set", "galen0", "up"}) ||
      !RunProgram(**loop, {"ip", "link", "set", "galen1", "up"})) {
    return {"the program ip with veth pairs (package iproute2)", "", {}, {}};
  }
  PosixFileSystem files;
  NetworkProbe probe(**loop, files, {.sysfs_root = sysfs, .patterns = {"galen0"}});
  if (!probe.Observe().ok()) return {"", "sysfs cannot be read", {}, {}};
  const auto down = TimeToSee(**loop, probe, "down");
  if (!down) return {"", "the loss of the carrier was not seen within 2 s", {}, {}};
  const auto up = TimeToSee(**loop, probe, "up");
  if (!up) return {"", "the return of the carrier was not seen within 2 s", {}, {}};
  return {"", "", *down, *up};
}

TEST(LinkWatch, SaysWhichNamespaceItCannotEnter) {
  const auto loop = EpollLoop::Create();
  ASSERT_TRUE(loop.ok());
  const auto watch = LinkWatch::Start(**loop, "/nowhere/net", [](const auto&) {});
  ASSERT_FALSE(watch.ok());
  EXPECT_NE(watch.status().message().find("/nowhere/net"), std::string::npos);
}

std::string OwnNetwork() {
  return std::filesystem::read_symlink("/proc/thread-self/ns/net").string();
}

// For a process of its own: root of a user namespace that stays on the machine's network may enter
// networks made there, and never return. Ends with 0 when it watches one of them and stayed.
[[noreturn]] void WatchWhereNobodyReturns() {
  if (::unshare(CLONE_NEWUSER) != 0) {
    fmt::print("not tried: a user namespace is not allowed\n");
    std::exit(0);
  }
  Fd inner;
  std::thread([&inner] {
    if (::unshare(CLONE_NEWNET) == 0) inner = Fd(::open("/proc/thread-self/ns/net", O_RDONLY));
  }).join();
  if (!inner) std::exit(2);
  const std::string before = OwnNetwork();
  const auto loop = *EpollLoop::Create();
  const auto watch =
      LinkWatch::Start(*loop, fmt::format("/proc/self/fd/{}", inner.get()), [](const auto&) {});
  std::exit(watch.ok() && OwnNetwork() == before ? 0 : 1);
}

TEST(LinkWatch, WatchesANamespaceThatItCouldNotLeaveWithoutGoingThere) {
  EXPECT_EXIT(WatchWhereNobodyReturns(), ::testing::ExitedWithCode(0), "");
}

// Real: a veth pair in a network namespace of its own loses its carrier and gets it back.
TEST(LinkWatch, SeesARealLinkGoDownAndUpAtOnce) {
  const TemporaryDirectory directory;
  Seen seen;
  std::thread thread([&] { seen = WatchARealVethPair(directory.path()); });
  thread.join();
  if (!seen.missing.empty()) {
    fmt::print("not tried, only the parser is tested: this machine lacks {}\n", seen.missing);
    return;
  }
  ASSERT_EQ(seen.fault, "");
  // From the start of `ip`, so it includes starting that program.
  EXPECT_LT(seen.down, 1s);
  EXPECT_LT(seen.up, 1s);
  fmt::print("carrier loss seen after {} us, return after {} us\n", seen.down / 1us, seen.up / 1us);
}

}  // namespace
}  // namespace galen::probes
