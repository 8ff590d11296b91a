#include "driver/sysfs_hardware.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace galen::device_driver {

// One search for devices, made by the loop and done by a thread.
struct SysfsHardware::Search {
  DeviceFinder find;
  StatusOr<std::vector<FoundDevice>> found = std::vector<FoundDevice>();
};

void SysfsHardware::ProvenSigns::OnSigns(std::vector<probes::Sign> signs) {
  std::erase_if(signs, [](const probes::Sign& sign) { return !sign.name.starts_with("aer-"); });
  if (!signs.empty()) sink_.OnSigns(std::move(signs));
}

SysfsHardware::SysfsHardware(Edges edges, SharedFiles files, Options options,
                             std::function<std::unique_ptr<DiskQueue>()> make_queue,
                             std::unique_ptr<probes::KernelLogSource> kernel_log)
    : edges_(edges),
      options_(std::move(options)),
      queue_(make_queue()),
      probe_({.loop = edges.loop,
              .log = edges.log,
              .metrics = edges.metrics,
              .rules = edges.rules,
              .files = std::move(files),
              .make_queue = std::move(make_queue)},
             {.root = options_.sysfs_root}),
      kernel_log_source_(std::move(kernel_log)) {}

SysfsHardware::~SysfsHardware() = default;

bool SysfsHardware::Add(const std::vector<FoundDevice>& found) {
  bool news = false;
  for (const FoundDevice& each : found) {
    const auto known = devices_.find(each.device.name);
    if (known != devices_.end() && known->second == each) continue;
    if (known == devices_.end() && devices_.size() >= probes::SysfsProbe::kDevicesMax) continue;
    devices_[each.device.name] = each;
    news = true;
  }
  if (!news) return false;
  std::vector<probes::SysfsDevice> watched;
  for (const auto& [name, device] : devices_) watched.push_back({name, device.path});
  probe_.SetDevices(watched);
  if (kernel_log_ != nullptr) kernel_log_->SetDevices(DeviceOfAddress());
  return true;
}

StatusOr<Inventory> SysfsHardware::Devices() {
  if (!std::exchange(looked_, true)) {
    ASSIGN_OR_RETURN(const std::vector<FoundDevice> found, options_.find());
    Add(found);
  }
  RETURN_IF_ERROR(last_search_);
  Inventory inventory;
  for (const auto& [name, device] : devices_) inventory.push_back(device.device);
  return inventory;
}

void SysfsHardware::LookForDevices() {
  if (search_ != nullptr) return;
  search_ = std::make_shared<Search>();
  search_->find = options_.find;
  queue_->Run([search = search_] { search->found = search->find(); },
              [this, alive = Liveness::Watch(liveness_)] {
                if (!alive.alive()) return;
                const auto search = std::exchange(search_, nullptr);
                const bool was_ok = last_search_.ok();
                last_search_ = search->found.status();
                const bool news = last_search_.ok() && Add(*search->found);
                if ((news || was_ok != last_search_.ok()) && events_ != nullptr) {
                  events_->look_again();
                }
              });
}

StatusOr<std::vector<probes::Sign>> SysfsHardware::Observe() {
  LookForDevices();
  return probe_.Observe();
}

CdiEdits SysfsHardware::EditsFor(const std::string& device) const {
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
  }
  return device_of_address;
}

Status SysfsHardware::Start(HardwareEvents& events) {
  events_ = &events;
  probe_.Start(events.signs);
  if (kernel_log_source_ == nullptr) return OkStatus();
  proven_ = std::make_unique<ProvenSigns>(events.signs);
  kernel_log_ = std::make_unique<probes::KernelLog>(
      probes::KernelLog::Parts{edges_.loop, edges_.log, edges_.metrics, edges_.state,
                               *kernel_log_source_, *proven_},
      DeviceOfAddress());
  // These devices are as old as the machine's boot: what was logged before this process counts.
  kernel_log_->Start(probes::KernelLog::Begin::kAtBoot);
  return OkStatus();
}

}  // namespace galen::device_driver
