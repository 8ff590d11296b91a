#include "bench/agent_page.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fstream>

#include "base/fd.h"

namespace galen::bench {
namespace {

Status SocketError() {
  if (errno == EAGAIN || errno == EINPROGRESS) return DeadlineExceeded("the page did not answer");
  return Unavailable("the page: {}", std::error_code(errno, std::system_category()).message());
}

StatusOr<Fd> Connect(std::uint16_t port, Duration within) {
  Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return SocketError();
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(within).count();
  const timeval limit{.tv_sec = micros / 1'000'000, .tv_usec = micros % 1'000'000};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* to = reinterpret_cast<const sockaddr*>(&address);
  if (connect(fd.get(), to, sizeof address) != 0) return SocketError();
  return fd;
}

}  // namespace

StatusOr<std::uint16_t> PortOfPage(const std::string& log_path) {
  constexpr std::string_view kBefore = "tcp:127.0.0.1:";
  std::ifstream log(log_path);
  for (std::string line; std::getline(log, line);) {
    const auto at = line.find(kBefore);
    if (at == std::string::npos || line.find("metrics are served") == std::string::npos) continue;
    const char* digits = line.data() + at + kBefore.size();
    std::uint16_t port = 0;
    std::from_chars(digits, line.data() + line.size(), port);
    return port;
  }
  return NotFound("no page is named in {}", log_path);
}

StatusOr<std::string> ReadPage(std::uint16_t port, const std::string& path, Duration within) {
  ASSIGN_OR_RETURN(const Fd fd, Connect(port, within));
  const std::string request =
      fmt::format("GET {} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n", path);
  if (send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return SocketError();
  std::string answer;
  std::array<char, 16 * 1024> piece{};
  for (;;) {
    const ssize_t got = recv(fd.get(), piece.data(), piece.size(), 0);
    if (got < 0) return SocketError();
    if (got == 0) break;
    answer.append(piece.data(), static_cast<std::size_t>(got));
  }
  const auto body = answer.find("\r\n\r\n");
  if (!answer.starts_with("HTTP/1.1 200") || body == std::string::npos) {
    return Unavailable("the page answered {}", answer.substr(0, answer.find("\r\n")));
  }
  return answer.substr(body + 4);
}

StatusOr<double> ValueOf(std::string_view page, std::string_view metric) {
  const std::string wanted = "\n" + std::string(metric) + " ";
  const auto at = page.find(wanted);
  if (at == std::string_view::npos) return NotFound("the page has no {}", metric);
  const std::string value(page.substr(at + wanted.size(), 32));
  return std::strtod(value.c_str(), nullptr);
}

}  // namespace galen::bench
