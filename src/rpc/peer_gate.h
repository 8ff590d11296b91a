// Lets callers of a unix socket through who are the user that we run as, or root, and refuses all
// others, should the mode of the socket or of its directory ever be wider than it was made. Belongs
// to its loop.
#pragma once

#include <sys/types.h>

#include <memory>

#include "base/log.h"
#include "base/repeated_log.h"
#include "net/http.h"

namespace galen::rpc {

// Stands before a Dispatcher.
class PeerGate final : public net::HttpHandler {
 public:
  // `own` is the user that we run as. What is lent outlives the gate.
  PeerGate(Log& log, uid_t own, net::HttpHandler& behind) : log_(log), own_(own), behind_(behind) {}

  // A stranger gets PERMISSION_DENIED, which is logged once for each user. A caller of whom nothing
  // is known came over no unix socket: who may do that is for the server to say.
  void Handle(std::unique_ptr<net::HttpExchange> exchange) override;

 private:
  Log& log_;
  const uid_t own_;
  net::HttpHandler& behind_;
  LogOnce refused_;
};

}  // namespace galen::rpc
