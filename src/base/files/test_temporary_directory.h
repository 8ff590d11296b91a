// A directory of its own for a test that needs the real disk; removed with all it holds when this
// dies. Never used by the programs themselves.
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
  // The path of `name` below it; nothing is made.
  std::string Path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace galen
