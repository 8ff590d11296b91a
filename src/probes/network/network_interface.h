// Network interfaces as devices, read from sysfs (carrier, speed and error counters) and watched.
// Patterns like "eth*" select them. Belongs to its loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/files/file_system.h"
#include "base/loop/io_loop.h"
#include "base/loop/loop.h"
#include "probes/rules/sign.h"

namespace galen::probes {

// The lasting facts of an interface.
struct NetworkInterface {
  std::string device{};       // a DNS label: "eth0-100" for eth0.100
  std::string interface{};    // "eth0.100"
  std::string address{};      // the MAC address that the card was made with, if known; or ""
  std::string pci_address{};  // "" for one without hardware, such as a veth
  std::string driver{};       // the kernel's driver, "" without hardware

  bool operator==(const NetworkInterface&) const = default;
};

// Looks at the interfaces that its patterns name. Belongs to its loop.
class NetworkProbe final : public Probe {
 public:
  // Which interfaces are devices, and where they are read.
  struct Options {
    std::string sysfs_root = "/sys";
    std::vector<std::string> patterns{};  // shell patterns; "lo" is never meant
    // The address that a card was made with, of an interface and its address now; "": not known.
    // PermanentAddresses::Of; none: it is never known.
    std::function<std::string(const std::string&, const std::string&)> permanent_address{};
  };
  static constexpr std::size_t kInterfacesMax =
      256;  // past it gone ones make room, then the rest is left out

  // Loop and files are lent.
  NetworkProbe(Loop& loop, FileSystem& files, Options options)
      : loop_(loop), files_(files), options_(std::move(options)) {}

  // The interfaces there are now. One that was seen before and is gone stays, with its `present`
  // sign at 0: a card that fell off its bus must not vanish from sight. One that comes back is
  // described anew, because it may be another card; before that no sign of it is read.
  StatusOr<std::vector<NetworkInterface>> Discover();
  // Signs of all interfaces that were discovered.
  StatusOr<std::vector<Sign>> Observe() override;
  // Signs of these interfaces only; names that are not ours are left out.
  std::vector<Sign> ObserveSome(const std::vector<std::string>& interfaces);

  const std::map<std::string, NetworkInterface>& interfaces() const { return interfaces_; }
  // Whether it was gone when it was looked at last.
  bool IsAbsent(const std::string& interface) const { return absent_.contains(interface); }

 private:
  bool Wanted(const std::string& interface) const;
  NetworkInterface Describe(const std::string& interface);
  StatusOr<std::string> ReadFile(const std::string& interface, std::string_view file);
  void ObserveInto(const NetworkInterface& nic, std::vector<Sign>& signs);
  bool ForgetAnAbsentOne(std::set<std::string>& taken);
  void ReadCarrier(const NetworkInterface& nic, std::vector<Sign>& signs);
  void ReadSpeed(const NetworkInterface& nic, std::vector<Sign>& signs);
  Sign MakeSign(const NetworkInterface& nic, std::string_view name) const;

  Loop& loop_;
  FileSystem& files_;
  const Options options_;
  std::map<std::string, NetworkInterface> interfaces_;  // by interface
  std::set<std::string> absent_;                        // of these, by interface
};

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

// A socket that asks about, or listens to, the links of a network namespace: a file that stands for
// one ("/proc/1/ns/net"; entering it takes CAP_SYS_ADMIN), or "" for the one that the process is
// in. Errors are those of open(2), setns(2) and socket(2).
StatusOr<Fd> OpenNetlinkSocket(const std::string& network_namespace);

// An Ethernet address as sysfs writes it: "02:00:00:00:00:01"; "" for zeros and other lengths.
std::string AddressText(std::string_view bytes);

// The addresses that cards were made with, from the kernel's ethtool (ETHTOOL_GPERMADDR), which
// takes no right. May be asked by any thread; an answer takes microseconds.
class PermanentAddresses {
 public:
  // `network_namespace` and errors are those of OpenNetlinkSocket.
  static StatusOr<std::unique_ptr<PermanentAddresses>> Open(const std::string& network_namespace);

  // "" where the kernel knows none, as of a virtual interface, and where the interface of this name
  // has another address now: then sysfs shows another network namespace than this one.
  std::string Of(const std::string& interface, const std::string& address_now) const;

 private:
  explicit PermanentAddresses(Fd socket) : socket_(std::move(socket)) {}

  const Fd socket_;
};

// Notifies, from a NETLINK_ROUTE socket of the kernel, that network interfaces came, went, or
// gained or lost their carrier. The notification carries nothing; the state itself is read anew.
// Belongs to its loop.
class LinkWatch {
 public:
  // `on_change` gets the names in the messages, a name perhaps more than once; empty:
  // messages were lost, look at all. It runs on the loop. `network_namespace` is that of
  // OpenNetlinkSocket; errors are its own and those of bind(2). `loop` is lent; destroying the
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
