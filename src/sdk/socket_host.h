// Where a driver's sockets are, behind a seam: unix sockets in directories that are watched, or
// names in a FakeNetwork. Belongs to its loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/io_loop.h"
#include "base/log.h"
#include "net/http.h"

namespace galen::sdk {

// A socket that somebody can connect to. Destroying it closes it with all its connections and
// removes its file if that is still ours.
class ListeningSocket {
 public:
  virtual ~ListeningSocket() = default;
  // Whether its file is still there and still ours.
  virtual bool InPlace() const = 0;
  // No more connections; those under way end by themselves up to `deadline`, then `done`.
  virtual void Drain(Duration deadline, std::function<void()> done) = 0;
};

// A watch on a directory; destroying it ends it.
class PlaceWatch {
 public:
  virtual ~PlaceWatch() = default;
};

class SocketHost {
 public:
  virtual ~SocketHost() = default;
  // A file that nobody listens on any more is replaced; AlreadyExists when somebody does.
  virtual StatusOr<std::unique_ptr<ListeningSocket>> Listen(const std::string& path,
                                                            net::HttpHandler& handler) = 0;
  // `on_change` runs when something in `directory` may have changed, also when it went and came.
  virtual StatusOr<std::unique_ptr<PlaceWatch>> Watch(const std::string& directory,
                                                      std::function<void()> on_change) = 0;
};

// Real unix sockets and inotify. `loop` and `log` are lent.
std::unique_ptr<SocketHost> MakeSocketHost(IoLoop& loop, Log& log);

}  // namespace galen::sdk
