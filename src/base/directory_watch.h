// Tells that something in a directory tree may have changed, by inotify. What changed is for the
// reader to find out by looking: the notice carries nothing.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/io_loop.h"

namespace galen {

class DirectoryWatch {
 public:
  // Watches `directory` and the directories below it, now and later ones; also survives that
  // `directory` itself is removed and made again. `on_change` runs on the loop, once for many
  // events in one turn.
  static StatusOr<std::unique_ptr<DirectoryWatch>> Start(IoLoop& loop, std::string directory,
                                                         std::function<void()> on_change);
  ~DirectoryWatch();

 private:
  struct Impl;
  explicit DirectoryWatch(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace galen
