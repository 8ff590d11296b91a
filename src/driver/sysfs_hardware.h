// Devices of galen-driver that have a directory below /sys, whoever made them: PCI devices, or what
// a pattern names.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files/disk_queue.h"
#include "base/liveness.h"
#include "driver/edges.h"
#include "driver/hardware.h"
#include "galen/driver.h"
#include "probes/kernel_log/kernel_log.h"
#include "probes/sysfs/pci_device.h"
#include "probes/sysfs/sysfs_probe.h"

namespace galen::device_driver {

// A device that was found.
struct FoundDevice {
  Device device{};            // as it is offered
  std::string path{};         // below sysfs's root
  std::string pci_address{};  // "" for one that is not on that bus
  // As the kernel's log names it by another subsystem: "nvme:nvme0".
  std::vector<std::string> kernel_names{};
  // What a container gets that uses it: "PCI_0=0000:4b:00.0", numbered among all devices.
  std::string variable{};
  std::string value{};

  bool operator==(const FoundDevice&) const = default;
};

// Looks which devices there are; may block. Owns all that it needs, for it runs on a thread.
using DeviceFinder = std::function<StatusOr<std::vector<FoundDevice>>()>;

// The finders of `galen-driver pci` and `galen-driver sysfs`. More than SysfsProbe::kDevicesMax, or
// two of one name, are FailedPrecondition: whoever meant all of a machine's devices should say
// which. The files are lent, and outlive the finder's thread, which may hang in one.
DeviceFinder PciFinder(const probes::SysfsFiles& files, std::string root,
                       std::vector<probes::PciSelection> selections);
DeviceFinder PatternFinder(const probes::SysfsFiles& files, std::string root,
                           std::vector<std::string> patterns);

// Such devices, with what the kernel's log says of those on the PCI bus. Devices that leave stay in
// the inventory, where they show that they are gone. Belongs to its loop.
class SysfsHardware final : public Hardware {
 public:
  // Begins to call `news` when devices come or go; the real one is a UeventWatch.
  using Listen = std::function<Status(std::function<void()> news)>;
  struct Options {
    std::string sysfs_root = "/sys";
    DeviceFinder find;
    Listen listen = {};  // null: devices are looked for at each look only
  };
  // One plugged card makes dozens of messages, for each of its parts: they are one look.
  static constexpr Duration kHotplugPause = std::chrono::milliseconds(200);
  // Looks for such messages begin so far apart: each container that starts makes some as well, for
  // its network interface.
  static constexpr Duration kHotplugEvery = std::chrono::seconds(2);

  // `kernel_log` may be null: then the kernel's log is not read. `make_queue` makes the threads on
  // which files are read.
  SysfsHardware(Edges edges, const probes::SysfsFiles& files, Options options,
                std::function<std::unique_ptr<DiskQueue>()> make_queue,
                std::unique_ptr<probes::KernelLogSource> kernel_log);
  ~SysfsHardware() override;

  // The first call looks by itself, before there is anything that it could hold up; only its error
  // is returned. Later ones give what a thread found meanwhile. A search that fails then is logged
  // and counted (galen_sysfs_failed_searches_total), and the devices that are known are read on.
  StatusOr<Inventory> Devices() override;
  DeviceEdits EditsFor(const std::string& device) const override;
  Status Start(HardwareEvents& events) override;
  StatusOr<std::vector<probes::Sign>> Observe() override;

 private:
  // Passes on what the kernel itself says is about a device: records with DEVICE=+pci:…, which AER
  // faults and lines that the table knows alone have. Whoever may write into the log can forge the
  // text of the others.
  class ProvenSigns final : public probes::SignSink {
   public:
    ProvenSigns(probes::SignSink& sink, const probes::RuleTable& rules)
        : sink_(sink), rules_(rules) {}
    void OnSigns(std::vector<probes::Sign> signs) override;

   private:
    probes::SignSink& sink_;
    const probes::RuleTable& rules_;
  };

  void ListenForDevices();
  void OnHotplug();
  void LookForDevices();
  void OnSearch(const StatusOr<std::vector<FoundDevice>>& found);
  // Whether devices came that were not known. All of them or none: an error when, with those that
  // are known, they are more than SysfsProbe::kDevicesMax or cannot be offered.
  StatusOr<bool> Add(const std::vector<FoundDevice>& found);
  void NoteSearch(const Status& status);
  std::map<std::string, std::string> DeviceOfAddress() const;

  Edges edges_;
  const Options options_;
  std::map<std::string, FoundDevice> devices_;  // by name
  bool looked_ = false;
  bool search_failed_ = false;  // the last one
  bool searching_ = false;
  std::unique_ptr<DiskQueue> queue_;
  probes::SysfsProbe probe_;
  std::unique_ptr<probes::KernelLogSource> kernel_log_source_;
  std::unique_ptr<ProvenSigns> proven_;
  std::unique_ptr<probes::KernelLog> kernel_log_;
  HardwareEvents* events_ = nullptr;
  std::optional<Timer> hotplug_;  // until the look
  std::optional<Time> hotplug_look_;
  Liveness liveness_;
};

}  // namespace galen::device_driver
