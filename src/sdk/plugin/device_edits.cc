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
  TakeFormer();
  const auto is_gone = [&](const auto& entry) {
    return std::ranges::find(devices, entry.first) == devices.end();
  };
  std::erase_if(edits_, is_gone);
  std::erase_if(former_, is_gone);
  Status unanswered;
  for (const std::string& device : devices) {
    StatusOr<CdiEdits> edits = AskFor(device);
    if (edits.ok()) {
      edits_[device] = *std::move(edits);
      former_.erase(device);
      complaints_.erase(device);
    } else {
      // Invalid edits are not asked for again: they are a fault of the author's code.
      if (edits.status().code() == Code::kUnavailable) unanswered = edits.status();
      const std::string& why = edits.status().message();
      if (std::exchange(complaints_[device], why) == why) continue;
      log_.Warning("what containers get with a device cannot be said now",
                   {{"device", device}, {"error", why}});
    }
  }
  RETURN_IF_ERROR(Write());
  return unanswered;
}

void PluginDeviceEdits::TakeFormer() {
  if (std::exchange(former_taken_, true)) return;
  const StatusOr<std::string> text = files_.Read(path_);
  const StatusOr<Json> file = text.ok() ? Json::Parse(*text) : StatusOr<Json>(text.status());
  // An unreadable file is written anew.
  if (!file.ok()) return;
  for (const Json& device : (*file)["devices"].items()) {
    former_[device["name"].AsString()] = device;
  }
}

StatusOr<std::vector<std::string>> PluginDeviceEdits::NamesFor(
    const std::vector<std::string>& devices) {
  // All edits are collected first, so that a failure leaves the file as it was.
  std::map<std::string, CdiEdits> fresh;
  for (const std::string& device : devices) {
    ASSIGN_OR_RETURN(fresh[device], AskFor(device));
  }
  std::vector<std::string> names;
  for (const std::string& device : devices) {
    if (fresh[device] != CdiEdits{}) names.push_back(CdiDeviceId(driver_, device));
  }
  for (auto& [device, edits] : fresh) {
    edits_[device] = std::move(edits);
    former_.erase(device);
  }
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
  if (edits_.empty() && former_.empty()) {
    return Annotate(files_.Remove(path_), "remove the CDI file {}", path_);
  }
  Json spec = MakeCdiDeviceSpec(driver_, edits_);
  for (const auto& [device, former] : former_) spec["devices"].Append(former);
  const std::string text = spec.DumpPretty() + "\n";
  // Unchanged files are not written: runtimes watch the directory and reread it after each change.
  if (const StatusOr<std::string> now = files_.Read(path_); now.ok() && *now == text) {
    return OkStatus();
  }
  RETURN_IF_ERROR(Annotate(files_.MakeDirectories(cdi_root_), "make the CDI directory"));
  RETURN_IF_ERROR(Annotate(RemoveTemporaryFilesOf(files_, path_), "tidy the CDI directory"));
  return Annotate(files_.WriteAtomically(path_, text, kDevicesFileMode), "write the CDI file {}",
                  path_);
}

}  // namespace galen::sdk
