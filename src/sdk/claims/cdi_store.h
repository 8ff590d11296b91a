// The CDI files of this driver's prepared claims, where container runtimes find them: one file a
// claim, written whole or not at all and readable by everybody (0644). Belongs to its loop; the
// calls block shortly. Errors are those of the file system.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files/file_system.h"
#include "sdk/claims/cdi_spec.h"

namespace galen::sdk {

// Two instances of one driver share these files: a claim's file is the same whoever writes it.
class CdiStore {
 public:
  // `files` is lent.
  CdiStore(FileSystem& files, std::string root, std::string driver);

  // Replaces the claim's file; writes nothing when it already says so. Makes the directory.
  // REQUIRES: edits that ValidateEdits takes.
  Status Write(std::string_view claim_uid, const ClaimEdits& edits);
  // The devices that the claim's file gives to containers, whatever the claim holds beside them;
  // none when there is no file. DataLoss when it is not one of ours.
  StatusOr<std::vector<std::string>> DevicesOf(std::string_view claim_uid) const;
  // OK when there is none.
  Status Remove(std::string_view claim_uid);
  // What a crash left of writes of these claims' files.
  Status RemoveTemporaryFiles(const std::vector<std::string>& claim_uids);

 private:
  std::string PathOf(std::string_view claim_uid) const;

  FileSystem& files_;
  const std::string root_;
  const std::string driver_;
};

}  // namespace galen::sdk
