// Unix sockets that stay in their place: watched, and made again when removed. Belongs to its loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/files/file_system.h"
#include "base/log.h"
#include "base/loop/backoff.h"
#include "base/loop/io_loop.h"
#include "base/loop/loop.h"
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

// Where a program's unix sockets are, behind a seam: unix sockets in directories that are watched,
// or names in a FakeNetwork. Paths are absolute. Calls answer at once. Belongs to its loop.
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
  // A text that distinguishes the socket file at `path` from one that was there before it or is
  // made there later; nullopt when there is none.
  virtual std::optional<std::string> MarkOf(const std::string& path) = 0;
};

// Real unix sockets and inotify. `loop` and `log` are lent.
std::unique_ptr<SocketHost> MakeSocketHost(IoLoop& loop, Log& log);

// Keeps one listening socket in its place: made again when its file or directory was removed, as
// when a kubelet is installed anew, and on request. Belongs to its loop.
class SocketKeeper {
 public:
  // What a keeper uses; all lent.
  struct Parts {
    Loop& loop;
    Log& log;
    Random& random;
    FileSystem& files;
    SocketHost& sockets;
  };
  // `handler` is lent.
  SocketKeeper(Parts parts, std::string path, HttpHandler& handler);

  // Makes the directory, listens and watches. Errors: AlreadyExists when somebody listens there, or
  // what making directory and socket gave; the caller reports an error, and nothing is tried again.
  // A directory that cannot be watched is looked at every ten seconds.
  Status Start();
  // Closes the socket and makes it again after 2 s; each time that this is asked for again without
  // a Settled() in between it waits twice as long, up to 2 min. For a reader that looks again only
  // at a new file. Does nothing while a remake is waiting.
  void RemakeLater();
  // The reader has found the socket: the next remake that is asked for waits the least time again.
  void Settled() { remake_backoff_.Reset(); }
  // Closes the socket with its connections, removes its file, and makes nothing again.
  void Stop();
  // As ListeningSocket::Drain, and nothing is made again; `done` at once when nothing listens.
  void Drain(Duration deadline, std::function<void()> done);

  // Whether there is a socket; its file may just have been removed.
  bool listening() const { return socket_ != nullptr; }

 private:
  Status Listen();
  // Makes the socket again if it is not in its place.
  void Look();
  void LookAfter(Duration delay);
  void LookNowAndThen();

  Parts parts_;
  const std::string path_;
  const std::string directory_;
  HttpHandler& handler_;
  std::unique_ptr<ListeningSocket> socket_;
  std::unique_ptr<PlaceWatch> watch_;
  Timer timer_;
  Timer look_timer_;  // where directories cannot be watched
  Backoff backoff_;
  // For remakes on request; backoff_ is for sockets that cannot be made.
  Backoff remake_backoff_;
  std::string logged_trouble_;
  bool waiting_ = false;  // for timer_; notices of the watch do not shorten it
  bool stopped_ = false;
};

}  // namespace galen::net
