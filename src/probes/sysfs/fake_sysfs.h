// A tree of files in memory, in the place of /sys. For tests, on one thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "probes/sysfs/sysfs_files.h"

namespace galen::probes {

class FakeSysfs final : public SysfsFiles {
 public:
  StatusOr<std::string> Read(const std::string& path) const override {
    const auto refused = errors.find(path);
    if (refused != errors.end()) return refused->second;
    const auto file = files.find(path);
    if (file == files.end()) {
      return IsDirectory(path) ? InvalidArgument("{}: is a directory", path)
                               : NotFound("{}: no such file", path);
    }
    if (file->second.size() > kSysfsFileBytesMax) {
      return ResourceExhausted("{}: more than {} bytes", path, kSysfsFileBytesMax);
    }
    return file->second;
  }
  StatusOr<std::vector<std::string>> List(const std::string& directory) const override {
    std::set<std::string> names;
    for (const auto& [path, text] : files) {
      if (!path.starts_with(directory + "/")) continue;
      const std::string rest = path.substr(directory.size() + 1);
      names.insert(rest.substr(0, rest.find('/')));
    }
    if (names.empty()) return NotFound("{}: no such directory", directory);
    return std::vector<std::string>(names.begin(), names.end());
  }
  bool IsDirectory(const std::string& path) const override { return List(path).ok(); }
  std::optional<SysfsDirectory> Open(SysfsDirectory last) const override {
    if (!IsDirectory(last.path)) return std::nullopt;
    if (last.identity) ++opened_again;
    last.identity = SysfsDirectory::Identity{.inode = 1};
    return last;
  }
  std::string Resolve(const std::string& path) const override {
    const auto link = links.find(path);
    if (link != links.end()) return link->second;
    return files.contains(path) || IsDirectory(path) ? path : "";
  }

  void RemoveTree(const std::string& directory) {
    std::erase_if(files, [&](const auto& file) { return file.first.starts_with(directory + "/"); });
  }

  std::map<std::string, std::string> files;  // by path
  std::map<std::string, std::string> links;  // what Resolve() gives
  std::map<std::string, Status> errors;      // files that cannot be read
  mutable int opened_again = 0;              // with what a look before has left
};

}  // namespace galen::probes
