// Devices with a directory below /sys, of any vendor: PCI devices, or those that a pattern matches.
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
#include "probes/sysfs/uevent_watch.h"

namespace galen::device_driver {

// A device that was found.
struct FoundDevice {
  Device device{};            // as it is offered
  std::string path{};         // below sysfs's root
  std::string pci_address{};  // "" for one that is not on that bus
  // As the kernel's messages name it: "/devices/pci0000:00/0000:4b:00.0"; "" where that is not
  // known.
  std::string kernel_path{};
  // As the kernel's log names it by another subsystem: "nvme:nvme0".
  std::vector<std::string> kernel_names{};
  // The environment variable for a container that uses it: "PCI_0=0000:4b:00.0", numbered among all
  // devices.
  std::string variable{};
  std::string value{};

  bool operator==(const FoundDevice&) const = default;
};

// Lists the present devices; may block. Owns all that it needs, since it runs on a thread.
using DeviceFinder = std::function<StatusOr<std::vector<FoundDevice>>()>;

// The finders of `galen-driver pci` and `galen-driver sysfs`. More than SysfsProbe::kDevicesMax, or
// two of one name, are FailedPrecondition: an operator should select fewer. The files are borrowed,
// and outlive the finder's thread, which may hang in one.
DeviceFinder PciFinder(const probes::SysfsFiles& files, std::string root,
                       std::vector<probes::PciSelection> selections);
DeviceFinder PatternFinder(const probes::SysfsFiles& files, std::string root,
                           std::vector<std::string> patterns);

// Such devices, with what the kernel log says of those on the PCI bus. Devices that leave stay in
// the inventory and show that they are gone. Belongs to its loop.
class SysfsHardware final : public Hardware {
 public:
  // Begins to call `news` when devices come or go; the real one is a UeventWatch.
  using Listen = std::function<Status(probes::OnUevents news)>;
  struct Options {
    std::string sysfs_root = "/sys";
    DeviceFinder find;
    Listen listen = {};  // null: devices are looked for at each look only
  };
  // One plugged card makes dozens of messages, for each of its parts: they are gathered into one
  // search.
  static constexpr Duration kHotplugPause = std::chrono::milliseconds(200);
  // The least time between two such searches: each container that starts makes messages as well,
  // for its network interface.
  static constexpr Duration kHotplugEvery = std::chrono::seconds(2);

  // `kernel_log` may be null: then the kernel log is not read. `make_queue` makes the threads on
  // which files are read.
  SysfsHardware(Edges edges, const probes::SysfsFiles& files, Options options,
                std::function<std::unique_ptr<DiskQueue>()> make_queue,
                std::unique_ptr<probes::KernelLogSource> kernel_log);
  ~SysfsHardware() override;

  // The first call searches itself, when nothing else runs yet; only its error is returned. Later
  // ones return what a thread found meanwhile. A later search that fails is logged and counted
  // (galen_sysfs_failed_searches_total), and the known devices stay.
  StatusOr<Inventory> Devices() override;
  DeviceEdits EditsFor(const std::string& device) const override;
  Status Start(HardwareEvents& events) override;
  StatusOr<std::vector<probes::Sign>> Observe() override;

 private:
  // Passes on only what the kernel itself says about a device: records with DEVICE=+pci:…, which
  // only AER faults and lines that the table knows have. Whoever may write into the log can forge
  // the text of other lines.
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
  void OnHotplug(const std::vector<std::string>& removed);
  void LookForDevices();
  void OnSearch(const StatusOr<std::vector<FoundDevice>>& found);
  // Whether new devices were added. All of them or none: an error when the total exceeds
  // SysfsProbe::kDevicesMax or a device cannot be offered.
  StatusOr<bool> Add(const std::vector<FoundDevice>& found);
  void NoteSearch(const Status& status);
  std::map<std::string, std::string> DeviceOfAddress() const;

  Edges edges_;
  const Options options_;
  std::map<std::string, FoundDevice> devices_;  // by name
  bool looked_ = false;
  bool search_failed_ = false;  // the last search failed
  bool searching_ = false;
  std::unique_ptr<DiskQueue> queue_;
  probes::SysfsProbe probe_;
  std::unique_ptr<probes::KernelLogSource> kernel_log_source_;
  std::unique_ptr<ProvenSigns> proven_;
  std::unique_ptr<probes::KernelLog> kernel_log_;
  HardwareEvents* events_ = nullptr;
  std::optional<Timer> hotplug_;  // until the next search
  std::optional<Time> hotplug_look_;
  Liveness liveness_;
};

}  // namespace galen::device_driver
