#include "sdk/plugin/device_edits.h"

#include <algorithm>
#include <utility>

#include "base/files/temporary_files.h"
#include "base/text.h"
#include "sdk/claims/cdi_spec.h"

namespace galen::sdk {
namespace {

// Container runtimes need not run as root to read it.
constexpr unsigned kDevicesFileMode = 0644;

}  // namespace

PluginDeviceEdits::PluginDeviceEdits(FileSystem& files, Log& log, std::string cdi_root,
                                     std::string driver, Ask ask)
    : files_(files),
      log_(log),
      cdi_root_(std::move(cdi_root)),
      driver_(std::move(driver)),
      path_(cdi_root_ + "/" + CdiDeviceFileName(driver_)),
      ask_(std::move(ask)) {}

Status PluginDeviceEdits::SetDevices(const std::vector<std::string>& devices) {
  std::erase_if(edits_, [&](const auto& entry) {
    return std::ranges::find(devices, entry.first) == devices.end();
  });
  for (const std::string& device : devices) {
    StatusOr<CdiEdits> edits = AskFor(device);
    if (edits.ok()) {
      edits_[device] = *std::move(edits);
    } else {
      log_.Warning("what containers get with a device cannot be said now",
                   {{"device", device}, {"error", edits.status().message()}});
    }
  }
  return Write();
}

StatusOr<std::vector<std::string>> PluginDeviceEdits::NamesFor(
    const std::vector<std::string>& devices) {
  // First all of them, so that one that cannot be had leaves the file as it was.
  std::map<std::string, CdiEdits> fresh;
  for (const std::string& device : devices) {
    ASSIGN_OR_RETURN(fresh[device], AskFor(device));
  }
  std::vector<std::string> names;
  for (const std::string& device : devices) {
    if (fresh[device] != CdiEdits{}) names.push_back(CdiDeviceId(driver_, device));
  }
  for (auto& [device, edits] : fresh) edits_[device] = std::move(edits);
  RETURN_IF_ERROR(Write());
  return names;
}

StatusOr<CdiEdits> PluginDeviceEdits::AskFor(const std::string& device) const {
  if (!ask_) return CdiEdits{};
  DeviceEdits answer = ask_(device);
  if (const auto* failure = std::get_if<Failure>(&answer)) {
    return Unavailable("{}: {}", device,
                       failure->message.empty() ? "the driver gave no reason" : failure->message);
  }
  CdiEdits edits = std::get<CdiEdits>(std::move(answer));
  RETURN_IF_ERROR(Annotate(ValidateEdits(edits), "CDI edits of device {}", device));
  return edits;
}

Status PluginDeviceEdits::Write() {
  // container-device-interface refuses a whole file for one device without edits ("empty device
  // edits"), and one without devices.
  std::erase_if(edits_, [](const auto& entry) { return entry.second == CdiEdits{}; });
  if (edits_.empty()) return Annotate(files_.Remove(path_), "remove the CDI file {}", path_);
  const std::string text = MakeCdiDeviceSpec(driver_, edits_).DumpPretty() + "\n";
  // Container runtimes watch the directory and read it again for each change.
  if (const StatusOr<std::string> now = files_.Read(path_); now.ok() && *now == text) {
    return OkStatus();
  }
  RETURN_IF_ERROR(Annotate(files_.MakeDirectories(cdi_root_), "make the CDI directory"));
  RETURN_IF_ERROR(Annotate(RemoveTemporaryFilesOf(files_, path_), "tidy the CDI directory"));
  return Annotate(files_.WriteAtomically(path_, text, kDevicesFileMode), "write the CDI file {}",
                  path_);
}

}  // namespace galen::sdk
