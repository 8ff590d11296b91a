// A directory of its own for a test that needs the real disk; removed with all it holds.
#pragma once

#include <string>

namespace galen {

class TemporaryDirectory {
 public:
  // Below /tmp with a short name, because socket paths are short. Fails the process on an error.
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace galen
