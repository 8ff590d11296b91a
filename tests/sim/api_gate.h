// The way of one node to the API server as a fault can make it: blocked in one direction, refusing,
// losing answers of writes that took effect, slow with watches, sending events twice or that they
// are too old. Stands before the embedded API; what connections do wrong is FakeNetwork's. It also
// looks at every write of the node's agent, and can spoil it as a broken agent would
// (agent_mutant.h). Belongs to the world's loop; what is borrowed outlives it.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop/loop.h"
#include "base/random.h"
#include "net/http.h"
#include "tests/sim/agent_mutant.h"
#include "tests/sim/whole_answer.h"

namespace galen::sim {

// How bad it is right now; nothing of it by itself.
struct GateWeather {
  // One direction of a partition. What was sent arrives when it clears, if its sender still waits.
  bool requests_wait = false;
  bool answers_wait = false;  // requests take effect meanwhile
  // Requests that are refused so: 429 and 503 with Retry-After, 409 and 500 without. A 409 is for
  // writes only.
  int refuse_with = 0;
  double refuse_chance = 0;
  // Writes that take effect and whose answer is lost with the stream.
  double lost_answer_chance = 0;
  // Each event of a watch is up to so late, in order, so that two watches overtake each other.
  Duration watch_delay_most{};
  bool events_twice = false;
  // New watches that are ended at once because their version is too old.
  double gone_chance = 0;

  bool operator==(const GateWeather&) const = default;
};

class ApiGate final : public net::HttpHandler {
 public:
  // A write of the agent to a Pod or to the node's object that was answered with success.
  struct Write {
    std::string object;    // its path, without the subresource
    bool changed = false;  // the object has another version than after the agent's last write to it
    std::string body;
    std::string after;  // the object as it is then
  };

  ApiGate(Loop& loop, Random& random, net::HttpHandler& api);
  ~ApiGate() override;

  void Handle(std::unique_ptr<net::HttpExchange> exchange) override;

  const GateWeather& weather() const { return weather_; }
  // Lets go what no longer has to wait.
  void SetWeather(const GateWeather& weather);
  // Every open watch gets an error that it is too old, ends in the middle of an event, or gets a
  // bookmark.
  void ExpireWatches();
  void TearWatches();
  void SendBookmarks();

  // The agent behind this gate is broken so from now on.
  void Break(AgentMutant mutant) { mutant_ = mutant; }
  void OnWrite(std::function<void(const Write&)> listener) { on_write_ = std::move(listener); }
  // Called with each Event as it is after a write of it that took effect.
  void OnEvent(std::function<void(const std::string& object)> listener) {
    on_event_ = std::move(listener);
  }
  // Whether answers are lost or refused now, so that a sender may rightly say a thing twice.
  bool doubtful() const { return weather_ != GateWeather(); }

 private:
  class WatchRelay;
  struct LateAnswer {
    std::unique_ptr<net::HttpExchange> exchange;
    WholeAnswer answer;
  };

  // Past what may keep a request away.
  void Admit(std::unique_ptr<net::HttpExchange> exchange);
  void AdmitWatch(std::unique_ptr<net::HttpExchange> exchange);
  // Nullopt: nobody refuses it.
  std::optional<WholeAnswer> Refusal(const net::HttpRequest& request);
  WholeAnswer Ask(const net::HttpRequest& request);
  // What an agent's write comes to, spoilt by the mutant.
  WholeAnswer AskForAgent(const net::HttpRequest& request);
  void Note(const net::HttpRequest& request, const WholeAnswer& answer);
  WholeAnswer AskForEvent(const net::HttpRequest& request);
  void Repeat();
  // The newest of the writes to an object that wait so is done when the first is due.
  void WriteLate(const net::HttpRequest& write);

  Loop& loop_;
  Random& random_;
  net::HttpHandler& api_;
  GateWeather weather_;
  std::list<std::unique_ptr<net::HttpExchange>> held_;
  std::list<LateAnswer> late_;
  std::vector<WatchRelay*> watches_;  // the oldest first: addresses differ from run to run
  AgentMutant mutant_ = AgentMutant::kNone;
  int expired_ = 0;                                       // how often watches did
  std::list<std::unique_ptr<net::HttpExchange>> silent_;  // watches of kDeafAfterASecond410
  int agent_writes_ = 0;
  std::function<void(const Write&)> on_write_ = [](const Write&) {};
  std::function<void(const std::string& object)> on_event_ = [](const std::string&) {};
  std::map<std::string, std::string> versions_;  // of objects, after the agent's last write
  std::optional<net::HttpRequest> last_write_;
  Timer repeat_;
  struct Delayed {
    net::HttpRequest write;
    Timer timer;
  };
  std::map<std::string, Delayed> delayed_;  // by object
};

}  // namespace galen::sim
