#include "probes/recording/recording_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "probes/rules/sign_value.h"
#include "probes/sysfs/file_pattern.h"

namespace galen::probes {
namespace {

// The device that a fault of the kernel's log names: all devices where it names none, "" for a
// device that is not ours.
std::string DeviceOf(const KernelFault& fault, const std::vector<RecordedDevice>& devices) {
  if (fault.pci_address.empty() && fault.kernel_name.empty()) return std::string(kEveryDevice);
  for (const RecordedDevice& device : devices) {
    for (const std::string& name : device.kernel_names) {
      const bool named = !fault.kernel_name.empty()    ? name == fault.kernel_name
                         : !fault.pci_function.empty() ? name == fault.pci_function
                                                       : PciSlot(name) == fault.pci_address;
      if (named) return device.name;
    }
  }
  return "";
}

// The text of a step's file; "" when it has none.
StatusOr<std::string> ReadIfThere(const SysfsFiles& files, const std::string& path) {
  StatusOr<std::string> text = files.Read(path);
  if (text.status().code() == Code::kNotFound) return std::string();
  return text;
}

// Written by an editor of another system; the kernel ends its lines by LF alone.
constexpr std::string_view kForeignLineEnd = "\r\n";

}  // namespace

void RecordingReader::Note(const std::string& about, std::string note) {
  if (noted_.insert(about).second) notes_.push_back(std::move(note));
}

void RecordingReader::NoteBesideSteps(const std::string& name) {
  if (name == kSignsFile || name == kKernelLogFile) {
    Note(name, fmt::format("{}/{} counts for nothing: it belongs into a step, such as 0s/{}",
                           directory_, Shown(name), name));
  } else if (name.starts_with("recording") && name != kRecordingFile) {
    Note(name, fmt::format("{}/{} counts for nothing: the file is called {}", directory_,
                           Shown(name), kRecordingFile));
  }
}

void RecordingReader::NoteUnforeseen(const std::string& path, const Sign& sign,
                                     const SignSpec& spec) {
  const std::optional<double> number = NumberOf(sign);
  if (!number || spec.among.empty() || !sign.error.empty() || sign.absent) return;
  if (std::ranges::find(spec.among, NumberText(*number)) != spec.among.end()) return;
  Note(path + sign.name + sign.device,
       fmt::format(
           "{}: {} of {} is {}, which is not a value that the table has: {}; it is played all "
           "the same",
           path, sign.name, Shown(sign.device), NumberText(*number), PossibleValues(spec)));
}

StatusOr<std::vector<Sign>> RecordingReader::SignsOf(const std::string& step) {
  std::vector<Sign> signs;
  const std::string path = fmt::format("{}/{}/{}", directory_, step, kSignsFile);
  ASSIGN_OR_RETURN(const std::string text, ReadIfThere(files_, path));
  if (!text.empty()) {
    ASSIGN_OR_RETURN(signs, ReadSigns(text, path, rules_));
  }
  for (const Sign& sign : signs) {
    if (const SignSpec* spec = rules_.FindSign(sign.name)) {
      NoteUnforeseen(path, sign, *spec);
      continue;
    }
    Note(path + sign.name, fmt::format("{}: no rule knows the sign {}", path, Shown(sign.name)));
  }
  const std::string log_path = fmt::format("{}/{}/{}", directory_, step, kKernelLogFile);
  ASSIGN_OR_RETURN(const std::string log, ReadIfThere(files_, log_path));
  RETURN_IF_ERROR(AddKernelSigns(log_path, log, signs));
  return signs;
}

Status RecordingReader::AddKernelSigns(const std::string& path, std::string_view log,
                                       std::vector<Sign>& signs) {
  const auto lines = [](std::string_view text) {
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
  };
  if (const std::size_t at = log.find(kForeignLineEnd); at != std::string_view::npos) {
    return InvalidArgument("{}:{}: the line ends in CR LF; the kernel's end in LF alone", path,
                           1 + lines(log.substr(0, at)));
  }
  std::size_t line = 1;
  for (int number = 1; !log.empty(); ++number) {
    const std::string_view bytes = log.substr(0, log.find(kRecordEnd));
    const std::string place = fmt::format("{}:{}: record {}", path, line, number);
    const StatusOr<KernelRecord> record = ParseKernelRecord(bytes);
    if (record.ok()) {
      AddRecord(*record, place, signs);
    } else if (bytes.find_first_not_of('\n') != std::string_view::npos) {
      // A broken record; line ends alone are only the end of the file.
      Note(place, fmt::format("{} is passed over: {}", place, record.status().message()));
    }
    const std::size_t taken = std::min(bytes.size() + kRecordEnd.size(), log.size());
    line += lines(log.substr(0, taken));
    log.remove_prefix(taken);
  }
  return OkStatus();
}

void RecordingReader::AddRecord(const KernelRecord& record, const std::string& place,
                                std::vector<Sign>& signs) {
  std::vector<KernelFault> faults = FaultsIn(record);
  for (KernelFault& fault : FaultsBySigns(record, rules_.signs)) faults.push_back(fault);
  if (faults.empty()) {
    const bool of_device =
        record.properties.contains("SUBSYSTEM") && record.properties.contains("DEVICE");
    Note(place, fmt::format("{} is passed over: {}", place,
                            of_device ? "it is not a sign of the table"
                                      : "it has no SUBSYSTEM and DEVICE, which say what device "
                                        "it is about"));
  }
  for (const KernelFault& fault : faults) {
    std::string device = DeviceOf(fault, devices_);
    if (device.empty()) {
      Note(place,
           fmt::format("{} is passed over: it is about {}, which {} has in no kernelNames", place,
                       !fault.kernel_name.empty()    ? fault.kernel_name
                       : !fault.pci_function.empty() ? fault.pci_function
                                                     : fault.pci_address,
                       kRecordingFile));
      continue;
    }
    if (rules_.FindSign(fault.sign) == nullptr) {
      Note(place, fmt::format("{} is passed over: no rule knows the sign {}", place, fault.sign));
    }
    signs.push_back({.device = std::move(device),
                     .name = fault.sign,
                     .value = fault.value,
                     .detail = fault.detail,
                     .part = fault.part,
                     .raw = fault.raw});
  }
}

StatusOr<std::map<std::string, DeviceLook>> RecordingReader::LooksOf(const std::string& step) {
  const std::string root = directory_ + "/" + step;
  const std::vector<const SignSpec*> signs = WithFiles(rules_.signs);
  std::map<std::string, DeviceLook> looks;
  // An empty directory is a step in which no device is there.
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files_.List(root));
  for (const std::string& name : names) {
    if (files_.IsDirectory(root + "/" + name)) {
      CheckFiles(step, name);
      looks[name] = LookAtDevice(files_, root + "/" + name, signs,
                                 [](const std::string&, const std::string&) {});
    } else if (name != kSignsFile && name != kKernelLogFile) {
      Note(name, fmt::format("{}/{} counts for nothing: a step has {}, {} and a directory for each "
                             "device",
                             root, Shown(name), kSignsFile, kKernelLogFile));
    }
  }
  return looks;
}

