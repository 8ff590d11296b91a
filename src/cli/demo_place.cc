#include "cli/demo_place.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace galen::cli {

StatusOr<DemoPlace> DemoPlace::Make(const std::string& parent) {
  // Absolute: the programs want paths that mean the same wherever they run.
  std::error_code ignored;  // without a current directory mkdtemp tells what is wrong
  const std::filesystem::path whole = std::filesystem::absolute(parent, ignored);
  std::string name = (whole.empty() ? parent : whole.string()) + "/galen-XXXXXX";
  // It fills in the six X, and nobody else can have made the directory before.
  if (mkdtemp(name.data()) == nullptr) return ErrnoStatus(errno, "make a directory in " + parent);
  return DemoPlace{name};
}

void DemoPlace::Remove() const {
  std::error_code ignored;  // what cannot be removed stays in the temporary directory
  std::filesystem::remove_all(directory, ignored);
}

}  // namespace galen::cli
