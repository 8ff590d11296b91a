// The features of a node, as Node Feature Discovery names them.
#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "doctor/probes/probes.h"

namespace galen::doctor {
namespace {

// NFD's names of processor makers, by "vendor_id" of /proc/cpuinfo.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kMakers = {
    {{"GenuineIntel", "Intel"}, {"AuthenticAMD", "AMD"}}};

// The value of a line "name : value" for the first processor.
std::optional<std::string> CpuField(const std::string& cpuinfo, std::string_view name) {
  std::istringstream lines(cpuinfo);
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    if (key == name) return line.substr(colon + 2);
  }
  return std::nullopt;
}

// Adds nothing for a processor whose maker's NFD name is not known here.
void AddCpu(const std::string& cpuinfo, NodeFeatures& features) {
  const std::string vendor = CpuField(cpuinfo, "vendor_id").value_or("");
  for (const auto& [kernels, nfds] : kMakers) {
    if (vendor != kernels) continue;
    std::map<std::string, std::string>& model = features.attributes["cpu.model"];
    model["vendor_id"] = nfds;
    if (const auto family = CpuField(cpuinfo, "cpu family")) model["family"] = *family;
    if (const auto id = CpuField(cpuinfo, "model")) model["id"] = *id;
  }
}

// "6.1.0-18-amd64": the first three numbers have names of their own.
void AddKernel(const std::string& release, NodeFeatures& features) {
  std::map<std::string, std::string>& version = features.attributes["kernel.version"];
  version["full"] = release;
  std::size_t at = 0;
  for (const char* part : {"major", "minor", "revision"}) {
    const std::size_t end = std::min(release.find_first_not_of("0123456789", at), release.size());
    if (end == at) return;
    version[part] = release.substr(at, end - at);
    if (end == release.size() || release[end] != '.') return;
    at = end + 1;
  }
}

// The class without its last two digits, which name a programming interface.
std::map<std::string, std::string> PciDevice(FileSystem& files, const std::string& place) {
  std::map<std::string, std::string> device;
  for (const char* name : {"vendor", "device", "subsystem_vendor", "subsystem_device", "class"}) {
    std::string value = PciNumber(files, place + "/" + name);
    if (value.empty()) continue;
    if (std::string_view(name) == "class") value = value.substr(0, 4);
    device[name] = std::move(value);
  }
  return device;
}

}  // namespace

NodeFeatures LookAtFeatures(FileSystem& files, const KernelPlaces& places) {
  NodeFeatures features;
  if (const auto release = files.Read(places.proc + "/sys/kernel/osrelease"); release.ok()) {
    AddKernel(release->substr(0, release->find('\n')), features);
  }
  if (const auto cpuinfo = files.Read(places.proc + "/cpuinfo"); cpuinfo.ok()) {
    AddCpu(*cpuinfo, features);
  }
  if (const auto modules = files.Read(places.proc + "/modules"); modules.ok()) {
    std::set<std::string>& loaded = features.flags["kernel.loadedmodule"];
    std::istringstream lines(*modules);
    for (std::string line; std::getline(lines, line);)
      loaded.insert(line.substr(0, line.find(' ')));
  }
  const std::string bus = places.sysfs + "/bus/pci/devices";
  if (const auto addresses = files.List(bus); addresses.ok()) {
    auto& devices = features.instances["pci.device"];
    for (const std::string& address : *addresses) {
      devices.push_back(PciDevice(files, bus + "/" + address));
    }
  }
  return features;
}

}  // namespace galen::doctor
