// The network interfaces of galen-driver. Looks at sysfs at the driver's pace, and at once when the
// kernel says that a link changed. Belongs to its loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "driver/hardware.h"
#include "probes/network/network_interface.h"

namespace galen::device_driver {

class NicHardware final : public Hardware {
 public:
  // Gets the names of interfaces that something happened to; empty: look at all.
  using LinkNews = std::function<void(const std::vector<std::string>&)>;
  // Begins to watch links; the real one is a LinkWatch.
  using Listen = std::function<Status(LinkNews)>;

  // `options` says which interfaces are devices. The loop and files outlive the hardware.
  NicHardware(Loop& loop, FileSystem& files, probes::NetworkProbe::Options options, Listen listen)
      : probe_(loop, files, std::move(options)), listen_(std::move(listen)) {}

  StatusOr<Inventory> Devices() override;
  CdiEdits EditsFor(const std::string& device) const override;
  Status Start(HardwareEvents& events) override;
  StatusOr<std::vector<probes::Sign>> Observe() override { return probe_.Observe(); }

 private:
  void OnLinkNews(HardwareEvents& events, const std::vector<std::string>& names);

  probes::NetworkProbe probe_;
  const Listen listen_;
};

}  // namespace galen::device_driver
