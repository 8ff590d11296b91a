#include "probes/recording/rules_recorder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/data/fnv1a.h"
#include "probes/device_name.h"
#include "probes/kernel_log/kernel_log.h"
#include "probes/sysfs/file_pattern.h"

namespace galen::probes {
namespace {

std::string FirstLine(const SysfsFiles& files, const std::string& path) {
  const StatusOr<std::string> text = files.Read(path);
  if (!text.ok()) return "";
  std::string line = text->substr(0, text->find('\n'));
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

// "10de:2330" of a PCI device, as galen-driver pci has it; else what the device calls itself.
std::string ModelOf(const SysfsFiles& files, const std::string& directory) {
  const auto id = [&](const char* file) {
    const std::string text = FirstLine(files, directory + "/" + file);
    return text.starts_with("0x") ? text.substr(2) : std::string();
  };
  const std::string vendor = id("vendor"), device = id("device");
  if (!vendor.empty() && !device.empty()) return vendor + ":" + device;
  return FirstLine(files, directory + "/model");
}

std::vector<std::string> KernelNamesOf(const std::string& path) {
  const std::string last = path.substr(path.rfind('/') + 1);
  if (path.starts_with("class/nvme/")) return {"nvme:" + last};
  if (!PciSlot(last).empty()) return {last};
  return {};
}

std::uint64_t Hash(std::uint64_t salt, std::string_view text) {
  return Fnv1a(fmt::format("{:x}/{}", salt, text));
}

// Lower case, so that an address counts however it is written.
std::string Lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  return text;
}

}  // namespace

StatusOr<std::vector<RecordedDevice>> FindRecorded(const SysfsFiles& files, const std::string& root,
                                                   const std::vector<std::string>& patterns) {
  std::vector<RecordedDevice> devices;
  std::set<std::string> names;
  for (const std::string& pattern : patterns) {
    ASSIGN_OR_RETURN(const auto found, FindPaths(files, root, pattern));
    for (const FoundPath& each : found) {
      const std::string directory = root + "/" + each.path;
      if (!files.IsDirectory(directory)) continue;
      RecordedDevice device{.name = DeviceNameOf(StarredName(pattern, each.path)),
                            .path = each.path,
                            .model = ModelOf(files, directory),
                            .kernel_names = KernelNamesOf(each.path)};
      if (device.name.empty() || !names.insert(device.name).second) {
        return FailedPrecondition("{} gives no name of its own for a device", each.path);
      }
      devices.push_back(std::move(device));
    }
  }
  if (devices.empty()) {
    return NotFound("nothing below {} is a device of --pattern {}", root,
                    fmt::join(patterns, ", "));
  }
  return devices;
}

std::vector<std::string> SecretsOf(const SysfsFiles& files, const std::string& directory) {
  std::vector<std::string> secrets;
  for (const char* file : {"serial", "serial_number", "device/serial", "uuid", "unique_id", "wwid",
                           "address", "node_guid", "sys_image_guid", "device/unique_id"}) {
    std::string text = FirstLine(files, directory + "/" + file);
    // A shorter one would be found in texts that have nothing to do with it.
    constexpr std::size_t kSecretBytesLeast = 6;
    if (text.size() >= kSecretBytesLeast) secrets.push_back(std::move(text));
  }
  return secrets;
}

RulesRecorder::RulesRecorder(const SysfsFiles& sysfs, FileSystem& disk, const RuleTable& rules,
                             std::vector<RecordedDevice> devices, Options options)
    : sysfs_(sysfs),
      disk_(disk),
      rules_(rules),
      devices_(std::move(devices)),
      options_(std::move(options)) {
  for (const std::string& secret : options_.secrets) {
    if (secret.empty()) continue;
    hash_of_[Lower(secret)] = fmt::format("hashed-{:016x}", Hash(options_.salt, Lower(secret)));
  }
}

std::string RulesRecorder::WithoutSecrets(std::string text) const {
  for (const auto& [secret, hash] : hash_of_) {
    std::string lower = Lower(text);
    for (std::size_t at = lower.find(secret); at != std::string::npos;
         at = lower.find(secret, at + hash.size())) {
      text.replace(at, secret.size(), hash);
      lower.replace(at, secret.size(), hash);
    }
  }
  return text;
}

Status RulesRecorder::Begin() {
  const StatusOr<std::vector<std::string>> names = disk_.List(options_.directory);
  if (names.ok() && !names->empty()) {
    return AlreadyExists("{} is not empty: a recording needs a directory of its own",
                         options_.directory);
  }
  RETURN_IF_ERROR(disk_.MakeDirectories(options_.directory));
  return Write(options_.directory + "/" + std::string(kRecordingFile),
               WithoutSecrets(WriteRecordedDevices(devices_)));
}

void RulesRecorder::NoteSigns(std::vector<Sign> signs) {
  for (Sign& sign : signs) {
    const SignSpec* spec = rules_.FindSign(sign.name);
    if (spec == nullptr) continue;
    sign.time = {};
    if (spec->kind != SignKind::kEvent) {
      Sign& last = readings_[{sign.device, sign.name}];
      if (last == sign) continue;
      last = sign;
    }
    signs_.push_back(std::move(sign));
  }
}

bool RulesRecorder::NoteKernelRecord(std::string_view bytes) {
  const StatusOr<KernelRecord> record = ParseKernelRecord(bytes);
  if (!record.ok()) return false;
  if (FaultsIn(*record).empty() && FaultsBySigns(*record, rules_.signs).empty()) return false;
  while (bytes.ends_with('\n')) bytes.remove_suffix(1);
  kernel_log_ += WithoutSecrets(std::string(bytes)) + std::string(kRecordEnd);
  return true;
}

void RulesRecorder::ReadFile(const std::string& directory, const std::string& name,
                             const std::string& file, Shown& shown) const {
  const std::string key = name + "/" + file;
  if (shown.contains(key)) return;
  const StatusOr<std::string> text = sysfs_.Read(directory + "/" + file);
  if (text.ok()) {
    shown[key] = WithoutSecrets(*text);
  } else if (text.status().code() != Code::kNotFound) {
    // Not a number, so that a replay finds it unreadable as well.
    shown[key] = fmt::format("cannot be read: {}\n", text.status().message());
  }
}

void RulesRecorder::ReadDevice(const RecordedDevice& device, Shown& shown) const {
  const std::string directory = options_.sysfs_root + "/" + device.path;
  for (const SignSpec& sign : rules_.signs) {
    if (!sign.file) continue;
    const StatusOr<std::vector<FoundPath>> found = FindPaths(sysfs_, directory, sign.file->path);
    if (!found.ok()) continue;
    for (const FoundPath& each : *found) {
      ReadFile(directory, device.name, each.path, shown);
      if (sign.file->expected.empty()) continue;
      ReadFile(directory, device.name, FillStars(sign.file->expected, each.stars), shown);
    }
  }
}

RulesRecorder::Shown RulesRecorder::ReadAll() const {
  Shown shown;
  for (const RecordedDevice& device : devices_) {
    if (device.path.empty()) continue;
    if (!sysfs_.IsDirectory(options_.sysfs_root + "/" + device.path)) continue;
    // A device may have none of the files, and is there all the same.
    shown[device.name + "/.present"] = "";
    ReadDevice(device, shown);
  }
  return shown;
}

Status RulesRecorder::Write(const std::string& path, std::string_view text) {
  bytes_ += text.size();
  if (bytes_ > kRecordedBytesMax) {
    return ResourceExhausted("a recording has at most {} MiB", kRecordedBytesMax >> 20);
  }
  RETURN_IF_ERROR(disk_.MakeDirectories(path.substr(0, path.rfind('/'))));
  return disk_.WriteAtomically(path, text, 0644);
}

Status RulesRecorder::Look(Duration at) {
  Shown shown = ReadAll();
  if (shown == shown_ && signs_.empty() && kernel_log_.empty()) return OkStatus();
  if (steps_ == kRecordedStepsMax) {
    return ResourceExhausted("a recording has at most {} steps", kRecordedStepsMax);
  }
  const std::string step = options_.directory + "/" + StepName(at);
  RETURN_IF_ERROR(disk_.MakeDirectories(step));
  for (const auto& [file, text] : shown) RETURN_IF_ERROR(Write(step + "/" + file, text));
  if (!signs_.empty()) {
    RETURN_IF_ERROR(Write(step + "/" + std::string(kSignsFile),
                          WithoutSecrets(WriteSigns(std::exchange(signs_, {})))));
  }
  if (!kernel_log_.empty()) {
    RETURN_IF_ERROR(
        Write(step + "/" + std::string(kKernelLogFile), std::exchange(kernel_log_, "")));
  }
  shown_ = std::move(shown);
  ++steps_;
  return OkStatus();
}

}  // namespace galen::probes
