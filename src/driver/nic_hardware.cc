#include <fmt/format.h>

#include <algorithm>

#include "driver/hardware.h"

namespace galen::device_driver {

StatusOr<Inventory> NicHardware::Devices() {
  ASSIGN_OR_RETURN(const auto interfaces, probe_.Discover());
  Inventory inventory;
  for (const probes::NetworkInterface& nic : interfaces) {
    Device device;
    device.name = nic.device;
    device.attributes = {{"interface", nic.interface}, {"physical", !nic.pci_address.empty()}};
    if (!nic.address.empty()) {
      // The address that a card was made with stays with it, as a serial number does.
      device.attributes["serial"] = nic.address;
      device.attributes["mac"] = nic.address;
    }
    // sysfs names no model; people distinguish cards by the kernel driver.
    if (!nic.driver.empty()) device.attributes["model"] = nic.driver;
    if (!nic.pci_address.empty()) {
      device.attributes["resource.kubernetes.io/pciBusID"] = nic.pci_address;
    }
    inventory.push_back(std::move(device));
  }
  return inventory;
}

DeviceEdits NicHardware::EditsFor(const std::string& device) const {
  CdiEdits edits;
  std::size_t index = 0;
  for (const auto& [interface, nic] : probe_.interfaces()) {
    if (nic.device == device) edits.env.push_back(fmt::format("NIC_{}={}", index, interface));
    ++index;
  }
  return edits;
}

Status NicHardware::Start(HardwareEvents& events) {
  return listen_(
      [this, &events](const std::vector<std::string>& names) { OnLinkNews(events, names); });
}

void NicHardware::OnLinkNews(HardwareEvents& events, const std::vector<std::string>& names) {
  // An interface that is not known yet may match the driver's patterns, and one that is back may be
  // another card.
  const bool strangers = names.empty() || std::ranges::any_of(names, [this](const auto& name) {
                           return !probe_.interfaces().contains(name) || probe_.IsAbsent(name);
                         });
  if (strangers) events.look_again();
  // At once and for these only: a link failure must not wait for the next look.
  std::vector<probes::Sign> signs = probe_.ObserveSome(names);
  if (!signs.empty()) events.signs.OnSigns(std::move(signs));
}

}  // namespace galen::device_driver
