#include "sdk/claims/cdi_store.h"

#include <fmt/format.h>

namespace galen::sdk {
namespace {

// Container runtimes need not run as root to read them.
constexpr unsigned kFileMode = 0644;

}  // namespace

CdiStore::CdiStore(FileSystem& files, std::string root, std::string driver)
    : files_(files), root_(std::move(root)), driver_(std::move(driver)) {}

Status CdiStore::Write(std::string_view claim_uid, const ClaimEdits& edits) {
  const std::string path = PathOf(claim_uid);
  const std::string text = MakeCdiSpec(driver_, claim_uid, edits).DumpPretty() + "\n";
  // Container runtimes watch the directory and read it again for each change.
  if (const StatusOr<std::string> now = files_.Read(path); now.ok() && *now == text) {
    return OkStatus();
  }
  RETURN_IF_ERROR(Annotate(files_.MakeDirectories(root_), "make the CDI directory"));
  return Annotate(files_.WriteAtomically(path, text, kFileMode), "write the CDI file {}", path);
}

Status CdiStore::Remove(std::string_view claim_uid) {
  const std::string path = PathOf(claim_uid);
  return Annotate(files_.Remove(path), "remove the CDI file {}", path);
}

StatusOr<std::vector<std::string>> CdiStore::Claims() {
  const StatusOr<std::vector<std::string>> names = files_.List(root_);
  if (!names.ok() && names.status().code() == Code::kNotFound) return std::vector<std::string>();
  if (!names.ok()) return Annotate(names.status(), "list the CDI directory {}", root_);
  const std::string prefix = fmt::format("{}-claim_", driver_);
  constexpr std::string_view kSuffix = ".json";
  std::vector<std::string> claims;
  for (const std::string& name : *names) {
    if (!name.starts_with(prefix) || !name.ends_with(kSuffix)) continue;
    claims.push_back(name.substr(prefix.size(), name.size() - prefix.size() - kSuffix.size()));
  }
  return claims;
}

std::string CdiStore::PathOf(std::string_view claim_uid) const {
  return root_ + "/" + CdiFileName(driver_, claim_uid);
}

}  // namespace galen::sdk
