#include "driver/sysfs_hardware.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "sdk/inventory.h"

namespace galen::device_driver {
namespace {

Inventory InventoryOf(const std::map<std::string, FoundDevice>& devices) {
  Inventory inventory;
  for (const auto& [name, device] : devices) inventory.push_back(device.device);
  return inventory;
}

}  // namespace

void SysfsHardware::ProvenSigns::OnSigns(std::vector<probes::Sign> signs) {
  std::erase_if(signs, [this](const probes::Sign& sign) {
    const probes::SignSpec* spec = rules_.FindSign(sign.name);
    const bool by_table = spec != nullptr && spec->kernel.has_value();
    return !by_table && !sign.name.starts_with("aer-");
  });
  if (!signs.empty()) sink_.OnSigns(std::move(signs));
}

SysfsHardware::SysfsHardware(Edges edges, const probes::SysfsFiles& files, Options options,
                             std::function<std::unique_ptr<DiskQueue>()> make_queue,
                             std::unique_ptr<probes::KernelLogSource> kernel_log)
    : edges_(edges),
      options_(std::move(options)),
      queue_(make_queue()),
      probe_({.loop = edges.loop,
              .log = edges.log,
              .metrics = edges.metrics,
              .rules = edges.rules,
              .files = files,
              .make_queue = std::move(make_queue)},
             {.root = options_.sysfs_root}),
      kernel_log_source_(std::move(kernel_log)) {
  edges_.metrics.DeclareCounter("galen_sysfs_failed_searches_total",
                                "Searches for devices below /sys that failed.");
}

SysfsHardware::~SysfsHardware() = default;

StatusOr<bool> SysfsHardware::Add(const std::vector<FoundDevice>& found) {
  std::map<std::string, FoundDevice> devices = devices_;
  for (const FoundDevice& each : found) devices[each.device.name] = each;
  if (devices == devices_) return false;
  if (devices.size() > probes::SysfsProbe::kDevicesMax) {
    return FailedPrecondition(
        "{} devices match, with those that are gone, and at most {} are looked at: select fewer by "
        "--pattern or --select, or restart the driver to forget those that are gone",
        devices.size(), probes::SysfsProbe::kDevicesMax);
  }
  RETURN_IF_ERROR(sdk::ValidateInventory(InventoryOf(devices)));
  devices_ = std::move(devices);
  std::vector<probes::SysfsDevice> watched;
  for (const auto& [name, device] : devices_) watched.push_back({name, device.path});
  probe_.SetDevices(watched);
  if (kernel_log_ != nullptr) kernel_log_->SetDevices(DeviceOfAddress());
  return true;
}

StatusOr<Inventory> SysfsHardware::Devices() {
  if (!looked_) {
    ASSIGN_OR_RETURN(const std::vector<FoundDevice> found, options_.find());
    RETURN_IF_ERROR(Add(found).status());
    looked_ = true;
  }
  return InventoryOf(devices_);
}

void SysfsHardware::OnSearch(const StatusOr<std::vector<FoundDevice>>& found) {
  searching_ = false;
  const StatusOr<bool> news = found.ok() ? Add(*found) : StatusOr<bool>(found.status());
  NoteSearch(news.status());
  if (news.ok() && *news && events_ != nullptr) events_->look_again();
}

void SysfsHardware::NoteSearch(const Status& status) {
  const bool failed_before = std::exchange(search_failed_, !status.ok());
  if (status.ok()) {
    if (failed_before) edges_.log.Info("devices can be looked for again");
    return;
  }
  edges_.metrics.Add("galen_sysfs_failed_searches_total", {});
  if (failed_before) return;
  edges_.log.Warning("devices cannot be looked for: known ones are read on, new ones not offered",
                     {{"error", status.message()}});
}

void SysfsHardware::LookForDevices() {
  if (std::exchange(searching_, true)) return;
  RunFor(liveness_, *queue_, options_.find,
         [this](const StatusOr<std::vector<FoundDevice>>& found) { OnSearch(found); });
}

StatusOr<std::vector<probes::Sign>> SysfsHardware::Observe() {
  LookForDevices();
  return probe_.Observe();
}

DeviceEdits SysfsHardware::EditsFor(const std::string& device) const {
  const auto known = devices_.find(device);
  if (known == devices_.end()) return {};
  const auto index = std::distance(devices_.begin(), known);
  CdiEdits edits;
  edits.env.push_back(fmt::format("{}_{}={}", known->second.variable, index, known->second.value));
  return edits;
}

std::map<std::string, std::string> SysfsHardware::DeviceOfAddress() const {
  std::map<std::string, std::string> device_of_address;
  for (const auto& [name, device] : devices_) {
    if (!device.pci_address.empty()) device_of_address[device.pci_address] = name;
    for (const std::string& kernel_name : device.kernel_names) {
      device_of_address[kernel_name] = name;
    }
  }
  return device_of_address;
}

void SysfsHardware::ListenForDevices() {
  if (options_.listen == nullptr) return;
  const Status listening =
      options_.listen([this](const std::vector<std::string>& removed) { OnHotplug(removed); });
  if (listening.ok()) return;
  edges_.log.Warning("the kernel does not say when devices come and go: each poll looks for them",
                     {{"error", listening.message()}});
}

void SysfsHardware::OnHotplug(const std::vector<std::string>& removed) {
  for (const auto& [name, device] : devices_) {
    // The look that follows may find it back already.
    if (std::ranges::find(removed, device.kernel_path) != removed.end()) probe_.NoteRemoved(name);
  }
  if (hotplug_) return;
  const Time now = edges_.loop.Now();
  const Time next = hotplug_look_ ? *hotplug_look_ + kHotplugEvery : now;
  hotplug_ = edges_.loop.After(std::max(kHotplugPause, next - now), [this] {
    hotplug_.reset();
    hotplug_look_ = edges_.loop.Now();
    events_->look_again();
  });
}

Status SysfsHardware::Start(HardwareEvents& events) {
  events_ = &events;
  ListenForDevices();
  probe_.Start(events.signs);
  if (kernel_log_source_ == nullptr) return OkStatus();
  proven_ = std::make_unique<ProvenSigns>(events.signs, edges_.rules);
  kernel_log_ = std::make_unique<probes::KernelLog>(
      probes::KernelLog::Parts{edges_.loop, edges_.log, edges_.metrics, edges_.state,
                               *kernel_log_source_, *proven_, edges_.rules},
      DeviceOfAddress());
  // These devices exist since the machine's boot, so log lines from before this process count.
  kernel_log_->Start(probes::KernelLog::Begin::kAtBoot);
  return OkStatus();
}

}  // namespace galen::device_driver
