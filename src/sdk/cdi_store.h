// The CDI files of this driver's prepared claims: one file a claim, written whole or not at all.
// Belongs to its loop; the calls block shortly.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "sdk/cdi_spec.h"

namespace galen::sdk {

class CdiStore {
 public:
  // `files` is lent.
  CdiStore(FileSystem& files, std::string root, std::string driver);

  // Writes nothing when the file already says so.
  Status Write(std::string_view claim_uid, const ClaimEdits& edits);
  // OK when there is none.
  Status Remove(std::string_view claim_uid);
  // The claims that have a file. None when the directory is not there.
  StatusOr<std::vector<std::string>> Claims();

 private:
  std::string PathOf(std::string_view claim_uid) const;

  FileSystem& files_;
  const std::string root_;
  const std::string driver_;
};

}  // namespace galen::sdk
