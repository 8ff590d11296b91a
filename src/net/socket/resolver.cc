#include <netdb.h>

#include <cstring>
#include <utility>

#include "net/socket/connector.h"

namespace galen::net {
namespace {

// A resolver that hangs must not collect threads.
constexpr std::size_t kThreadsMax = 8;

using Addresses = StatusOr<std::vector<SocketAddress>>;

// Blocks for as long as the system's resolver does.
Addresses LookUp(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  // One entry for each address instead of one for each kind of socket.
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, &freeaddrinfo);
  if (error != 0) return Unavailable("no address for {}: {}", host, gai_strerror(error));
  std::vector<SocketAddress> out;
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    SocketAddress& address = out.emplace_back();
    std::memcpy(&address.storage, one->ai_addr, one->ai_addrlen);
    address.size = one->ai_addrlen;
  }
  return out;
}

}  // namespace

class Resolver::Lookup final : public Resolution {
 public:
  Lookup(Loop& loop, Done done) : loop_(loop), done_(std::move(done)) {}

  void NotifySoon(Addresses addresses) {
    // Numbers too are answered later, so that callers know one order of events.
    timer_ =
        loop_.At(loop_.Now(), [this, addresses = std::move(addresses)] { Deliver(addresses); });
  }

  void Deliver(Addresses addresses) {
    const Done done = std::move(done_);
    done(std::move(addresses));  // last: it may destroy this
  }

  const Liveness& liveness() const { return liveness_; }

 private:
  Loop& loop_;
  Done done_;
  Timer timer_;
  Liveness liveness_;  // a late answer finds nobody
};

std::unique_ptr<Resolution> Resolver::Resolve(const std::string& host, std::uint16_t port,
                                              Done done) {
  auto lookup = std::make_unique<Lookup>(loop_, std::move(done));
  if (const auto numeric = NumericSocketAddress(host, port)) {
    lookup->NotifySoon(std::vector<SocketAddress>{*numeric});
  } else {
    LookUpBeside(host, port, *lookup);
  }
  return lookup;
}

void Resolver::LookUpBeside(const std::string& host, std::uint16_t port, Lookup& lookup) {
  if (threads_.size() >= kThreadsMax) {
    return lookup.NotifySoon(Unavailable(
        "no address for {}: {} lookups hang, does the name server answer?", host, kThreadsMax));
  }
  const std::uint64_t number = next_thread_++;
  DetachedQueue& thread = threads_.try_emplace(number, loop_, "resolver").first->second;
  if (!thread.started().ok()) {
    lookup.NotifySoon(Annotate(thread.started(), "look up {}", host));
    threads_.erase(number);
    return;
  }
  RunFor(
      liveness_, thread, [host, port] { return LookUp(host, port); },
      [this, number, &lookup, asked = Liveness::Watch(lookup.liveness())](Addresses addresses) {
        threads_.erase(number);
        if (asked.alive()) lookup.Deliver(std::move(addresses));
      });
}

}  // namespace galen::net
