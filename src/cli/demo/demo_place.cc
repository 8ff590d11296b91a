#include "cli/demo/demo_place.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace galen::cli {

StatusOr<DemoPlace> DemoPlace::Make(const std::string& parent) {
  // Absolute: the programs want paths that mean the same wherever they run.
  std::error_code ignored;  // without a current directory mkdtemp reports what is wrong
  const std::filesystem::path whole = std::filesystem::absolute(parent, ignored);
  std::string name = (whole.empty() ? parent : whole.string()) + "/galen-XXXXXX";
  // It fills in the six X, and nobody else can have made the directory before.
  if (mkdtemp(name.data()) == nullptr) return ErrnoStatus(errno, "make a directory in " + parent);
  return DemoPlace{name};
}

StatusOr<DemoPlace> DemoPlace::MakeAt(const std::string& directory) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(directory, error);
  if (!error) std::filesystem::create_directories(whole, error);
  // Itself and not a link to it: Remove would take the link away and leave what it leads to.
  const std::filesystem::path real = error ? whole : std::filesystem::canonical(whole, error);
  if (error) return ErrnoStatus(error.value(), "make the directory " + directory);
  const bool empty = std::filesystem::is_empty(real, error);
  if (error) return ErrnoStatus(error.value(), "look into " + directory);
  if (!empty) {
    return AlreadyExists("{} is not empty: name a directory that is, or is not there yet",
                         directory);
  }
  // For nobody else, as the one that Make makes: credentials will lie in it.
  std::filesystem::permissions(real, std::filesystem::perms::owner_all, error);
  if (error) return ErrnoStatus(error.value(), "close to others the directory " + directory);
  return DemoPlace{real.string()};
}

void DemoPlace::Remove() const {
  std::error_code ignored;  // what cannot be removed stays in the temporary directory
  std::filesystem::remove_all(directory, ignored);
}

}  // namespace galen::cli
