#include "net/fake_link.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "net/fake_connection.h"

namespace galen::net {
namespace {

// How soon connections notice that the weather changed. Coarse, so that a day of simulated time
// stays cheap.
constexpr Duration kWeatherPeriod = std::chrono::milliseconds(200);

}  // namespace

struct FakeNetwork::Impl {
  class Dialer;
  class Dialling;

  void WatchWeather();
  void LookAtWeather();
  void EndAll(const std::string& target, const Status& why);

  Loop& loop;
  Random& random;
  std::map<std::string, HttpHandler*> handlers;
  std::map<std::uint64_t, FakeConnection*> connections;
  std::uint64_t next = 0;
  Timer weather;
};

class FakeNetwork::Impl::Dialling final : public net::Dialling {
 public:
  using Done = std::function<void(StatusOr<std::unique_ptr<Connection>>)>;

  Dialling(Impl& network, const LinkWeather& weather, DialOptions options, Done done)
      : network_(network), weather_(weather), options_(std::move(options)), done_(std::move(done)) {
    // There and back, as with a real handshake.
    const Duration trip = FakeDelay(network.random, weather) + FakeDelay(network.random, weather);
    timer_ = network.loop.After(trip, [this] { Arrive(); });
    timeout_ = network.loop.After(options_.connect_timeout, [this] {
      Finish(DeadlineExceeded("dial {}: no answer in time", options_.target));
    });
  }

 private:
  void Arrive() {
    if (weather_.down) return Finish(Unavailable("dial {}: the link is down", options_.target));
    // Neither refused nor reached; connect_timeout ends it.
    if (weather_.stalled) {
      timer_ = network_.loop.After(kWeatherPeriod, [this] { Arrive(); });
      return;
    }
    const auto found = network_.handlers.find(options_.target);
    if (found == network_.handlers.end()) {
      return Finish(Unavailable("dial {}: nobody listens", options_.target));
    }
    Impl& network = network_;
    const std::uint64_t id = network.next++;
    auto connection = std::make_unique<FakeConnection>(
        FakeConnection::Parts{network.loop, network.random, weather_, *found->second, options_,
                              [&network, id] { network.connections.erase(id); }});
    network.connections[id] = connection.get();
    network.WatchWeather();
    Finish(std::unique_ptr<Connection>(std::move(connection)));
  }

  void Finish(StatusOr<std::unique_ptr<Connection>> outcome) {
    timer_.Cancel();
    timeout_.Cancel();
    const Done done = std::move(done_);
    done(std::move(outcome));  // last: it may destroy this
  }

  Impl& network_;
  const LinkWeather& weather_;
  const DialOptions options_;
  Done done_;
  Timer timer_;
  Timer timeout_;
};

class FakeNetwork::Impl::Dialer final : public net::Dialer {
 public:
  Dialer(Impl& network, const LinkWeather& weather) : network_(network), weather_(weather) {}

  std::unique_ptr<net::Dialling> Dial(
      DialOptions options,
      std::function<void(StatusOr<std::unique_ptr<Connection>>)> done) override {
    return std::make_unique<Dialling>(network_, weather_, std::move(options), std::move(done));
  }

 private:
  Impl& network_;
  const LinkWeather& weather_;
};

// Without connections there is nothing to disturb, and no timer keeps the loop from being idle.
void FakeNetwork::Impl::WatchWeather() {
  if (weather || connections.empty()) return;
  weather = loop.After(kWeatherPeriod, [this] { LookAtWeather(); });
}

void FakeNetwork::Impl::LookAtWeather() {
  const Timer ran = std::exchange(weather, Timer());
  WatchWeather();
  std::vector<std::uint64_t> ids;
  for (const auto& [id, connection] : connections) ids.push_back(id);
  // A connection that ends may take others with it, so each is looked up again.
  for (const std::uint64_t id : ids) {
    const auto found = connections.find(id);
    if (found != connections.end()) found->second->FeelWeather();
  }
}

void FakeNetwork::Impl::EndAll(const std::string& target, const Status& why) {
  for (const auto& [id, connection] : connections) {
    if (connection->target() == target) connection->EndSoon(why);
  }
}

FakeNetwork::FakeNetwork(Loop& loop, Random& random)
    : impl_(new Impl{loop, random, {}, {}, 0, Timer()}) {}

FakeNetwork::~FakeNetwork() {
  for (const auto& [id, connection] : impl_->connections) connection->ForgetNetwork();
}

void FakeNetwork::Listen(const std::string& target, HttpHandler& handler) {
  const bool added = impl_->handlers.emplace(target, &handler).second;
  GALEN_CHECK(added);
}

void FakeNetwork::StopListening(const std::string& target) {
  impl_->handlers.erase(target);
  impl_->EndAll(target, Unavailable("connection to {}: the server stopped", target));
}

void FakeNetwork::StopAccepting(const std::string& target) { impl_->handlers.erase(target); }

void FakeNetwork::EndAll(const std::string& target, const HttpHandler& handler) {
  const Status why = Unavailable("connection to {}: the server stopped", target);
  for (const auto& [id, connection] : impl_->connections) {
    if (connection->target() == target && &connection->handler() == &handler) {
      connection->EndSoon(why);
    }
  }
}

bool FakeNetwork::listening(const std::string& target) const {
  return impl_->handlers.contains(target);
}

std::unique_ptr<Dialer> FakeNetwork::MakeDialer(const LinkWeather& weather) {
  return std::make_unique<Impl::Dialer>(*impl_, weather);
}

void FakeNetwork::Cut(const std::string& target) {
  impl_->EndAll(target, Unavailable("connection to {}: cut", target));
}

}  // namespace galen::net
