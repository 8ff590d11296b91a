// A machine whose sockets are in memory, and a handler that takes every request and answers none.
// For tests. No test of its own: those of fake_socket_host and socket_keeper lean on it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/files/fake_file_system.h"
#include "base/loop/fake_loop.h"
#include "base/random.h"
#include "net/endpoint/fake_socket_host.h"
#include "net/fake_keeping_handler.h"
#include "net/fake_link.h"

namespace galen::net {

struct FakeSocketPlace {
  // Whether somebody listens there.
  bool Connects(const std::string& path) {
    std::unique_ptr<Connection> connected;
    DialOptions options;
    options.target = "unix:" + path;
    const auto dialling = dialer->Dial(options, [&](StatusOr<std::unique_ptr<Connection>> made) {
      if (made.ok()) connected = std::move(*made);
    });
    loop.RunUntilIdle();
    return connected != nullptr && connected->usable();
  }

  FakeLoop loop;
  Random random{7};
  FakeFileSystem files;
  LinkWeather weather;
  FakeNetwork network{loop, random};
  FakeSocketHost sockets{loop, network};
  KeepingHandler handler;
  std::unique_ptr<Dialer> dialer = network.MakeDialer(weather);
};

}  // namespace galen::net
