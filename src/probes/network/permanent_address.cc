#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "probes/network/network_interface.h"

namespace galen::probes {
namespace {

// Ethernet's length. InfiniBand's addresses are longer, and begin with what each start draws anew.
constexpr std::size_t kAddressBytes = 6;

constexpr std::size_t kAddressBytesMax = 32;  // the kernel's MAX_ADDR_LEN

// False for a name that is longer than any interface's.
bool SetName(ifreq& request, const std::string& interface) {
  if (interface.size() >= sizeof(request.ifr_name)) return false;
  std::copy(interface.begin(), interface.end(), request.ifr_name);
  return true;
}

}  // namespace

std::string AddressText(std::string_view bytes) {
  const bool is_zero = std::ranges::all_of(bytes, [](char byte) { return byte == 0; });
  if (bytes.size() != kAddressBytes || is_zero) return "";
  std::string text;
  for (const char byte : bytes) {
    text += fmt::format("{}{:02x}", text.empty() ? "" : ":", static_cast<unsigned char>(byte));
  }
  return text;
}

StatusOr<std::unique_ptr<PermanentAddresses>> PermanentAddresses::Open(
    const std::string& network_namespace) {
  ASSIGN_OR_RETURN(Fd socket, OpenNetlinkSocket(network_namespace));
  return std::unique_ptr<PermanentAddresses>(new PermanentAddresses(std::move(socket)));
}

std::string PermanentAddresses::Of(const std::string& interface,
                                   const std::string& address_now) const {
  ifreq now{};
  if (!SetName(now, interface) || ::ioctl(socket_.get(), SIOCGIFHWADDR, &now) != 0) return "";
  if (AddressText({now.ifr_hwaddr.sa_data, kAddressBytes}) != address_now) return "";
  // A head, and room behind it for the address.
  std::array<char, sizeof(ethtool_perm_addr) + kAddressBytesMax> asked{};
  ethtool_perm_addr head{.cmd = ETHTOOL_GPERMADDR, .size = kAddressBytesMax};
  std::memcpy(asked.data(), &head, sizeof(head));
  ifreq request{};
  SetName(request, interface);
  request.ifr_data = asked.data();
  if (::ioctl(socket_.get(), SIOCETHTOOL, &request) != 0) return "";
  std::memcpy(&head, asked.data(), sizeof(head));
  return AddressText(
      {asked.data() + sizeof(head), std::min<std::size_t>(head.size, kAddressBytesMax)});
}

}  // namespace galen::probes
