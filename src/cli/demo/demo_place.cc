#include "cli/demo/demo_place.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace galen::cli {

StatusOr<DemoPlace> DemoPlace::Make(const std::string& parent) {
  // Absolute: programs in other directories must find it too.
  std::error_code ignored;  // without a current directory mkdtemp reports the error
  const std::filesystem::path whole = std::filesystem::absolute(parent, ignored);
  std::string name = (whole.empty() ? parent : whole.string()) + "/galen-XXXXXX";
  // mkdtemp replaces the six X, and creates a directory that did not exist before.
  if (mkdtemp(name.data()) == nullptr) return ErrnoStatus(errno, "make a directory in " + parent);
  return DemoPlace{name};
}

StatusOr<DemoPlace> DemoPlace::MakeAt(const std::string& directory) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(directory, error);
  if (!error) std::filesystem::create_directories(whole, error);
  // The real directory and not a link to it: Remove would delete the link and leave its target.
  const std::filesystem::path real = error ? whole : std::filesystem::canonical(whole, error);
  if (error) return ErrnoStatus(error.value(), "make the directory " + directory);
  const bool empty = std::filesystem::is_empty(real, error);
  if (error) return ErrnoStatus(error.value(), "read the directory " + directory);
  if (!empty) {
    return AlreadyExists("{} is not empty: name an empty directory, or one that does not exist yet",
                         directory);
  }
  // For the owner only, as Make's: it will contain credentials.
  std::filesystem::permissions(real, std::filesystem::perms::owner_all, error);
  if (error) return ErrnoStatus(error.value(), "make private the directory " + directory);
  return DemoPlace{real.string()};
}

void DemoPlace::Remove() const {
  std::error_code ignored;  // what cannot be removed stays in the temporary directory
  std::filesystem::remove_all(directory, ignored);
}

}  // namespace galen::cli
