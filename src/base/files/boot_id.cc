#include "base/files/boot_id.h"

#include <charconv>
#include <cstdint>

namespace galen {
namespace {

constexpr const char* kStatPath = "/proc/stat";

}  // namespace

StatusOr<std::string> ReadBootId(FileSystem& files) {
  ASSIGN_OR_RETURN(const std::string text, files.Read(std::string(kBootIdPath)));
  std::string id = text.substr(0, text.find('\n'));
  if (id.empty()) return DataLoss("{} is empty", kBootIdPath);
  return id;
}

std::optional<WallTime> ReadBootTime(FileSystem& files) {
  constexpr std::string_view kName = "\nbtime ";
  const StatusOr<std::string> stat = files.Read(kStatPath);
  if (!stat.ok()) return std::nullopt;
  const std::size_t at = stat->find(kName);
  if (at == std::string::npos) return std::nullopt;
  const std::string_view rest = std::string_view(*stat).substr(at + kName.size());
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), seconds);
  if (error != std::errc() || seconds <= 0) return std::nullopt;
  return WallTime(std::chrono::seconds(seconds));
}

}  // namespace galen
