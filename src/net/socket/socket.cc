#include "net/socket/socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "net/address.h"

namespace galen::net {
namespace {

// A dead TCP peer is noticed after about a minute and a half of silence.
constexpr int kKeepAliveIdleSeconds = 60;
constexpr int kKeepAliveIntervalSeconds = 10;
constexpr int kKeepAliveProbes = 3;

const sockaddr* Raw(const SocketAddress& address) {
  return reinterpret_cast<const sockaddr*>(&address.storage);
}

void SetOption(int fd, int level, int name, int value) {
  // Tuning only: a socket without it works too.
  static_cast<void>(setsockopt(fd, level, name, &value, sizeof(value)));
}

void TuneTcp(int fd) {
  // Frames are gathered a turn at a time already; waiting for more would only add delay.
  SetOption(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  SetOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveIntervalSeconds);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
}

bool IsUnix(const SocketAddress& address) { return address.storage.ss_family == AF_UNIX; }

StatusOr<Fd> NewSocket(const SocketAddress& address) {
  Fd fd(socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return ErrnoStatus(errno, fmt::format("make a socket for {}", ToString(address)));
  if (!IsUnix(address)) TuneTcp(fd.get());
  return fd;
}

// A server that is not there yet, or not any more, is a matter of trying again.
Status ConnectError(int error, const SocketAddress& address) {
  const Status status = ErrnoStatus(error, fmt::format("connect to {}", ToString(address)));
  // Trying again does not help with a socket's mode: a person has to change it.
  if (error == EACCES || error == EPERM) return status;
  return {Code::kUnavailable, status.message()};
}

// Whether somebody listens on the socket file at `address`.
StatusOr<bool> SomebodyListens(const SocketAddress& address) {
  ASSIGN_OR_RETURN(const Fd fd, NewSocket(address));
  if (connect(fd.get(), Raw(address), address.size) == 0) return true;
  if (errno == ECONNREFUSED || errno == ENOENT) return false;
  if (errno == EAGAIN) return true;  // its queue is full
  return ErrnoStatus(errno, fmt::format("see who listens on {}", ToString(address)));
}

Status MakeWay(const std::string& path, const SocketAddress& address) {
  struct stat found{};
  if (lstat(path.c_str(), &found) != 0) return OkStatus();  // bind says what is wrong, if anything
  if (!S_ISSOCK(found.st_mode)) {
    return AlreadyExists("{} exists and is not a socket; remove it or choose another path", path);
  }
  // Checked by connecting: the file alone does not show whether anybody listens.
  ASSIGN_OR_RETURN(const bool taken, SomebodyListens(address));
  if (taken) return AlreadyExists("another process listens on {}", path);
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, fmt::format("remove the dead socket {}", path));
  }
  return OkStatus();
}

Status Listen(int fd, const SocketAddress& address) {
  if (listen(fd, SOMAXCONN) == 0) return OkStatus();
  return ErrnoStatus(errno, fmt::format("listen on {}", ToString(address)));
}

}  // namespace

StatusOr<SocketAddress> UnixSocketAddress(const std::string& path) {
  if (path.size() > kSocketPathMax) {
    return InvalidArgument("socket path {} is {} bytes, at most {} fit: choose a shorter directory",
                           path, path.size(), kSocketPathMax);
  }
  SocketAddress address;
  auto* local = reinterpret_cast<sockaddr_un*>(&address.storage);
  local->sun_family = AF_UNIX;
  std::memcpy(local->sun_path, path.data(), path.size());
  // The terminating zero is counted.
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return address;
}

std::optional<SocketAddress> NumericSocketAddress(const std::string& host, std::uint16_t port) {
  SocketAddress address;
  auto* four = reinterpret_cast<sockaddr_in*>(&address.storage);
  if (inet_pton(AF_INET, host.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    address.size = sizeof(sockaddr_in);
    return address;
  }
  address.storage = {};
  auto* six = reinterpret_cast<sockaddr_in6*>(&address.storage);
  if (inet_pton(AF_INET6, host.c_str(), &six->sin6_addr) != 1) return std::nullopt;
  six->sin6_family = AF_INET6;
  six->sin6_port = htons(port);
  address.size = sizeof(sockaddr_in6);
  return address;
}

std::string ToString(const SocketAddress& address) {
  if (IsUnix(address)) {
    return fmt::format("unix:{}", reinterpret_cast<const sockaddr_un*>(&address.storage)->sun_path);
  }
  char text[INET6_ADDRSTRLEN] = {};
  if (address.storage.ss_family == AF_INET) {
    const auto* four = reinterpret_cast<const sockaddr_in*>(&address.storage);
    inet_ntop(AF_INET, &four->sin_addr, text, sizeof(text));
    return fmt::format("tcp:{}:{}", text, ntohs(four->sin_port));
  }
  const auto* six = reinterpret_cast<const sockaddr_in6*>(&address.storage);
  inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof(text));
  return fmt::format("tcp:[{}]:{}", text, ntohs(six->sin6_port));
}

