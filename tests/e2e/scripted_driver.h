// A DRA driver that does what a test says: on real sockets, with one device, within the test's own
// process. For what our own driver never does. Belongs to its stage's loop and runs while the stage
// waits.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "net/endpoint/server.h"
#include "rpc/service.h"
#include "tests/e2e/stage.h"

namespace galen::e2e {

class ScriptedDriver {
 public:
  // Listens below the stage's directory "kubelet", as a driver of that name. Says that "gpu-0" of
  // the pool "node-7" is well, twice a second; without health it has no stream and says nothing.
  ScriptedDriver(Stage& stage, std::string name, bool with_health = true);
  ~ScriptedDriver();
  ScriptedDriver(const ScriptedDriver&) = delete;

  // From now on it sends nothing on any stream, or sends again.
  void Hang(bool hang);
  // Ends its health streams as if all were said; the connection stands.
  void EndStreams();
  // Health streams that are open.
  std::size_t streams() const { return streams_.size(); }

 private:
  void ServeRegistration();
  void ServeClaims();
  void ServeHealth();
  void Report();

  Stage& stage_;
  const std::string name_, endpoint_;
  const bool with_health_;
  rpc::Dispatcher registration_, service_;
  std::unique_ptr<net::Server> data_server_, registration_server_;
  std::map<int, std::unique_ptr<rpc::StreamWriter>> streams_;
  int streams_opened_ = 0;
  bool hangs_ = false;
  Timer timer_;
};

}  // namespace galen::e2e
