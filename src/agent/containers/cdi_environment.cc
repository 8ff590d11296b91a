#include "agent/containers/cdi_environment.h"

#include <fmt/ranges.h>

#include <set>

#include "base/data/json.h"
#include "base/data/yaml.h"
#include "base/text.h"

namespace galen::agent {
namespace {

// A device by its whole name, and the file that has it.
struct Found {
  Json device;
  std::string path;
  Json edits;  // of the whole file
};

void PutVariables(const Json& edits, std::map<std::string, std::string>& variables) {
  for (const Json& line : edits["env"].items()) {
    const std::string& text = line.AsString();
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
}

// Null for a file that cannot be read: half of one that is being written, or none of ours.
Json ReadSpec(FileSystem& files, const std::string& path) {
  const StatusOr<std::string> text = files.Read(path);
  if (!text.ok()) return {};
  const StatusOr<Json> spec = path.ends_with(".json") ? Json::Parse(*text) : ParseYaml(*text);
  return spec.ok() ? *spec : Json();
}

void LookInto(FileSystem& files, const std::string& directory, const std::set<std::string>& wanted,
              std::map<std::string, Found>& found) {
  const StatusOr<std::vector<std::string>> names = files.List(directory);
  if (!names.ok()) return;
  std::size_t looked_at = 0;
  for (const std::string& name : *names) {
    const bool spec_file = name.ends_with(".json") || name.ends_with(".yaml");
    if (!spec_file || ++looked_at > kCdiFilesMax) continue;
    const std::string path = directory + "/" + name;
    const Json spec = ReadSpec(files, path);
    for (const Json& device : spec["devices"].items()) {
      const std::string id = spec["kind"].AsString() + "=" + device["name"].AsString();
      if (wanted.contains(id)) found[id] = {device, path, spec["containerEdits"]};
    }
  }
}

}  // namespace

StatusOr<std::map<std::string, std::string>> CdiEnvironment(
    FileSystem& files, const std::vector<std::string>& directories,
    const std::vector<std::string>& devices) {
  std::map<std::string, std::string> variables;
  if (devices.empty()) return variables;
  const std::set<std::string> wanted(devices.begin(), devices.end());
  std::map<std::string, Found> found;
  for (const std::string& directory : directories) LookInto(files, directory, wanted, found);
  std::set<std::string> files_used;
  for (const std::string& id : devices) {
    const auto device = found.find(id);
    if (device == found.end()) {
      return NotFound("CDI device {} is in no file of {}: its driver must write it there",
                      Printable(id), fmt::join(directories, ", "));
    }
    if (files_used.insert(device->second.path).second) {
      PutVariables(device->second.edits, variables);
    }
  }
  for (const std::string& id : devices) {
    PutVariables(found.at(id).device["containerEdits"], variables);
  }
  return variables;
}

}  // namespace galen::agent
