#include "doctor/cdi_probe.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/yaml.h"
#include "doctor/check.h"

namespace galen::doctor {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Letters, digits and `others`; the last one a letter or digit.
bool IsName(std::string_view name, std::string_view others) {
  return !name.empty() && (IsLetter(name.back()) || IsDigit(name.back())) &&
         std::ranges::all_of(name, [&](char c) {
           return IsLetter(c) || IsDigit(c) || others.find(c) != std::string_view::npos;
         });
}

// "vendor.com/class", each beginning with a letter.
bool IsKind(std::string_view kind) {
  const std::size_t slash = kind.find('/');
  if (slash == std::string_view::npos || slash + 1 == kind.size() || slash == 0) return false;
  return IsLetter(kind[0]) && IsLetter(kind[slash + 1]) && IsName(kind.substr(0, slash), "_-.") &&
         IsName(kind.substr(slash + 1), "_-.");
}

bool IsDeviceName(std::string_view name) {
  return IsName(name, "_-.:") && (IsLetter(name[0]) || IsDigit(name[0]));
}

// The first rule that an edit breaks; "" when it keeps all.
std::string FaultOfEdits(const Json& edits) {
  for (const Json& variable : edits["env"].items()) {
    const std::size_t equals = variable.AsString().find('=');
    if (equals == std::string::npos || equals == 0) {
      return fmt::format("env \"{}\" is not NAME=value", Shown(variable.AsString()));
    }
  }
  for (const Json& node : edits["deviceNodes"].items()) {
    if (node["path"].AsString().empty()) return "a device node has no path";
  }
  for (const Json& mount : edits["mounts"].items()) {
    if (mount["hostPath"].AsString().empty() || mount["containerPath"].AsString().empty()) {
      return "a mount lacks hostPath or containerPath";
    }
  }
  for (const Json& hook : edits["hooks"].items()) {
    if (hook["hookName"].AsString().empty() || hook["path"].AsString().empty()) {
      return "a hook lacks hookName or path";
    }
  }
  return "";
}

// The first rule that a device breaks; its id is added to the file's when it breaks none.
std::string FaultOfDevice(const Json& device, const std::string& kind, CdiFile& file) {
  const std::string& name = device["name"].AsString();
  if (!IsDeviceName(name)) return fmt::format("device name \"{}\"", Shown(name));
  if (!file.ids.insert(kind + "=" + name).second) {
    return fmt::format("device {} is there twice", Shown(name));
  }
  if (device["containerEdits"].members().empty()) {
    return fmt::format("device {} has no containerEdits", Shown(name));
  }
  return FaultOfEdits(device["containerEdits"]);
}

std::string FaultOf(const Json& spec, CdiFile& file) {
  if (!spec.is_object()) return "it is no object";
  if (spec["cdiVersion"].AsString().empty()) return "it has no cdiVersion";
  const std::string& kind = spec["kind"].AsString();
  if (!IsKind(kind)) return fmt::format("kind \"{}\" is not vendor/class", Shown(kind));
  if (spec["devices"].items().empty()) return "it has no devices";
  for (const Json& device : spec["devices"].items()) {
    if (std::string fault = FaultOfDevice(device, kind, file); !fault.empty()) return fault;
  }
  return FaultOfEdits(spec["containerEdits"]);
}

}  // namespace

CdiFile ReadCdiFile(const std::string& path, std::string_view text) {
  CdiFile file{.path = path, .fault = "", .ids = {}};
  const StatusOr<Json> spec = path.ends_with(".yaml") ? ParseYaml(text) : Json::Parse(text);
  file.fault = spec.ok() ? FaultOf(*spec, file) : spec.status().message();
  // A runtime takes nothing of a file that is broken.
  if (!file.fault.empty()) file.ids.clear();
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
      if (text.status().code() == Code::kNotFound) continue;  // it went away meanwhile
      if (!text.ok()) return text.status();
      read.push_back(ReadCdiFile(path, *text));
    }
  }
  if (!any) return NotFound("none of {} is there", fmt::join(directories, ", "));
  return read;
}

}  // namespace galen::doctor
