#include "net/socket/connector.h"

#include <utility>

namespace galen::net {

Connector::Connector(IoLoop& loop, Resolver& resolver, const Address& address, Done done)
    : loop_(loop), done_(std::move(done)) {
  if (address.kind == Address::Kind::kTcp) {
    resolution_ = resolver.Resolve(address.host, address.port,
                                   [this](StatusOr<std::vector<SocketAddress>> found) {
                                     if (!found.ok()) return Finish(found.status());
                                     addresses_ = *std::move(found);
                                     TryNext(NotFound("the name has no address"));
                                   });
    return;
  }
  // Later even where the answer is known: `done` never runs inside the constructor.
  start_ = loop_.At(loop_.Now(), [this, path = address.path] {
    const StatusOr<SocketAddress> local = UnixSocketAddress(path);
    if (!local.ok()) return Finish(local.status());
    addresses_ = {*local};
    TryNext(OkStatus());
  });
}

void Connector::TryNext(const Status& last) {
  Status error = last;
  while (next_ < addresses_.size()) {
    StatusOr<Fd> fd = StartConnect(addresses_[next_++]);
    error = fd.status();
    if (!fd.ok()) continue;
    fd_ = *std::move(fd);
    // Writable: connected or refused, ConnectOutcome knows which.
    watch_ = loop_.WatchFd(fd_.get(), {.readable = false, .writable = true, .hung_up = false},
                           [this](Readiness) { OnOutcome(); });
    return;
  }
  Finish(error);
}

void Connector::OnOutcome() {
  // Before the descriptor goes: its number may be another's at once.
  watch_.Cancel();
  const Status status = ConnectOutcome(fd_.get(), addresses_[next_ - 1]);
  if (status.ok()) return Finish(std::move(fd_));
  fd_.Reset();
  TryNext(status);
}

void Connector::Finish(StatusOr<Fd> outcome) {
  // Moved out of the member: the call may destroy this.
  const Done done = std::move(done_);
  done(std::move(outcome));
}

}  // namespace galen::net
