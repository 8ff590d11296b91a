// Keeps the NodeDeviceHealth object named like the node equal to what is known, by server-side
// apply, and writes nothing while nothing changes. A cluster without the kind is asked again
// slowly. Belongs to the agent's loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/node_health.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/work_queue.h"
#include "kube/client.h"

namespace galen::agent {

// The object is cluster-scoped and the agent's alone: applied with force, under one field manager.
class NodePublisher {
 public:
  // Changes are gathered this long, so that a report on hundreds of devices is one write: the
  // object is for looking at, Pods are told at once.
  static constexpr Duration kGather = std::chrono::milliseconds(250);
  // The kind is missing or we may not write it: an operator's hand is needed, which may be at
  // work right now, or never be.
  static constexpr BackoffPolicy kRefusedAgain{.first = std::chrono::seconds(5),
                                               .most = std::chrono::minutes(5)};

  struct Edges {
    Loop& loop;
    Random& random;
    Log& log;
    Metrics& metrics;
    kube::Client& client;
  };
  // The object as it should be, given the conditions it shows now.
  using Build = std::function<kube::NodeDeviceHealth(const std::vector<kube::Condition>& before)>;

  // `build` is called on the loop whenever the object may have to be written; it must give equal
  // objects for equal states, or each look would write.
  NodePublisher(Edges edges, std::string node, Build build);

  // Something that the object tells may have changed. Cheap; marks within kGather are one look.
  void MarkDirty();
  // Requests that were to change something, answered in whatever way.
  std::uint64_t writes() const { return writes_; }
  // What hinders; "" when nothing does.
  const std::string& trouble() const { return trouble_; }

 private:
  // The steps to an object that is right: see what is shown, make it if it is missing, apply its
  // status.
  enum class Step { kRead, kCreate, kApply };
  using Done = WorkQueue<std::string>::Done;

  void Reconcile(Done done);
  void Ask(Step step, net::HttpRequest request, Done done);
  void OnAnswer(Step step, const StatusOr<Json>& reply, Done done);
  void OnRead(const StatusOr<Json>& reply, Done done);
  void Create(Done done);
  void Apply(Done done);
  void Refused(const Status& status, Done done);

  Edges edges_;
  const std::string node_;
  const Build build_;
  // What the server shows; nullopt: not asked yet.
  std::optional<kube::NodeDeviceHealth> shown_;
  // What is under way; becomes shown_ when the server has taken it.
  std::optional<kube::NodeDeviceHealth> sent_;
  std::string trouble_;
  std::uint64_t writes_ = 0;
  std::unique_ptr<net::HttpCall> call_;
  bool gather_pending_ = false;
  Backoff refusals_{kRefusedAgain};
  Time refused_until_{};
  Timer gather_, again_;
  WorkQueue<std::string> queue_;  // of one key, for its merging and its backoff
};

}  // namespace galen::agent
