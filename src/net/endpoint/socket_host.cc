#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "base/files/directory_watch.h"
#include "net/endpoint/server.h"
#include "net/endpoint/socket_keeper.h"
#include "net/socket/socket.h"

namespace galen::net {
namespace {

// Distinguishes a socket file from another of the same name.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileId&) const = default;
};

std::optional<FileId> SocketFileAt(const std::string& path) {
  struct stat facts{};
  if (::lstat(path.c_str(), &facts) != 0 || !S_ISSOCK(facts.st_mode)) return std::nullopt;
  return FileId{facts.st_dev, facts.st_ino};
}

// A unix socket's connection is there at once or refused: the file of a dead process refuses.
bool Answers(const std::string& path) {
  const auto address = UnixSocketAddress(path);
  return address.ok() && StartConnect(*address).ok();
}

class UnixSocket final : public ListeningSocket {
 public:
  UnixSocket(std::string path, std::unique_ptr<Server> server)
      : path_(std::move(path)), server_(std::move(server)), file_(SocketFileAt(path_)) {}

  bool InPlace() const override { return file_ && SocketFileAt(path_) == file_; }
  void Drain(Duration deadline, std::function<void()> done) override {
    file_.reset();
    server_->Drain(deadline, std::move(done));
  }

 private:
  const std::string path_;
  const std::unique_ptr<Server> server_;
  std::optional<FileId> file_;  // nullopt: it was removed, and its inode may be another's now
};

class InotifyWatch final : public PlaceWatch {
 public:
  explicit InotifyWatch(std::unique_ptr<DirectoryWatch> watch) : watch_(std::move(watch)) {}

 private:
  const std::unique_ptr<DirectoryWatch> watch_;
};

class UnixSocketHost final : public SocketHost {
 public:
  UnixSocketHost(IoLoop& loop, Log& log) : loop_(loop), log_(log) {}

  StatusOr<std::unique_ptr<ListeningSocket>> Listen(const std::string& path,
                                                    HttpHandler& handler) override {
    ServerOptions options;
    options.address = "unix:" + path;
    ASSIGN_OR_RETURN(auto server, Server::Start(loop_, log_, std::move(options), handler));
    return std::unique_ptr<ListeningSocket>(std::make_unique<UnixSocket>(path, std::move(server)));
  }

  StatusOr<std::unique_ptr<PlaceWatch>> Watch(const std::string& directory,
                                              std::function<void()> on_change) override {
    ASSIGN_OR_RETURN(auto watch, DirectoryWatch::Start(loop_, directory, std::move(on_change)));
    return std::unique_ptr<PlaceWatch>(std::make_unique<InotifyWatch>(std::move(watch)));
  }

  bool OthersListen(const std::string& directory, const std::string& own) override {
    std::error_code unreadable;
    for (const auto& entry : std::filesystem::directory_iterator(directory, unreadable)) {
      const std::string path = entry.path().string();
      if (path != own && SocketFileAt(path) && Answers(path)) return true;
    }
    return false;
  }

  // Has the time at which the inode was made (zero where the file system keeps none), since its
  // number may be given again at once; not the time of its last change, since a chmod is one.
  std::optional<std::string> MarkOf(const std::string& path) override {
    struct statx facts{};
    constexpr unsigned kWanted = STATX_TYPE | STATX_INO | STATX_BTIME;
    if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, kWanted, &facts) != 0) {
      return std::nullopt;
    }
    if (!S_ISSOCK(facts.stx_mode)) return std::nullopt;
    return fmt::format("{}:{}:{}:{}.{}", facts.stx_dev_major, facts.stx_dev_minor, facts.stx_ino,
                       facts.stx_btime.tv_sec, facts.stx_btime.tv_nsec);
  }

 private:
  IoLoop& loop_;
  Log& log_;
};

}  // namespace

std::unique_ptr<SocketHost> MakeSocketHost(IoLoop& loop, Log& log) {
  return std::make_unique<UnixSocketHost>(loop, log);
}

}  // namespace galen::net
