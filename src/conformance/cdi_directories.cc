#include "conformance/probes.h"

namespace galen::conformance {

std::vector<CdiSpec> ReadCdiDirectories(FileSystem& files,
                                        const std::vector<std::string>& directories) {
  std::vector<CdiSpec> specs;
  for (const std::string& directory : directories) {
    const StatusOr<std::vector<std::string>> names = files.List(directory);
    if (!names.ok()) continue;
    for (const std::string& name : *names) {
      if (specs.size() >= kCdiFilesMax) return specs;
      if (!name.ends_with(".json") && !name.ends_with(".yaml")) continue;
      const std::string path = directory + "/" + name;
      const StatusOr<std::string> text = files.Read(path);
      if (text.ok()) {
        specs.push_back(ReadCdiSpec(path, *text));
      } else {
        specs.push_back({.path = path, .unreadable = text.status().message()});
      }
    }
  }
  return specs;
}

}  // namespace galen::conformance
