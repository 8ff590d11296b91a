// Paths with stars, as rules and flags name files and directories below a directory.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "probes/sysfs/sysfs_files.h"

namespace galen::probes {

// Something that a pattern names, and what each of its stars stands for.
struct FoundPath {
  std::string path{};  // below the directory that was searched
  std::vector<std::string> stars{};

  bool operator==(const FoundPath&) const = default;
};

// More than any device has sensors, or a machine devices of one pattern.
inline constexpr std::size_t kFoundPathsMax = 256;

// The paths that the pattern names below `directory`, in order of name (2 before 10). A star stands
// for any part of one name; a path without one is given as it is, whether it is there or not. Empty
// when a directory on the way is missing; the file system's error when one cannot be read;
// FailedPrecondition for more than kFoundPathsMax, also on the way: nothing is left out silently.
StatusOr<std::vector<FoundPath>> FindPaths(const SysfsFiles& files, const std::string& directory,
                                           std::string_view pattern);

// The pattern with its stars filled in, in order; `stars` has as many or more.
std::string FillStars(std::string_view pattern, const std::vector<std::string>& stars);

// The names of the path in which the pattern has a star, joined by "-": "mc0", "mlx5_0-1". Without
// a star the last one.
std::string StarredName(std::string_view pattern, std::string_view path);

}  // namespace galen::probes
