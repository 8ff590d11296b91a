// One file of a CDI directory, judged as container runtimes do: by the rules of the Container
// Device Interface for names, edits and the version that all it uses needs
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

// What a file says. Texts in `faults` and `relative_paths` are fit to be shown to a person.
struct CdiSpec {
  std::string path;
  std::string unreadable;  // why it is no JSON or YAML object; "" = it is
  std::string cdi_version, kind;
  std::vector<std::string> devices;  // names, in order
  // Limit of edits and structure, at most eight. For one of these, a bad kind or version, a runtime
  // leaves the whole file out.
  std::vector<std::string> faults;
  // Paths that a runtime takes from the file and its container then fails on; at most eight.
  std::vector<std::string> relative_paths;
  std::string least_version;  // that knows all it uses
};

// `path` decides between YAML and JSON, by its end.
CdiSpec ReadCdiSpec(const std::string& path, std::string_view text);

// The two halves of "vendor.com/class=name", as in an answer to prepare.
struct CdiIdParts {
  std::string kind;
  std::string device;
};
// InvalidArgument says which rule it breaks.
StatusOr<CdiIdParts> ParseCdiId(std::string_view id);

// A vendor, a class: a letter, then letters, digits, "_", "-" and ".", then a letter or digit.
bool IsCdiName(std::string_view name);
// "vendor/class".
bool IsCdiKind(std::string_view kind);
// A device's may begin with a digit and hold ":", too.
bool IsCdiDeviceName(std::string_view name);

// Three numbers: "0.6.0". One that is unknown here may be younger than this Galen.
bool IsCdiVersion(std::string_view text);
// Whether a file may use what it uses, by its version. A version that is unknown here may.
bool IsCdiVersionEnough(const CdiSpec& spec);

}  // namespace galen