StatusOr<Fd> StartConnect(const SocketAddress& address) {
  ASSIGN_OR_RETURN(Fd fd, NewSocket(address));
  if (connect(fd.get(), Raw(address), address.size) == 0 || errno == EINPROGRESS) return fd;
  return ConnectError(errno, address);
}

Status ConnectOutcome(int fd, const SocketAddress& address) {
  int error = 0;
  socklen_t size = sizeof(error);
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  return error == 0 ? OkStatus() : ConnectError(error, address);
}

StatusOr<UnixListener> ListenUnix(const std::string& path, unsigned mode) {
  ASSIGN_OR_RETURN(const SocketAddress address, UnixSocketAddress(path));
  RETURN_IF_ERROR(MakeWay(path, address));
  UnixListener listener;
  ASSIGN_OR_RETURN(listener.fd, NewSocket(address));
  if (bind(listener.fd.get(), Raw(address), address.size) != 0) {
    return ErrnoStatus(errno, fmt::format("listen on {}", path));
  }
  struct stat made{};
  // The name is there a moment before listen(): who dials on the directory's event can be refused
  // once, and tries again. A rename into place would close that gap, but getpeername and ss would
  // show the other name ever after.
  // Nobody can connect before listen(), so the mode is right from the first connection on.
  if (chmod(path.c_str(), mode) != 0 || lstat(path.c_str(), &made) != 0) {
    return ErrnoStatus(errno, fmt::format("set the mode of {}", path));
  }
  listener.device = made.st_dev;
  listener.inode = made.st_ino;
  RETURN_IF_ERROR(Listen(listener.fd.get(), address));
  return listener;
}

void RemoveSocketFile(const std::string& path, const UnixListener& listener) {
  struct stat found{};
  if (lstat(path.c_str(), &found) != 0) return;
  if (found.st_dev != listener.device || found.st_ino != listener.inode) return;
  // A file that stays does no harm: the next server replaces it.
  static_cast<void>(unlink(path.c_str()));
}

StatusOr<Fd> ListenTcp(const SocketAddress& address) {
  ASSIGN_OR_RETURN(Fd fd, NewSocket(address));
  // A restart must not wait for the old connections' TIME_WAIT.
  SetOption(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (bind(fd.get(), Raw(address), address.size) != 0) {
    return ErrnoStatus(errno, fmt::format("listen on {}", ToString(address)));
  }
  RETURN_IF_ERROR(Listen(fd.get(), address));
  return fd;
}

StatusOr<SocketAddress> BoundAddress(int fd) {
  SocketAddress address;
  address.size = sizeof(address.storage);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address.storage), &address.size) != 0) {
    return ErrnoStatus(errno, "read a socket's address");
  }
  return address;
}

StatusOr<std::optional<Fd>> AcceptNext(int listener) {
  Fd fd(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (fd) {
    TuneTcp(fd.get());  // fails without harm on a unix socket
    return std::optional<Fd>(std::move(fd));
  }
  if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return std::optional<Fd>();
  if (IsOutOfResources(errno)) return ResourceExhausted("accept: {}", std::strerror(errno));
  return ErrnoStatus(errno, "accept");
}

std::optional<PeerCredentials> ReadPeerCredentials(int fd) {
  ucred found{};
  socklen_t size = sizeof(found);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &found, &size) != 0) return std::nullopt;
  if (found.uid == static_cast<uid_t>(-1)) return std::nullopt;  // as other sockets answer
  PeerCredentials peer{.uid = found.uid, .gid = found.gid};
  if (found.pid != 0) peer.pid = found.pid;
  return peer;
}

bool IsOutOfResources(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace galen::net
