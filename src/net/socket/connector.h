// From an address as people write it to a connected socket: names resolved, each address tried in
// turn. Internal to this room; a step of the dialer. Belongs to its loop; loop and resolver outlive
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/files/detached_queue.h"
#include "base/liveness.h"
#include "base/loop/io_loop.h"
#include "base/loop/loop.h"
#include "base/status.h"
#include "net/address.h"
#include "net/socket/socket.h"

namespace galen::net {

// A name being looked up. Destroying it gives up.
class Resolution {
 public:
  virtual ~Resolution() = default;
};

// Names to addresses, by the system's resolver. Belongs to its loop. Numbers are answered without a
// thread. For a name a short-lived thread waits in getaddrinfo, which cannot be interrupted; the
// thread may outlive the resolver, and its result is then dropped. At most eight threads hang at a
// time; past that a lookup is Unavailable at once. Nothing is cached: the system's resolver does
// that, and a dial is rare.
class Resolver {
 public:
  using Done = std::function<void(StatusOr<std::vector<SocketAddress>>)>;

  // The loop outlives the resolver, the resolver all resolutions.
  explicit Resolver(Loop& loop) : loop_(loop) {}
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // `done` runs once, later, on the loop, unless the Resolution is destroyed first; it may destroy
  // it. Gives at least one address, in the system's order of preference (RFC 6724), or Unavailable:
  // a name that is not known now may be known later. ResourceExhausted when no thread can be
  // started.
  std::unique_ptr<Resolution> Resolve(const std::string& host, std::uint16_t port, Done done);

 private:
  class Lookup;

  // Looks the name up on a thread of its own, for a Lookup that may be gone by then.
  void LookUpBeside(const std::string& host, std::uint16_t port, Lookup& lookup);

  Loop& loop_;
  Liveness liveness_;
  // The threads of lookups under way, also of those that were given up, by number. A thread may
  // outlive this.
  std::map<std::uint64_t, DetachedQueue> threads_;
  std::uint64_t next_thread_ = 0;
};

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
