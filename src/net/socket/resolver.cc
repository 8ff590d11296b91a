#include <netdb.h>

#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "base/liveness.h"
#include "base/mutex.h"
#include "net/socket/connector.h"

namespace galen::net {
namespace {

// A resolver that hangs must not collect threads.
constexpr int kThreadsMax = 8;

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

// A loop would not do here: the thread must know whether there still is one to post to.
struct Resolver::Shared {
  explicit Shared(Loop& loop_in) : loop(&loop_in) {}

  Mutex mu;  // the thread and the loop's end
  Loop* loop GALEN_GUARDED_BY(mu);
  int threads GALEN_GUARDED_BY(mu) = 0;
};

class Resolver::Lookup final : public Resolution {
 public:
  Lookup(Loop& loop, Done done) : loop_(loop), done_(std::move(done)) {}

  void NotifySoon(Addresses addresses) {
    // Numbers too are answered later, so that callers know one order of events.
    timer_ =
        loop_.At(loop_.Now(), [this, addresses = std::move(addresses)] { Deliver(addresses); });
  }

  void StartThread(const std::shared_ptr<Shared>& shared, std::string host, std::uint16_t port) {
    {
      MutexLock lock(shared->mu);
      if (shared->threads >= kThreadsMax) {
        return NotifySoon(Unavailable(
            "no address for {}: {} lookups hang, does the name server answer?", host, kThreadsMax));
      }
      ++shared->threads;
    }
    // The one place where the standard library has no other way to report it.
    try {
      std::thread(LookUpAndPost, shared, std::move(host), port, this, Liveness::Watch(liveness_))
          .detach();
    } catch (const std::system_error& error) {
      // Held while posting: the resolver, and so the loop, cannot go in between.
      MutexLock lock(shared->mu);
      --shared->threads;
      NotifySoon(ResourceExhausted("start a thread for a lookup: {}", error.what()));
    }
  }

 private:
  // What a lookup's thread does. It only carries `self` and its watch, which the loop looks at.
  static void LookUpAndPost(const std::shared_ptr<Shared>& shared, const std::string& host,
                            std::uint16_t port, Lookup* self, const Liveness::Watch& watch) {
    Addresses addresses = LookUp(host, port);
    MutexLock lock(shared->mu);
    --shared->threads;
    if (shared->loop == nullptr) return;
    shared->loop->Post([self, watch, addresses = std::move(addresses)] {
      if (watch.alive()) self->Deliver(addresses);
    });
  }

  void Deliver(Addresses addresses) {
    const Done done = std::move(done_);
    done(std::move(addresses));  // last: it may destroy this
  }

  Loop& loop_;
  Done done_;
  Timer timer_;
  Liveness liveness_;  // a late answer finds nobody
};

Resolver::Resolver(Loop& loop) : loop_(loop), shared_(std::make_shared<Shared>(loop)) {}

Resolver::~Resolver() {
  MutexLock lock(shared_->mu);
  shared_->loop = nullptr;
}

std::unique_ptr<Resolution> Resolver::Resolve(const std::string& host, std::uint16_t port,
                                              Done done) {
  auto lookup = std::make_unique<Lookup>(loop_, std::move(done));
  if (const auto numeric = NumericSocketAddress(host, port)) {
    lookup->NotifySoon(std::vector<SocketAddress>{*numeric});
  } else {
    lookup->StartThread(shared_, host, port);
  }
  return lookup;
}

}  // namespace galen::net
