// Asks the kubelet which devices its Pods have (v1.PodResourcesLister, List) when there is a reason
// to, and now and then: never as a poll. The API has no watch, and the only other way, a second
// ListAndWatch of a plugin, steals events from some plugins (docs/adr/0029). A kubelet that is
// slow, absent or answers nonsense delays nothing else. Belongs to the agent's loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/holdings/pod_resources.h"
#include "base/log.h"
#include "base/loop/loop.h"
#include "base/metrics.h"
#include "base/repeated_log.h"
#include "net/connection.h"
#include "rpc/channel.h"

namespace galen::agent {

class PodResourcesReader {
 public:
  // A new Pod changes several times within a moment: one question is enough.
  static constexpr Duration kRest = std::chrono::milliseconds(300);
  // The least time between two questions, so that many Pods that start share one.
  static constexpr Duration kLeast = std::chrono::seconds(2);
  // The kubelet answers from memory, in milliseconds.
  static constexpr Duration kDeadline = std::chrono::seconds(5);
  // How often it is asked when nothing changes, to repair whatever was missed.
  static constexpr Duration kPeriod = std::chrono::minutes(5);
  // After a failure, or while the kubelet does not know yet what a Pod has; doubles up to kPeriod.
  static constexpr Duration kAgain = std::chrono::seconds(3);
  // Twice what a node of 250 Pods needs that lists its processors for each container.
  static constexpr std::size_t kAnswerBytesMax = std::size_t{8} << 20;

  // What it needs of the agent; borrowed.
  struct Edges {
    Loop& loop;
    Log& log;
    Metrics& metrics;
    net::Dialer& dialer;
  };
  // Which kubelet to ask, and for which node.
  struct Options {
    std::string socket;  // the kubelet's
    std::string node;
  };
  // Calls to the reader's owner.
  struct Calls {
    std::function<void()> on_ask;  // right before the kubelet is asked
    std::function<void(const PodResourcesAnswer&)> on_answer;
    // Whether a Pod requests devices of a plugin and the kubelet has not listed them yet.
    std::function<bool()> waits;
    // Whether some Pod has devices that only the kubelet knows of: only then is it a trouble that
    // it does not answer.
    std::function<bool()> needs;
  };

  PodResourcesReader(Edges edges, Options options, Calls calls)
      : edges_(edges), options_(std::move(options)), calls_(std::move(calls)) {}

  // Something may have changed: asks soon.
  void Look();
  // nullopt: the kubelet has not answered yet.
  std::optional<Time> first_answer() const { return first_answer_; }
  // What is wrong, as a sentence; "" when nothing is, or when no Pod needs the answer.
  std::string trouble() const;

 private:
  void Plan(Duration delay);
  void Ask();
  void OnConnected(std::unique_ptr<net::Connection> connection);
  void OnReply(const StatusOr<std::string>& reply);
  void Conclude(const Status& status);
  void Take(const PodResourcesAnswer& answer);
  void Close();

  Edges edges_;
  const Options options_;
  const Calls calls_;
  std::optional<Time> first_answer_;
  bool asking_ = false;
  bool again_ = false;  // something changed while the kubelet was asked
  std::string trouble_;
  std::optional<Time> asked_;
  std::optional<Time> planned_;
  Duration wait_ = kAgain;
  LogOnce logged_;
  std::unique_ptr<net::Dialling> dialling_;
  // A call ends before the connection that carries it.
  std::unique_ptr<net::Connection> connection_;
  std::unique_ptr<rpc::Channel> channel_;
  std::unique_ptr<rpc::Call> call_;
  Timer next_;
  Timer conclude_;
};

}  // namespace galen::agent
