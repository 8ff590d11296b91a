#include <fmt/format.h>

#include <set>

#include "base/files/temporary_files.h"
#include "model/cdi_spec.h"
#include "sdk/claims/claim_preparer.h"

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
  // Unchanged files are not written: runtimes watch the directory and reread it after each change.
  if (const StatusOr<std::string> now = files_.Read(path); now.ok() && *now == text) {
    return OkStatus();
  }
  RETURN_IF_ERROR(Annotate(files_.MakeDirectories(root_), "make the CDI directory"));
  return Annotate(files_.WriteAtomically(path, text, kFileMode), "write the CDI file {}", path);
}

StatusOr<std::vector<std::string>> CdiStore::DevicesOf(std::string_view claim_uid) const {
  const std::string path = PathOf(claim_uid);
  const StatusOr<std::string> text = files_.Read(path);
  if (text.status().code() == Code::kNotFound) return std::vector<std::string>();
  if (!text.ok()) return Annotate(text.status(), "read the CDI file");
  const CdiSpec spec = ReadCdiSpec(path, *text);
  if (!spec.unreadable.empty()) return DataLoss("{}: {}", path, spec.unreadable);
  const std::string prefix = fmt::format("{}-", claim_uid);
  std::vector<std::string> devices;
  for (const std::string& name : spec.devices) {
    if (!name.starts_with(prefix)) return DataLoss("{}: it holds a device {}", path, name);
    devices.push_back(name.substr(prefix.size()));
  }
  return devices;
}

Status CdiStore::Remove(std::string_view claim_uid) {
  const std::string path = PathOf(claim_uid);
  return Annotate(files_.Remove(path), "remove the CDI file {}", path);
}

Status CdiStore::RemoveTemporaryFiles(const std::vector<std::string>& claim_uids) {
  std::set<std::string, std::less<>> names;
  for (const std::string& uid : claim_uids) names.insert(CdiFileName(driver_, uid));
  return Annotate(galen::RemoveTemporaryFiles(
                      files_, root_, [&](std::string_view name) { return names.contains(name); }),
                  "tidy the CDI directory");
}

std::string CdiStore::PathOf(std::string_view claim_uid) const {
  return root_ + "/" + CdiFileName(driver_, claim_uid);
}

}  // namespace galen::sdk
