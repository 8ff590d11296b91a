#include "probes/sysfs/file_pattern.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"

namespace galen::probes {
namespace {

// Takes the first segment off a path.
std::string_view TakeSegment(std::string_view& path) {
  const std::string_view segment = path.substr(0, path.find('/'));
  path.remove_prefix(std::min(segment.size() + 1, path.size()));
  return segment;
}

std::string Join(const std::string& directory, std::string_view name) {
  return directory.empty() ? std::string(name) : directory + "/" + std::string(name);
}

// The text that the star of the segment stands for in the name; nullopt when it does not match.
std::optional<std::string> MatchStar(std::string_view segment, std::string_view name) {
  const std::size_t star = segment.find('*');
  const std::string_view before = segment.substr(0, star), after = segment.substr(star + 1);
  if (name.size() < before.size() + after.size()) return std::nullopt;
  if (!name.starts_with(before) || !name.ends_with(after)) return std::nullopt;
  return std::string(name.substr(before.size(), name.size() - before.size() - after.size()));
}

// Numbers by value, so that mc10 comes after mc2.
bool StarBefore(const std::string& a, const std::string& b) {
  return std::pair(LeadingNumber(a), a) < std::pair(LeadingNumber(b), b);
}

// The paths that a segment with a star names in the directory of one path found so far.
Status Extend(const SysfsFiles& files, const std::string& root, const FoundPath& from,
              std::string_view segment, std::vector<FoundPath>& found) {
  const StatusOr<std::vector<std::string>> names =
      files.List(from.path.empty() ? root : root + "/" + from.path);
  if (!names.ok()) return names.status().code() == Code::kNotFound ? OkStatus() : names.status();
  for (const std::string& name : *names) {
    std::optional<std::string> star = MatchStar(segment, name);
    if (!star) continue;
    if (found.size() >= kFoundPathsMax) {
      return FailedPrecondition("more than {} files match, write a narrower pattern",
                                kFoundPathsMax);
    }
    FoundPath next{Join(from.path, name), from.stars};
    next.stars.push_back(*std::move(star));
    found.push_back(std::move(next));
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::vector<FoundPath>> FindPaths(const SysfsFiles& files, const std::string& directory,
                                           std::string_view pattern) {
  std::vector<FoundPath> found{{}};
  std::string_view rest = pattern;
  while (!rest.empty()) {
    const std::string_view segment = TakeSegment(rest);
    if (segment.find('*') == std::string_view::npos) {
      for (FoundPath& each : found) each.path = Join(each.path, segment);
      continue;
    }
    std::vector<FoundPath> next;
    for (const FoundPath& each : found) {
      const Status status = Extend(files, directory, each, segment, next);
      if (status.code() == Code::kFailedPrecondition) {
        return FailedPrecondition("{}: {}", pattern, status.message());
      }
      RETURN_IF_ERROR(status);
    }
    found = std::move(next);
  }
  std::ranges::stable_sort(found, [](const FoundPath& a, const FoundPath& b) {
    return std::ranges::lexicographical_compare(a.stars, b.stars, StarBefore);
  });
  return found;
}

std::string FillStars(std::string_view pattern, const std::vector<std::string>& stars) {
  std::string filled;
  std::size_t next = 0;
  for (const char c : pattern) {
    if (c == '*' && next < stars.size()) {
      filled += stars[next++];
    } else {
      filled += c;
    }
  }
  return filled;
}

std::string StarredName(std::string_view pattern, std::string_view path) {
  std::string name;
  std::string_view last;
  while (!path.empty()) {
    const std::string_view segment = TakeSegment(pattern);
    last = TakeSegment(path);
    if (segment.find('*') == std::string_view::npos) continue;
    name += (name.empty() ? "" : "-") + std::string(last);
  }
  return name.empty() ? std::string(last) : name;
}

}  // namespace galen::probes
