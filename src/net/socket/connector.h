// From an address as people write it to a connected socket: names resolved, each address tried in
// turn. Internal to this room; a step of the dialer. Belongs to its loop; loop and resolver outlive
// it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/loop/io_loop.h"
#include "net/address.h"
#include "net/socket/resolver.h"
#include "net/socket/socket.h"

namespace galen::net {

// One attempt; destroying it gives up. Has no deadline of its own.
class Connector {
 public:
  // A connected, non-blocking socket, or the last address's error when none can be reached.
  using Done = std::function<void(StatusOr<Fd>)>;

  // `done` runs once, later; it may destroy this.
  Connector(IoLoop& loop, Resolver& resolver, const Address& address, Done done);
  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;

 private:
  // Starts with the next address; `last` is what went wrong with the one before.
  void TryNext(const Status& last);
  void OnOutcome();
  void Finish(StatusOr<Fd> outcome);

  IoLoop& loop_;
  Done done_;
  Timer start_;
  std::unique_ptr<Resolution> resolution_;
  std::vector<SocketAddress> addresses_;
  std::size_t next_ = 0;
  // The one that is being tried, and its watch; the address is next_ - 1.
  Fd fd_;
  FdWatch watch_;
};

}  // namespace galen::net
