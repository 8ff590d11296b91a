// A network without sockets: hands requests to a handler on the same loop after a delay, and can
// lose, stall and cut. Implements the same seams as the real thing (Dialer, Connection,
// HttpHandler) and keeps the same contract. For tests and simulated clusters; with one seed a run
// is the same each time. Belongs to its loop; loop and random outlive it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/loop/loop.h"
#include "base/random.h"
#include "net/connection.h"

namespace galen::net {

// How bad the network is; a value that its owner changes while it runs. Read at each use: open
// connections notice within 0.2 s of simulated time.
struct LinkWeather {
  Duration delay_least = Duration::zero();
  Duration delay_most = Duration::zero();  // each message takes between the two, in order
  bool down = false;        // dials fail, calls get Unavailable, open ones end within 0.2 s
  bool stalled = false;     // nothing arrives until 0.2 s after it clears, at most (half-open)
  double call_failure = 0;  // chance that a new call ends with Unavailable
};

// A network of named places that handlers listen at and clients dial, for a whole simulated
// cluster. May die before or after the connections that it made; dialers and dials go first.
class FakeNetwork {
 public:
  FakeNetwork(Loop& loop, Random& random);
  ~FakeNetwork();

  // Listens at `target` ("unix:/node-1/reg.sock") until StopListening; its connections end then.
  // `handler` outlives that. The target is any text; REQUIRES: nobody listens there.
  void Listen(const std::string& target, HttpHandler& handler);
  void StopListening(const std::string& target);
  // Nobody new is let in from now on, and another may listen here; connections that stand go on.
  // `handler` outlives them: EndAll.
  void StopAccepting(const std::string& target);
  // Ends what was dialled at `target` while `handler` listened there.
  void EndAll(const std::string& target, const HttpHandler& handler);
  bool listening(const std::string& target) const;

  // A dialer whose connections feel `weather`, e.g. one for each node. `weather` outlives the
  // dialer and its connections.
  std::unique_ptr<Dialer> MakeDialer(const LinkWeather& weather);
  // Ends every open connection to `target`, as a crash or a RST would.
  void Cut(const std::string& target);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace galen::net