std::set<std::string> RecordingReader::FilesThatAreRead(const std::string& root) const {
  std::set<std::string> read;
  for (const SignSpec& sign : rules_.signs) {
    if (!sign.file) continue;
    for (const std::string& pattern : {sign.file->path, sign.file->expected}) {
      const auto found = FindPaths(files_, root, pattern);
      // Too many of them make the sign unknown, which the replay says.
      if (!found.ok()) continue;
      for (const FoundPath& each : *found) read.insert(each.path);
    }
  }
  return read;
}

void RecordingReader::CheckFiles(const std::string& step, const std::string& device) {
  const std::string root = fmt::format("{}/{}/{}", directory_, step, device);
  const auto row = std::ranges::find(devices_, device, &RecordedDevice::name);
  if (row == devices_.end()) {
    if (!devices_.empty()) {
      Note(device, fmt::format("{} is not a device of {}, and is played as one more", root,
                               kRecordingFile));
    }
  } else if (row->path.empty()) {
    return Note(device, fmt::format("{} counts for nothing: {} gives {} no path", root,
                                    kRecordingFile, Shown(device)));
  }
  CheckFilesBelow(root, "", FilesThatAreRead(root), device);
}

void RecordingReader::CheckFilesBelow(const std::string& root, const std::string& path,
                                      const std::set<std::string>& read,
                                      const std::string& device) {
  // Deeper than any pattern of a table.
  constexpr std::ptrdiff_t kDepthMax = 16;
  const StatusOr<std::vector<std::string>> names = files_.List(root + path);
  if (!names.ok() || std::ranges::count(path, '/') > kDepthMax) return;
  for (const std::string& name : *names) {
    // As a recorder leaves one in a device without any other, so that it has a directory.
    if (name.starts_with('.')) continue;
    const std::string file = path + "/" + name;
    if (files_.IsDirectory(root + file)) {
      CheckFilesBelow(root, file, read, device);
      continue;
    }
    if (!read.contains(file.substr(1))) {
      Note(device + file,
           fmt::format("{}{} counts for nothing: no sign of the table reads it", root, file));
    } else if (const auto text = files_.Read(root + file); text.ok()) {
      const std::size_t at = text->find(kForeignLineEnd);
      if (at == std::string::npos) continue;
      Note(device + file + "\r",
           fmt::format("{}{}:{}: the line ends in CR LF; the kernel's end in LF alone", root, file,
                       1 + std::ranges::count(text->substr(0, at), '\n')));
    }
  }
}

}  // namespace galen::probes
