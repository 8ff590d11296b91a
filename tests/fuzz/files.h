// A file system with one file in it, for targets that read theirs by name.
#pragma once

#include <string>
#include <string_view>

#include "base/check.h"
#include "base/files/file_system.h"

namespace galen::fuzz {

inline void Put(FileSystem& files, const std::string& directory, const std::string& name,
                std::string_view bytes) {
  GALEN_CHECK(files.MakeDirectories(directory).ok());
  GALEN_CHECK(files.WriteAtomically(directory + "/" + name, bytes).ok());
}

}  // namespace galen::fuzz
