// An exporter on a socket of this machine that answers as a test says. For tests.
#pragma once

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/fd.h"
#include "base/mutex.h"

namespace galen::probes {

class TestExporter {
 public:
  TestExporter() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(any);
    auto* address = reinterpret_cast<sockaddr*>(&any);
    GALEN_CHECK(::bind(listener_.get(), address, size) == 0);
    GALEN_CHECK(::listen(listener_.get(), 8) == 0);
    GALEN_CHECK(::getsockname(listener_.get(), address, &size) == 0);
    port_ = ntohs(any.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~TestExporter() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  TestExporter(const TestExporter&) = delete;

  std::string url() const { return fmt::format("http://127.0.0.1:{}/metrics", port_); }
  // What it answers from now on: a page; or bytes as they are, sent `times` times.
  void Show(std::string_view page) {
    Send(fmt::format("HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n{}", page.size(), page));
  }
  void Send(std::string bytes, std::size_t times = 1) {
    MutexLock lock(mu_);
    answer_ = std::move(bytes);
    times_ = times;
  }
  // A byte at a time, without an end: there is always one more to read.
  void Trickle() { Send("x", std::numeric_limits<std::size_t>::max()); }
  // It takes connections and says nothing.
  void Hang() { Send("", 0); }

 private:
  void Serve() {
    Fd held;  // of a client that gets no answer
    while (true) {
      Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client) return;
      std::string answer;
      std::size_t times = 0;
      {
        MutexLock lock(mu_);
        answer = answer_;
        times = times_;
      }
      if (times == 0) {
        held = std::move(client);
        continue;
      }
      char request[4096];
      if (::recv(client.get(), request, sizeof(request), 0) <= 0) continue;
      for (std::size_t i = 0; i < times; ++i) {
        if (::send(client.get(), answer.data(), answer.size(), MSG_NOSIGNAL) < 0) break;
      }
    }
  }

  Fd listener_;
  int port_ = 0;
  Mutex mu_;  // between the test and the thread that serves
  std::string answer_ GALEN_GUARDED_BY(mu_);
  std::size_t times_ GALEN_GUARDED_BY(mu_) = 0;
  std::thread thread_;
};

}  // namespace galen::probes
