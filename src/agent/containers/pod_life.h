// The order in which the containers of one Pod start and end: init containers one after the other,
// sidecars beside what follows them, the main ones together, and at the end sidecars last. Decides
// and does nothing: whoever runs the processes asks what to do, does it, and reports what became of
// it. Values: no clock, no thread, no I/O. Rules:
// https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/
// https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/containers/container_plan.h"

namespace galen::agent {

// How a run of a container ended.
struct RunEnd {
  int code = 0;  // 128 + the signal where one ended it, as container runtimes write it
  std::optional<int> signal{};  // the one that ended it
  std::string reason;   // "Completed", "Error", "OOMKilled", "StartError", "ContainerStatusUnknown"
  std::string message;  // what it left in its termination log, or why it could not start
  WallTime started, finished;

  bool operator==(const RunEnd&) const = default;
};

// The waits between the runs of one container: none the first time, then 10 s, doubling to 5
// minutes; a run of more than 10 minutes begins anew. A value; no clock.
class RestartDelay {
 public:
  static constexpr Duration kFirst = std::chrono::seconds(10);
  static constexpr Duration kMost = std::chrono::minutes(5);
  static constexpr Duration kForgetAfter = std::chrono::minutes(10);

  // After a run that lasted `ran`: how long to wait before the next.
  Duration Next(Duration ran);

 private:
  Duration next_ = Duration::zero();
};

// One container from its first start to its last end: how often it started, how it ended, and when
// it may start again. A value without process or clock: callers pass the events and the time.
// Rules: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#container-restarts
class ContainerLife {
 public:
  using Kind = kube::Container::Kind;
  // Where the container is between its starts and ends.
  enum class State { kWaiting, kRunning, kEnded };

  ContainerLife(Kind kind, RestartPolicy policy) : kind_(kind), policy_(policy) {}

  // What an agent before this one recorded: how often it was restarted, and its last end, if it
  // had one; without an end it never ran. Before anything else. It may start again at once.
  void Restore(int restarts, const std::optional<RunEnd>& last, Time now);
  // Its process was started. REQUIRES: none runs.
  void OnStarted(Time now, WallTime wall);
  // Its process has ended. REQUIRES: it ran.
  void OnEnded(const RunEnd& end, Time now);
  // It could not be tried, for a reason that may pass until `again`; Time::max(): it will not.
  void OnUnable(std::string reason, std::string message, Time again);

  State state() const { return state_; }
  bool running() const { return state_ == State::kRunning; }
  // Ended for good, by its policy; never true while it runs or waits.
  bool done() const { return state_ == State::kEnded && !restarts_again_; }
  bool succeeded() const { return done() && end_->code == 0; }
  // When it may start, if it is its turn; Time::max() while it runs and after its last end.
  Time start_at() const { return start_at_; }
  // Whether any run of it has begun, by this agent or one before it.
  bool ever_ran() const { return ever_ran_; }

  Kind kind() const { return kind_; }
  int restarts() const { return restarts_; }
  // When the present run started. REQUIRES: running.
  WallTime started() const { return started_; }
  // The newest end, and the one before it.
  const std::optional<RunEnd>& last_end() const { return end_; }
  const std::optional<RunEnd>& end_before() const { return before_; }
  // Between two runs: how long it waits, zero for the first restart.
  Duration delay() const { return delay_; }
  bool restarts_again() const { return state_ == State::kEnded && restarts_again_; }
  // Why it could not be tried; "" when there is no such reason.
  const std::string& hindrance() const { return hindrance_; }
  const std::string& hindrance_message() const { return hindrance_message_; }

 private:
  bool RestartsAfter(int code) const;

  const Kind kind_;
  const RestartPolicy policy_;
  State state_ = State::kWaiting;
  Time start_at_{};
  Time began_{};
  WallTime started_{};
  bool ever_ran_ = false;
  bool restarts_again_ = false;
  int restarts_ = 0;
  RestartDelay delays_;
  Duration delay_ = Duration::zero();
  std::optional<RunEnd> end_, before_;
  std::string hindrance_, hindrance_message_;
};

// The containers of one Pod, in the order in which they start and end.
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
  // Whether every init container has succeeded and every sidecar has started once.
  bool initialized() const { return initialized_; }
  // It was asked to end, or has ended by itself.
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
  // An init container failed, and the restart policy does not retry it.
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
