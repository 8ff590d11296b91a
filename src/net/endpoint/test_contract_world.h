// Places where a server listens and a client dials, for tests that hold in all of them: what is
// promised of HttpClient, HttpExchange and Dialer must not depend on what is below. A test runs on
// one thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "net/connection.h"
#include "net/http.h"

namespace galen::net {

class ContractWorld {
 public:
  enum class Kind { kUnixSocket, kTls, kFakeNetwork };
  static std::unique_ptr<ContractWorld> Make(Kind kind);
  virtual ~ContractWorld() = default;

  virtual Loop& loop() = 0;
  // Runs the loop until `done()`. Fails the process when it takes too long.
  virtual void RunUntil(const std::function<bool()>& done) = 0;
  // At the one place of this world. Once, and again after StopServer. `handler` outlives the
  // server.
  virtual void Listen(HttpHandler& handler) = 0;
  virtual void StopServer() = 0;
  virtual std::unique_ptr<Dialling> Dial(
      std::function<void(StatusOr<std::unique_ptr<Connection>>)> done) = 0;

  // Dials until a connection stands.
  std::unique_ptr<Connection> Connect();
};

std::string ToString(ContractWorld::Kind kind);

}  // namespace galen::net
