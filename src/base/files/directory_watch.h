// Notifies its owner, by inotify(7), that something in a directory tree may have changed. It does
// not say what: the owner looks, so that an event which is lost or merged with another does no
// harm. May notify too often, e.g. when a name above the tree comes or goes. Belongs to its loop,
// which outlives it. Network file systems give no events: who needs to be sure also looks from time
// to time.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/loop/io_loop.h"

namespace galen {

class DirectoryWatch {
 public:
  // Watches `directory` and the directories below it, now and later ones; also survives that
  // `directory` itself is missing, removed and made again. `on_change` runs on the loop, once for
  // many events in one turn, never before Start has returned; it may destroy the watch. What is
  // there already is not notified: the caller looks first. Errors: ResourceExhausted when the
  // user's inotify instances or watches are used up (fs.inotify.max_user_instances,
  // max_user_watches), PermissionDenied when the nearest directory that is there may not be read.
  static StatusOr<std::unique_ptr<DirectoryWatch>> Start(IoLoop& loop, std::string directory,
                                                         std::function<void()> on_change);
  // Ends the watch; there are no notifications from then on.
  ~DirectoryWatch();

 private:
  struct Impl;
  explicit DirectoryWatch(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace galen
