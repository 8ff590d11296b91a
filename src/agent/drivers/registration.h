// Calls GetInfo on one plugin's registration socket, again with backoff until it has given a valid
// answer, and in the manager role notifies it how that ended. A plugin that hangs or answers
// nonsense delays no other: each has its own. Belongs to the agent's loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agent/drivers/plugin_facts.h"
#include "base/log.h"
#include "base/loop/backoff.h"
#include "base/loop/loop.h"
#include "net/connection.h"
#include "rpc/channel.h"

namespace galen::agent {

// One plugin, one socket, one try at a time. As in the kubelet, each try has a fresh connection,
// closed when it is concluded. After a success it rests; a socket that is made again gets a new
// Registration. Destroying it ends whatever is under way, in silence.
class Registration {
 public:
  // As the kubelet's (pluginmanager: 1 s for GetInfo, 10 s to dial, 5 s to notify), which plugins
  // are made to meet.
  static constexpr Duration kGetInfoTimeout = std::chrono::seconds(1);
  static constexpr Duration kDialTimeout = std::chrono::seconds(10);
  static constexpr Duration kNotifyTimeout = std::chrono::seconds(5);
  // The kubelet's own: half a second, doubling to about two minutes.
  static constexpr BackoffPolicy kBackoff{.first = std::chrono::milliseconds(500),
                                          .most = std::chrono::minutes(2)};

  // `rules` judge what the plugin answers; see plugin_facts.
  struct Options {
    std::string socket;
    PluginRules rules;
    bool notify = false;  // the manager role: the plugin is notified how its registration ended
  };
  // What it needs of the agent; borrowed.
  struct Edges {
    Loop& loop;
    Random& random;
    Log& log;
    net::Dialer& dialer;
  };
  // Takes the driver in, or says why not; asked again after a refusal, with backoff. Runs on the
  // loop; must not destroy this Registration.
  using OnFacts = std::function<Status(const PluginFacts& facts)>;

  Registration(Edges edges, Options options, OnFacts on_facts);

  void Start() { Dial(); }
  // What is wrong, as a sentence; "" when nothing is, also for a plugin that is no DRA driver.
  const std::string& trouble() const { return trouble_; }

 private:
  // What one try uses: closed as soon as the try is concluded, so that a plugin sees no idle
  // connection of ours.
  struct Session {
    std::unique_ptr<net::Connection> connection;
    std::unique_ptr<rpc::Channel> channel;
    std::unique_ptr<rpc::Call> call;

    // A call ends before the connection that carries it.
    void Close() {
      call.reset();
      channel.reset();
      connection.reset();
    }
  };

  void Dial();
  void AskInfo(std::unique_ptr<net::Connection> connection);
  void OnInfo(StatusOr<PluginAnswer> answer);
  void Conclude(const PluginAnswer& answer);
  void Notify(const Status& outcome);
  // Concluded: nothing more is asked on this socket.
  void Rest();
  void TryLater(const Status& why);
  // Runs `next` from the loop: what is on the stack may belong to the session that it ends.
  void Then(std::function<void()> next);

  Edges edges_;
  const Options options_;
  const OnFacts on_facts_;
  Backoff backoff_{kBackoff};
  std::string trouble_;
  std::unique_ptr<net::Dialling> dialling_;
  Session session_;
  Timer timer_;
};

}  // namespace galen::agent
