// One connection of a FakeNetwork: two ordered pipes that feel the weather, calls at one end and
// exchanges at the other. Internal to this room; keeps the contract of the real one
// (http_contract_test). Belongs to its loop; loop, random, weather and handler outlive it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/liveness.h"
#include "base/loop/loop.h"
#include "base/random.h"
#include "net/connection.h"
#include "net/fake_link.h"

namespace galen::net {

// Messages that arrive in order, each after its delay, and not while the link is stalled or down.
// `loop`, `random` and `weather` outlive it.
class FakePipe {
 public:
  FakePipe(Loop& loop, Random& random, const LinkWeather& weather)
      : loop_(loop), random_(random), weather_(weather) {}

  // Draws the delay now, by the weather of now.
  void Put(Task deliver);
  // Looks again whether something may arrive; for when a stall is over.
  void Resume();
  // Drops what is on its way; nobody is notified.
  void Clear();

 private:
  struct Message {
    Time due;  // earlier than that of the one before: it arrives right behind it
    Task deliver;
  };

  // One timer, for the first message; none while nothing may arrive.
  void Arm();
  void DeliverFirst();

  Loop& loop_;
  Random& random_;
  const LinkWeather& weather_;
  std::deque<Message> messages_;
  Timer timer_;
};

// A time that a message takes in this weather: evenly between delay_least and delay_most.
Duration FakeDelay(Random& random, const LinkWeather& weather);

// Both ends in one object: Send is the client's side, the handler's exchanges are the server's.
class FakeConnection final : public Connection {
 public:
  // What it borrows, and the options it was dialled with (target, authority, ping_after).
  struct Parts {
    Loop& loop;
    Random& random;
    const LinkWeather& weather;
    HttpHandler& handler;
    DialOptions options;
    // Runs when this dies; the network forgets it then.
    std::function<void()> on_destroyed;
  };

  explicit FakeConnection(Parts parts);
  ~FakeConnection() override;

  std::unique_ptr<HttpCall> Send(HttpRequest request, HttpResponseSink& sink) override;
  void OnClosed(std::function<void(const Status&)> callback) override;
  bool usable() const override { return usable_; }

  const std::string& target() const { return parts_.options.target; }
  const HttpHandler& handler() const { return parts_.handler; }
  // Ends everything in the loop's next turn; what the server has not received by now is lost. The
  // first reason counts.
  void EndSoon(Status why);
  // Called now and then by the network; notices that the weather changed: a link that is down ends
  // the connection, a stall of two ping_after does so when PINGs are asked for. May destroy this.
  void FeelWeather();
  // The network is gone and with it what on_destroyed would touch.
  void ForgetNetwork() { parts_.on_destroyed = nullptr; }

 private:
  class Call;
  class Exchange;
  // A call under way at the client's end; both are borrowed, and go when the call does.
  struct Caller {
    Call* call = nullptr;
    HttpResponseSink* sink = nullptr;
    bool paced = false;
    std::size_t untaken = 0;  // of a paced answer, delivered and not taken
    // What the stream's window has no room for, in order, and its end.
    std::deque<std::string> held;
    std::optional<Headers> held_end;
  };

  // The request is at the server's end of its pipe.
  void Arrive(std::uint64_t id, HttpRequest request);
  // A piece of the answer is at the client's end of its pipe.
  void DeliverData(std::uint64_t id, std::string bytes);
  // As far as the call's window goes. May destroy this.
  void DeliverHeld(std::uint64_t id);
  void Take(std::uint64_t id, std::size_t bytes);
  // The answer's own end: after all that is held.
  void DeliverTrailers(std::uint64_t id, const Headers& trailers);
  // Reports the end to a call that is still there. May destroy this.
  void DeliverEnd(std::uint64_t id, const Status& status, const Headers& trailers);
  void EndCallSoon(std::uint64_t id, const Status& status);
  void Cancel(std::uint64_t id);
  // The server's side of a request that the client gave up, or whose connection ended.
  void LoseExchange(std::uint64_t id);
  void End(const Status& why);
  HttpResponseSink* FindSink(std::uint64_t id);

  Parts parts_;
  bool usable_ = true;
  Status closed_;
  std::uint64_t next_ = 0;
  FakePipe to_server_;
  FakePipe to_client_;
  // By the request's number; an exchange has the number of its call, and may outlive it.
  std::map<std::uint64_t, Caller> calls_;
  std::map<std::uint64_t, Exchange*> exchanges_;
  std::optional<Time> stalled_since_;
  std::function<void(const Status&)> on_closed_;
  Timer ending_;
  Liveness liveness_;
};

}  // namespace galen::net
