#include <fmt/ranges.h>

#include "base/text.h"
#include "doctor/check.h"
#include "doctor/probes/probes.h"
#include "model/cdi_spec.h"

namespace galen::doctor {
namespace {

// Why a runtime ignores the file; "" when it accepts it.
std::string FaultOfSpec(const CdiSpec& spec) {
  if (!spec.unreadable.empty()) return spec.unreadable;
  if (spec.cdi_version.empty()) return "it has no cdiVersion";
  if (!IsCdiVersion(spec.cdi_version)) {
    return fmt::format("cdiVersion \"{}\" is no version", Shown(spec.cdi_version));
  }
  if (!IsCdiKind(spec.kind)) {
    return fmt::format("kind \"{}\" is not vendor/class", Shown(spec.kind));
  }
  if (!spec.faults.empty()) return spec.faults.front();
  if (IsCdiVersionEnough(spec)) return "";
  return fmt::format("cdiVersion is {}, and what it uses came with {}", spec.cdi_version,
                     spec.least_version);
}

}  // namespace

CdiFile ReadCdiFile(const std::string& path, std::string_view text) {
  const CdiSpec spec = ReadCdiSpec(path, text);
  CdiFile file{.path = path, .fault = FaultOfSpec(spec), .ids = {}};
  if (!file.fault.empty()) return file;
  for (const std::string& device : spec.devices) file.ids.insert(spec.kind + "=" + device);
  return file;
}

StatusOr<std::vector<CdiFile>> ReadCdiFiles(FileSystem& files,
                                            const std::vector<std::string>& directories) {
  std::vector<CdiFile> read;
  bool any = false;
  for (const std::string& directory : directories) {
    const StatusOr<std::vector<std::string>> names = files.List(directory);
    if (names.status().code() == Code::kNotFound) continue;
    if (!names.ok()) return names.status();
    any = true;
    for (const std::string& name : *names) {
      if (!name.ends_with(".json") && !name.ends_with(".yaml")) continue;
      if (read.size() >= kCdiFilesMax) return ResourceExhausted("more than {} files", kCdiFilesMax);
      const std::string path = directory + "/" + name;
      const StatusOr<std::string> text = files.Read(path);
      if (text.status().code() == Code::kNotFound) continue;  // it was removed meanwhile
      if (!text.ok()) return text.status();
      read.push_back(ReadCdiFile(path, *text));
    }
  }
  if (!any) return NotFound("none of {} is there", fmt::join(directories, ", "));
  return read;
}

}  // namespace galen::doctor
