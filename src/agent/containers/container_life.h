// One container from its first start to its last end: how often it started, how it ended, and when
// it may start again. Knows no process and no clock: it is handed both. Values; pure. Rules:
// https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#container-restarts
#pragma once

#include <optional>
#include <string>

#include "agent/containers/container_plan.h"

namespace galen::agent {

// How a run of a container ended.
struct RunEnd {
  int code = 0;         // 128 + the signal where one ended it, as container runtimes write it
  int signal = 0;       // 0: none
  std::string reason;   // "Completed", "Error", "OOMKilled", "StartError", "ContainerStatusUnknown"
  std::string message;  // what it left in its termination log, or why it could not start
  WallTime started, finished;

  bool operator==(const RunEnd&) const = default;
};

// The waits between the runs of one container: none the first time, then 10 s, doubling to 5
// minutes; a run of more than 10 minutes forgets what was before it.
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

class ContainerLife {
 public:
  using Kind = kube::Container::Kind;
  enum class State { kWaiting, kRunning, kEnded };

  ContainerLife(Kind kind, RestartPolicy policy) : kind_(kind), policy_(policy) {}

  // What an agent before this one said of it: how often it was restarted, and its last end, if it
  // had one; without an end it never ran. Before anything else. It may start again at once.
  void Restore(int restarts, const std::optional<RunEnd>& last, Time now);
  // A process of it runs. REQUIRES: it does not run already.
  void OnStarted(Time now, WallTime wall);
  // The process has ended. REQUIRES: it runs.
  void OnEnded(const RunEnd& end, Time now);
  // It was not tried, for a reason that may pass until `again`; Time::max(): it will not.
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
  // Of the present run. REQUIRES: running.
  WallTime started() const { return started_; }
  // The newest end, and the one before it.
  const std::optional<RunEnd>& last_end() const { return end_; }
  const std::optional<RunEnd>& end_before() const { return before_; }
  // Between two runs: how long it waits, zero for the first restart.
  Duration delay() const { return delay_; }
  bool restarts_again() const { return state_ == State::kEnded && restarts_again_; }
  // Why it could not be tried; "" when nothing keeps it from starting.
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

}  // namespace galen::agent
