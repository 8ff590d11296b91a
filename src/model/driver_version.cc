#include "model/driver_version.h"

#include <algorithm>

namespace galen {
namespace {

// "570.124.06": digits in two groups or more; "1" and "12.2.0)" are refused.
bool IsVersion(std::string_view word) {
  const bool plain = word.find_first_not_of("0123456789.") == std::string_view::npos;
  return plain && word.find('.') != std::string_view::npos && !word.starts_with('.') &&
         !word.ends_with('.');
}

}  // namespace

std::string KernelModuleVersion(std::string_view text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    if (IsVersion(line.substr(at, end - at))) return std::string(line.substr(at, end - at));
    at = end + 1;
  }
  return "";
}

std::string LibraryVersion(std::string_view file) {
  constexpr std::string_view kMark = ".so.";
  const std::string_view name = file.substr(file.rfind('/') + 1);
  const std::size_t mark = name.find(kMark);
  if (mark == std::string_view::npos) return "";
  const std::string_view version = name.substr(mark + kMark.size());
  return IsVersion(version) ? std::string(version) : "";
}

std::vector<std::string> LibraryVersions(const std::vector<std::string>& names) {
  std::vector<std::string> versions;
  for (const std::string& name : names) {
    if (!name.starts_with("libcuda.so.") && !name.starts_with("libnvidia-ml.so.")) continue;
    std::string version = LibraryVersion(name);
    if (version.empty() || std::ranges::find(versions, version) != versions.end()) continue;
    versions.push_back(std::move(version));
  }
  return versions;
}

}  // namespace galen
