// The real disk.
#pragma once

#include "base/file_system.h"

namespace galen {

class PosixFileSystem final : public FileSystem {
 public:
  StatusOr<std::string> Read(const std::string& path) override;
  StatusOr<std::unique_ptr<AppendFile>> OpenAppend(const std::string& path) override;
  Status WriteAtomically(const std::string& path, std::string_view bytes, unsigned mode) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& path) override;
  Status MakeDirectories(const std::string& path, unsigned mode) override;
  StatusOr<std::vector<std::string>> List(const std::string& directory) override;
};

}  // namespace galen
