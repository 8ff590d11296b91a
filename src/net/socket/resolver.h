// Names to addresses, by the system's resolver. Internal to this room. Belongs to its loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop/loop.h"
#include "base/status.h"
#include "net/socket/socket.h"

namespace galen::net {

// A name being looked up. Destroying it gives up.
class Resolution {
 public:
  virtual ~Resolution() = default;
};

// Numbers are answered without a thread. For a name a short-lived thread waits in getaddrinfo,
// which cannot be interrupted; the thread may outlive the resolver, and its result is then dropped.
// At most eight threads hang at a time; past that a lookup is Unavailable at once. Nothing is
// cached: the system's resolver does that, and a dial is rare.
class Resolver {
 public:
  using Done = std::function<void(StatusOr<std::vector<SocketAddress>>)>;

  // The loop outlives the resolver, the resolver all resolutions.
  explicit Resolver(Loop& loop);
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;
  ~Resolver();

  // `done` runs once, later, on the loop, unless the Resolution is destroyed first; it may destroy
  // it. Gives at least one address, in the system's order of preference (RFC 6724), or Unavailable:
  // a name that is not known now may be known later. ResourceExhausted when no thread can be
  // started.
  std::unique_ptr<Resolution> Resolve(const std::string& host, std::uint16_t port, Done done);

 private:
  struct Shared;
  class Lookup;

  Loop& loop_;
  // Shared with threads that are still waiting for an answer when the resolver dies.
  std::shared_ptr<Shared> shared_;
};

}  // namespace galen::net
