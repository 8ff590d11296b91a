#include "probes/exporter/exporter_fetch.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/text.h"

namespace galen::probes {
namespace {

// An address of either family, filled in.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

template <typename T>
SocketAddress Packed(const T& address) {
  SocketAddress packed{.size = sizeof(T)};
  std::memcpy(&packed.storage, &address, sizeof(T));
  return packed;
}

StatusOr<SocketAddress> Pack(const ExporterAddress& address) {
  if (!address.socket_path.empty()) {
    sockaddr_un local{.sun_family = AF_UNIX, .sun_path = {}};
    if (address.socket_path.size() >= sizeof(local.sun_path)) {
      return InvalidArgument("the path of the socket is past {} bytes", sizeof(local.sun_path) - 1);
    }
    std::memcpy(local.sun_path, address.socket_path.data(), address.socket_path.size());
    return Packed(local);
  }
  const auto port = htons(static_cast<std::uint16_t>(address.port));
  sockaddr_in four{.sin_family = AF_INET, .sin_port = port, .sin_addr = {}, .sin_zero = {}};
  if (::inet_pton(AF_INET, address.host.c_str(), &four.sin_addr) == 1) return Packed(four);
  sockaddr_in6 six{.sin6_family = AF_INET6,
                   .sin6_port = port,
                   .sin6_flowinfo = 0,
                   .sin6_addr = {},
                   .sin6_scope_id = 0};
  if (::inet_pton(AF_INET6, address.host.c_str(), &six.sin6_addr) == 1) return Packed(six);
  return InvalidArgument("'{}' is not an address by number", Shown(address.host, 80));
}

// One exchange, with a deadline over all of it: a timer of the kernel's, so that no clock is asked.
class Exchange {
 public:
  Status Open(const ExporterAddress& address, Duration timeout);
  Status Send(std::string_view request);
  // All bytes up to the end of the connection.
  StatusOr<std::string> ReadAll();

 private:
  Status Wait(short events);

  Fd timer_;
  Fd socket_;
};

Status Exchange::Open(const ExporterAddress& address, Duration timeout) {
  ASSIGN_OR_RETURN(const SocketAddress packed, Pack(address));
  timer_ = Fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer_) return ErrnoStatus(errno, "make a timer");
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
  const auto rest = std::chrono::duration_cast<std::chrono::nanoseconds>(timeout - seconds);
  const itimerspec when{.it_interval = {}, .it_value = {seconds.count(), rest.count()}};
  ::timerfd_settime(timer_.get(), 0, &when, nullptr);
  socket_ = Fd(::socket(packed.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket_) return ErrnoStatus(errno, "make a socket");
  if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&packed.storage), packed.size) ==
      0) {
    return OkStatus();
  }
  if (errno != EINPROGRESS) return ErrnoStatus(errno, "connect");
  RETURN_IF_ERROR(Wait(POLLOUT));
  int error = 0;
  socklen_t size = sizeof(error);
  ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 ? OkStatus() : ErrnoStatus(error, "connect");
}

Status Exchange::Wait(short events) {
  pollfd watched[] = {{.fd = socket_.get(), .events = events, .revents = 0},
                      {.fd = timer_.get(), .events = POLLIN, .revents = 0}};
  while (::poll(watched, 2, -1) < 0) {
    if (errno != EINTR) return ErrnoStatus(errno, "wait");
  }
  // The timer first: one that sends a byte now and then is always ready.
  if (watched[1].revents != 0) return DeadlineExceeded("no whole answer in time");
  return OkStatus();
}

Status Exchange::Send(std::string_view request) {
  while (!request.empty()) {
    RETURN_IF_ERROR(Wait(POLLOUT));
    const ssize_t count = ::send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count < 0) return ErrnoStatus(errno, "send");
    request.remove_prefix(static_cast<std::size_t>(count));
  }
  return OkStatus();
}

StatusOr<std::string> Exchange::ReadAll() {
  std::string all;
  char buffer[64 * 1024];
  while (true) {
    RETURN_IF_ERROR(Wait(POLLIN));
    const ssize_t count = ::recv(socket_.get(), buffer, sizeof(buffer), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count < 0) return ErrnoStatus(errno, "read");
    if (count == 0) return all;
    all.append(buffer, static_cast<std::size_t>(count));
    if (all.size() > kExporterBytesMax) {
      return ResourceExhausted("the page has more than {} bytes", kExporterBytesMax);
    }
  }
}

// The body of an answer of 200. If it has a Content-Length, all of that must have come.
StatusOr<std::string> BodyOf(std::string answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  const std::string_view line = std::string_view(answer).substr(0, answer.find("\r\n"));
  if (end == std::string::npos || !line.starts_with("HTTP/1.")) {
    return Unavailable("the answer is not HTTP: '{}'", Shown(line, 80));
  }
  if (line.substr(std::min(line.find(' '), line.size())).substr(0, 5) != " 200 " &&
      !line.ends_with(" 200")) {
    return Unavailable("the answer is '{}'", Shown(line, 80));
  }
  std::string head = answer.substr(0, end + 2);
  std::ranges::transform(head, head.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  answer.erase(0, end + 4);
  constexpr std::string_view kLength = "\r\ncontent-length:";
  const std::size_t field = head.find(kLength);
  if (field == std::string::npos) return answer;
  const std::string_view digits =
      Trimmed(std::string_view(head).substr(field + kLength.size(), 20));
  std::size_t length = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), length);
  if (length != answer.size()) {
    return Unavailable("the answer has {} bytes of {}", answer.size(), length);
  }
  return answer;
}

}  // namespace

std::string ExporterRequest(const ExporterAddress& address) {
  std::string host = "localhost";
  if (!address.host.empty()) {
    // An IPv6 address stands in brackets, or its last part would be read as the port (RFC 3986).
    const bool six = address.host.find(':') != std::string::npos;
    host = fmt::format("{}{}{}:{}", six ? "[" : "", address.host, six ? "]" : "", address.port);
  }
  return fmt::format("GET {} HTTP/1.0\r\nHost: {}\r\nAccept: text/plain;version=0.0.4\r\n\r\n",
                     address.path, host);
}

StatusOr<std::string> FetchExporter(const ExporterAddress& address, Duration timeout) {
  Exchange exchange;
  RETURN_IF_ERROR(exchange.Open(address, timeout));
  RETURN_IF_ERROR(exchange.Send(ExporterRequest(address)));
  ASSIGN_OR_RETURN(std::string answer, exchange.ReadAll());
  return BodyOf(std::move(answer));
}

}  // namespace galen::probes
