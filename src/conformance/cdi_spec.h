// One file of a CDI directory, judged by the rules of the Container Device Interface: names, edits
// and the version that all it uses needs (github.com/cncf-tags/container-device-interface, SPEC.md
// 1.1.0 and the validation of its Go package, which container runtimes link). Pure, but for
// reading.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "conformance/observations.h"

namespace galen::conformance {

// "vendor.com/class=name", as in an answer to prepare.
struct CdiId {
  std::string kind;
  std::string device;
};
// InvalidArgument says which rule it breaks.
StatusOr<CdiId> ParseCdiId(std::string_view id);

// A vendor, a class: a letter, then letters, digits, "_", "-" and ".", then a letter or digit.
bool IsCdiName(std::string_view name);
// "vendor/class".
bool IsCdiKind(std::string_view kind);
// A device's may begin with a digit and hold ":", too.
bool IsCdiDeviceName(std::string_view name);

// The versions of the specification, oldest first.
const std::vector<std::string>& CdiVersions();

CdiSpecSeen ReadCdiSpec(const std::string& path, std::string_view text);

// All .json and .yaml files of the directories; those that are not there hold none.
std::vector<CdiSpecSeen> ReadCdiDirectories(FileSystem& files,
                                            const std::vector<std::string>& directories);

}  // namespace galen::conformance
