// PCI devices and firmware as sysfs has them.
#include <fnmatch.h>

#include <algorithm>

#include "doctor/probes/probes.h"

namespace galen::doctor {
namespace {

StatusOr<std::map<std::string, std::set<std::string>>> PciDevices(FileSystem& files,
                                                                  const std::string& sysfs) {
  const std::string bus = sysfs + "/bus/pci/devices";
  ASSIGN_OR_RETURN(const std::vector<std::string> addresses, files.List(bus));
  std::map<std::string, std::set<std::string>> found;
  for (const std::string& address : addresses) {
    const std::string place = bus + "/" + address;
    const std::string vendor = PciNumber(files, place + "/vendor");
    const std::string device = PciNumber(files, place + "/device");
    if (!vendor.empty() && !device.empty()) found[vendor + ":" + device].insert(address);
  }
  return found;
}

// Paths below `root` that match `pattern`, whose stars match within one name, in order.
void FindFiles(FileSystem& files, const std::string& root, const std::string& before,
               const std::string& pattern, std::vector<std::string>& found) {
  const std::size_t end = std::min(pattern.find('/'), pattern.size());
  const std::string segment = pattern.substr(0, end);
  std::vector<std::string> names = {segment};
  if (segment.find('*') != std::string::npos) {
    const std::string directory = root + "/" + before;
    StatusOr<std::vector<std::string>> listed =
        files.List(directory.substr(0, directory.size() - 1));
    if (!listed.ok()) return;
    names = *std::move(listed);
    std::ranges::sort(names);
  }
  for (const std::string& name : names) {
    if (found.size() >= kFirmwareFilesMax) return;
    if (::fnmatch(segment.c_str(), name.c_str(), FNM_PERIOD | FNM_NOESCAPE) != 0) continue;
    if (end == pattern.size()) {
      found.push_back(before + name);
    } else {
      FindFiles(files, root, before + name + "/", pattern.substr(end + 1), found);
    }
  }
}

// Without the newline and spaces that sysfs adds.
StatusOr<std::string> FirmwareIn(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, files.Read(path));
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string::npos) return DataLoss("{} is empty", path);
  return text.substr(first, text.find_last_not_of(" \t\n") + 1 - first);
}

}  // namespace

std::string PciNumber(FileSystem& files, const std::string& path) {
  const StatusOr<std::string> text = files.Read(path);
  if (!text.ok()) return "";
  const std::string line = text->substr(0, text->find('\n'));
  return line.starts_with("0x") ? line.substr(2) : line;
}

ExpectedSeen LookForExpected(FileSystem& files, const KernelPlaces& places, Expectations wanted) {
  ExpectedSeen seen;
  seen.pci = PciDevices(files, places.sysfs);
  for (const ExpectedFirmware& firmware : wanted.firmware) {
    if (firmware.files.empty()) continue;
    std::vector<std::string> paths;
    FindFiles(files, places.sysfs, "", firmware.files, paths);
    std::vector<FirmwareSeen>& found = seen.firmware[firmware.files];
    for (const std::string& path : paths) {
      StatusOr<std::string> version = FirmwareIn(files, places.sysfs + "/" + path);
      if (version.status().code() == Code::kNotFound) continue;
      found.push_back({.path = path, .version = std::move(version)});
    }
  }
  seen.wanted = std::move(wanted);
  return seen;
}

}  // namespace galen::doctor
