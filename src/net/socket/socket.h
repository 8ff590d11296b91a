// Sockets by the system's calls: made non-blocking and close-on-exec, TCP ones with keepalive and
// without delay, with errors that say which address. Internal to this room; no state. Nothing here
// waits.
#pragma once

#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/status.h"
#include "net/http.h"

namespace galen::net {

// An address as the kernel takes it, with the size that it wants beside it.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

// InvalidArgument when the path is longer than the kernel's 107 bytes.
StatusOr<SocketAddress> UnixSocketAddress(const std::string& path);
// nullopt when `host` is a name, not a number.
std::optional<SocketAddress> NumericSocketAddress(const std::string& host, std::uint16_t port);
// "unix:/path" or "tcp:127.0.0.1:443".
std::string ToString(const SocketAddress& address);

// Starts to connect; the socket turns writable when the outcome is known. Unavailable when nobody
// listens (also when a socket file is missing: its server may be about to start), PermissionDenied.
StatusOr<Fd> StartConnect(const SocketAddress& address);
// The outcome, once it is writable; the same errors.
Status ConnectOutcome(int fd, const SocketAddress& address);

// A socket that listens on a path, and which file that made.
struct UnixListener {
  Fd fd;
  dev_t device = 0;
  ino_t inode = 0;
};

// Replaces a socket file that nobody listens on; AlreadyExists when somebody does, or when the path
// is not a socket. `mode` is in place before anyone can connect. InvalidArgument for a path that is
// too long; otherwise the system's error.
StatusOr<UnixListener> ListenUnix(const std::string& path, unsigned mode);
// Removes the file unless it has been replaced by another one: a successor that started in our
// place keeps its own.
void RemoveSocketFile(const std::string& path, const UnixListener& listener);

// Any interface's address, 0.0.0.0 and :: too. The system's error when the port is taken.
StatusOr<Fd> ListenTcp(const SocketAddress& address);
// The address that a listening socket is bound to, with its real port.
StatusOr<SocketAddress> BoundAddress(int fd);

// The next connection, or nullopt when none waits (or one left before it was its turn).
// ResourceExhausted when descriptors or memory are used up.
StatusOr<std::optional<Fd>> AcceptNext(int listener);
// nullopt for what is not a unix socket.
std::optional<PeerCredentials> ReadPeerCredentials(int fd);
// Whether an accept error is about our own limits (descriptors, memory) rather than one peer.
bool IsOutOfResources(int error);

}  // namespace galen::net
