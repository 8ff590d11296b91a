// Where a program's unix sockets are, behind a seam: unix sockets in directories that are watched,
// or names in a FakeNetwork. Belongs to its loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/loop/io_loop.h"
#include "net/http.h"

namespace galen::net {

// A socket that somebody can connect to. Destroying it closes it with all its connections and
// removes its file if that is still ours.
class ListeningSocket {
 public:
  virtual ~ListeningSocket() = default;
  // Whether its file is still there and still ours: the same inode, not merely one of that name.
  virtual bool InPlace() const = 0;
  // No more connections; those under way end by themselves up to `deadline`, then `done`.
  virtual void Drain(Duration deadline, std::function<void()> done) = 0;
};

// A watch on a directory; destroying it ends it.
class PlaceWatch {
 public:
  virtual ~PlaceWatch() = default;
};

// Paths are absolute. Calls answer at once.
class SocketHost {
 public:
  virtual ~SocketHost() = default;
  // A file that nobody listens on any more is replaced; AlreadyExists when somebody does. `handler`
  // is lent and outlives the socket. The directory has to exist.
  virtual StatusOr<std::unique_ptr<ListeningSocket>> Listen(const std::string& path,
                                                            HttpHandler& handler) = 0;
  // `on_change` runs, on the loop, when something in `directory` may have changed, also when it
  // went and came. It may be called without need; it must not destroy the watch.
  virtual StatusOr<std::unique_ptr<PlaceWatch>> Watch(const std::string& directory,
                                                      std::function<void()> on_change) = 0;
  // Whether a socket in `directory` other than `own` answers. A directory that cannot be read has
  // none.
  virtual bool OthersListen(const std::string& directory, const std::string& own) = 0;
};

// Real unix sockets and inotify. `loop` and `log` are lent.
std::unique_ptr<SocketHost> MakeSocketHost(IoLoop& loop, Log& log);

}  // namespace galen::net
