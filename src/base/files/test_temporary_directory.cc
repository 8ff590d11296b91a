#include "base/files/test_temporary_directory.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/check.h"

namespace galen {

TemporaryDirectory::TemporaryDirectory() : path_("/tmp/galen-XXXXXX") {
  GALEN_CHECK(::mkdtemp(path_.data()) != nullptr);
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;  // a test may have removed it itself
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace galen
