// Which boot of its machine a disk in memory shows. For tests.
#pragma once

#include <string>
#include <string_view>

#include "base/check.h"
#include "base/files/boot_id.h"
#include "base/files/fake_file_system.h"

namespace galen {

inline void FakeBoot(FakeFileSystem& files, std::string_view id) {
  const std::string path(kBootIdPath);
  GALEN_CHECK(files.MakeDirectories(path.substr(0, path.rfind('/')), 0755).ok());
  GALEN_CHECK(files.WriteAtomically(path, std::string(id) + "\n", 0444).ok());
}

}  // namespace galen
