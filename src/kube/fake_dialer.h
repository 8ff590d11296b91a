// Connections without sockets, with everything that can happen to one in a test's hands: for the
// transport, which the FakeTransport and the dialer must outlive. One loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/loop/loop.h"
#include "kube/fake_transport.h"
#include "net/connection.h"

namespace galen::kube {

// A connection whose answers a test gives; all connections of a test share one FakeTransport.
class FakeServerConnection final : public net::Connection {
 public:
  FakeServerConnection(FakeTransport& answers, int& alive) : answers_(answers), alive_(alive) {
    ++alive_;
  }
  ~FakeServerConnection() override { --alive_; }

  std::unique_ptr<net::HttpCall> Send(net::HttpRequest request,
                                      net::HttpResponseSink& sink) override {
    ++sent;
    return answers_.Send(std::move(request), sink);
  }
  void OnClosed(std::function<void(const Status&)> callback) override {
    closed = std::move(callback);
  }
  bool usable() const override { return good; }

  // What usable() says; a GOAWAY is played by false.
  bool good = true;
  int sent = 0;
  // The callback that the transport has set; a test plays a lost connection by calling it.
  std::function<void(const Status&)> closed;

 private:
  FakeTransport& answers_;
  int& alive_;
};

// Opens FakeConnections after a while, or refuses; keeps how it was asked. One loop.
class FakeDialer final : public net::Dialer {
 public:
  FakeDialer(Loop& loop, FakeTransport& answers) : loop_(loop), answers_(answers) {}

  std::unique_ptr<net::Dialling> Dial(
      net::DialOptions options,
      std::function<void(StatusOr<std::unique_ptr<net::Connection>>)> done) override {
    dials.push_back(std::move(options));
    auto dialling = std::make_unique<Pending>();
    dialling->timer = loop_.After(delay, [this, done = std::move(done)] {
      const auto copy = done;
      if (!refusal.ok()) return copy(refusal);
      auto connection = std::make_unique<FakeServerConnection>(answers_, alive);
      connections.push_back(connection.get());
      copy(std::unique_ptr<net::Connection>(std::move(connection)));
    });
    return dialling;
  }

  Status refusal;  // of dials that end from now on
  Duration delay = std::chrono::milliseconds(10);
  std::vector<net::DialOptions> dials;
  std::vector<FakeServerConnection*> connections;
  int alive = 0;

 private:
  struct Pending final : net::Dialling {
    Timer timer;
  };
  Loop& loop_;
  FakeTransport& answers_;
};

}  // namespace galen::kube
