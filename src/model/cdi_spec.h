// One file of a CDI directory, judged as container runtimes do: by the rules of the Container
// Device Interface for names, edits and the version that its contents need
// (github.com/cncf-tags/container-device-interface, SPEC.md 1.1.0 and the validation of its Go
// package, which container runtimes link). A value; reading it is pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace galen {

// CDI files of a node that are looked at: a driver writes one a claim, and one for itself.
inline constexpr std::size_t kCdiFilesMax = 4096;

// The content of a file. Texts in `faults` and `relative_paths` are fit to be shown to a person.
struct CdiSpec {
  std::string path;
  std::string unreadable;  // why it is no JSON or YAML object; "" = it is
  std::string cdi_version, kind;
  std::vector<std::string> devices;  // names, in order
  // Faults of edits and structure, at most eight. For any of them, or a bad kind or version, a
  // runtime ignores the whole file.
  std::vector<std::string> faults;
  // Relative paths: a runtime accepts them, and the container then fails; at most eight.
  std::vector<std::string> relative_paths;
  std::string least_version;  // the oldest that allows all its contents
};

// The end of `path` decides between YAML and JSON.
CdiSpec ReadCdiSpec(const std::string& path, std::string_view text);

// The two halves of "vendor.com/class=name", as in an answer to prepare.
struct CdiIdParts {
  std::string kind;
  std::string device;
};
// InvalidArgument says which rule it breaks.
StatusOr<CdiIdParts> ParseCdiId(std::string_view id);

// Whether it can name a vendor or a class: a letter, then letters, digits, "_", "-" and ".", then a
// letter or digit.
bool IsCdiName(std::string_view name);
// "vendor/class".
bool IsCdiKind(std::string_view kind);
// Whether it can name a device: as a vendor, but it may begin with a digit and hold ":".
bool IsCdiDeviceName(std::string_view name);

// Three numbers: "0.6.0". One that is unknown here may be younger than this Galen.
bool IsCdiVersion(std::string_view text);
// Whether the file's version allows all that it uses; an unknown version does.
bool IsCdiVersionEnough(const CdiSpec& spec);

}  // namespace galen
