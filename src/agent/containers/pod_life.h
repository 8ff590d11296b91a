// The order in which the containers of one Pod start and end: init containers one after the other,
// sidecars beside what follows them, the main ones together, and at the end sidecars last. Decides
// and does nothing: whoever runs the processes asks what to do, does it, and reports what became of
// it. Knows no clock. Rules:
// https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/
// https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination
#pragma once

#include <string_view>
#include <vector>

#include "agent/containers/container_life.h"

namespace galen::agent {

class PodLife {
 public:
  // kTerminate: SIGTERM to its processes. kKill: SIGKILL.
  struct Action {
    enum class Kind { kStart, kTerminate, kKill };
    Kind kind = Kind::kStart;
    std::size_t container = 0;  // its place in the plan

    bool operator==(const Action&) const = default;
  };

  explicit PodLife(const PodPlan& plan);

  // What is to be done now. Terminate and kill are given once each; a start is given until the
  // container's OnStarted or OnUnable was called. Ask again after each answer and at due(), until
  // nothing is left to do.
  std::vector<Action> Decide(Time now);
  // When Decide has something new to say although nothing happened; Time::max(): never.
  Time due() const;
  // The Pod is to go: nothing starts any more, and at `kill_at` what still runs is killed. Again:
  // only an earlier time counts.
  void End(Time kill_at);

  ContainerLife& container(std::size_t index) { return members_[index].life; }
  const ContainerLife& container(std::size_t index) const { return members_[index].life; }
  std::size_t size() const { return members_.size(); }

  // "Pending", "Running", "Succeeded" or "Failed". An end is shown only when nothing runs any more.
  std::string_view phase() const;
  // Whether every init container is through and every sidecar has started once.
  bool initialized() const { return initialized_; }
  // It was asked to go, or has come to its end by itself.
  bool ending() const { return ending_; }
  bool anything_runs() const;

 private:
  using Kind = ContainerLife::Kind;
  struct Member {
    ContainerLife life;
    bool terminated = false;  // SIGTERM was sent
    bool killed = false;
  };

  std::vector<std::size_t> InTurn() const;
  std::vector<Action> DecideEnd(Time now);
  // An init container failed, and the policy lets it at that.
  bool InitFailed() const;
  // No main container will ever run again.
  bool Completed() const;
  void BeginEnd(Time kill_at);

  const Duration grace_;
  std::vector<Member> members_;  // init containers first, as in the plan
  bool initialized_ = false;
  bool ending_ = false;
  Time kill_at_ = Time::max();
};

}  // namespace galen::agent
