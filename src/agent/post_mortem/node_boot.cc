#include "agent/post_mortem/node_boot.h"

#include <charconv>
#include <string_view>

namespace galen::agent {
namespace {

constexpr const char* kStatPath = "/proc/stat";

std::optional<WallTime> BootTimeOf(std::string_view stat) {
  constexpr std::string_view kName = "\nbtime ";
  const std::size_t at = stat.find(kName);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = stat.substr(at + kName.size());
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), seconds);
  if (error != std::errc() || seconds <= 0) return std::nullopt;
  return WallTime(std::chrono::seconds(seconds));
}

}  // namespace

NodeBoot ReadNodeBoot(FileSystem& files) {
  NodeBoot boot;
  if (StatusOr<std::string> id = files.Read(kBootIdPath); id.ok()) {
    boot.id = id->substr(0, id->find('\n'));
  }
  if (const StatusOr<std::string> stat = files.Read(kStatPath); stat.ok()) {
    boot.time = BootTimeOf(*stat);
  }
  return boot;
}

}  // namespace galen::agent
