// Runs the commands that a table's signs name, for each device, and shows what they say. A command
// that hangs holds up no other check and no other device. Belongs to its loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/liveness.h"
#include "base/log.h"
#include "base/loop/loop.h"
#include "base/metrics.h"
#include "base/time.h"
#include "probes/command/command_runner.h"
#include "probes/placeholders.h"
#include "probes/rules/rule.h"
#include "probes/rules/sign.h"

namespace galen::probes {

// How often a command runs: as its sign says, and more seldom while it costs too much or does not
// end. A value; no clock.
class CheckPace {
 public:
  // The most of one processor that a command may use over time.
  static constexpr double kCpuShareMost = 0.05;
  // Its interval doubles up to this many times what the sign says.
  static constexpr int kSlowdownMost = 16;

  explicit CheckPace(Duration every) : every_(every) {}

  // When it runs next; Time::min() before the first run.
  Time due() const { return began_ ? *began_ + interval() : Time::min(); }
  Duration interval() const { return every_ * slowdown_; }
  void Begin(Time now) { began_ = now; }
  // The run ended, or was killed at its timeout. A run that used more than its share of the
  // interval doubles the interval; one that would be within its share at half the interval halves
  // it.
  void End(Duration cpu, bool timed_out);

 private:
  Duration every_;
  int slowdown_ = 1;
  std::optional<Time> began_;
};

// As much of a command's line as goes into a sentence: what node-problem-detector shows of a
// plugin's message by default (max_output_length).
inline constexpr std::size_t kDetailBytesMax = 80;

// The answer of one run of a command about its device: either a value or an error, never both.
struct CommandAnswer {
  std::optional<double> value{};
  std::string detail{};  // printable, at most kDetailBytesMax; never empty beside a value
  std::string error{};   // why nobody knows; the command's line in it is bounded alike

  bool operator==(const CommandAnswer&) const = default;
};

// REQUIRES: `sign` has a command. Nothing that a command prints is trusted: a value out of the
// sign's bounds is an error.
CommandAnswer AnswerOf(const SignSpec& sign, const CommandEnd& end);

// For people and metrics.
double SecondsOf(Duration time);

// The state of one command for one device.
struct CommandReport {
  // What the command does now.
  enum class State {
    kWaiting,
    kRunning,
    kHanging,  // was killed and does not go
    kOff,      // cannot run: its device lacks a placeholder's value
  };
  std::string check{}, device{};
  State state = State::kWaiting;
  std::string result{};  // "ok", "problem" or "unknown"; "" before the first run has ended
  std::string says{};    // the command's line, printable and bounded, or why nobody knows
  Duration every{};      // as its sign says
  Duration interval{};   // as it is run now
  std::optional<WallTime> last_run{};  // its end
  Duration took{}, cpu{};              // of the last run
  std::uint64_t runs = 0;              // that ended
  Duration cpu_of_all{};
};

class CommandProbe final : public Probe {
 public:
  // Runs of one check at a time, over all devices: 256 at once would be a load of their own. Killed
  // runs that hang do not count.
  static constexpr int kRunsOfCheckMax = 4;
  // Runs of all checks at a time, likewise: all of them count against the driver's own memory.
  static constexpr int kRunsMax = 8;
  // How long a killed command may take to go before it counts as hanging.
  static constexpr Duration kKillGrace = std::chrono::seconds(1);

  // Lent; they outlive the probe.
  struct Parts {
    Loop& loop;
    Log& log;
    Metrics& metrics;
    const RuleTable& rules;
    CommandRunner& runner;
  };

  explicit CommandProbe(Parts parts);

  // The devices to check from now on, each with a name of its own. What is known of those that stay
  // as they are stays.
  void SetDevices(const std::vector<CheckedDevice>& devices);
  // `sink` gets what a command says as soon as it has ended.
  void Start(SignSink& sink) { sink_ = &sink; }
  // Begins what is due, without waiting for it, and gives what each command said last. One that did
  // not end yet for the first time is left out.
  StatusOr<std::vector<Sign>> Observe() override;
  // By check, then by device.
  std::vector<CommandReport> Reports() const;

 private:
  // The sign's name, the device's name.
  using Key = std::pair<std::string, std::string>;
  // One command for one device.
  struct Check {
    const SignSpec* sign = nullptr;
    CheckedDevice device;
    CommandRequest request;
    CheckPace pace;
    std::uint64_t run = 0;  // under way; 0: none
    Time started{};         // of that run
    bool hangs = false;     // was killed and does not go
    std::optional<Sign> last{};
    CommandReport report{};  // but for what is above
  };

  void Add(const SignSpec& sign, const CheckedDevice& device);
  void BeginDue();
  void Begin(const Key& key, Check& check);
  void OnEnd(const Key& key, std::uint64_t run, const CommandEnd& end);
  void NoteHanging(Check& check);
  void CountHanging();
  void Count(const Check& check, const CommandEnd& end, const CommandAnswer& answer);
  // Takes `answer` as what the check says; logs when the check becomes unknown and when it no
  // longer is.
  void Keep(Check& check, const CommandAnswer& answer);
  // The sign of the last answer; from the second time on as shown again. REQUIRES: there is one.
  static Sign Show(Check& check);
  Sign MakeSign(const Check& check, const CommandAnswer& answer) const;

  Parts parts_;
  SignSink* sink_ = nullptr;
  std::map<Key, Check> checks_;
  std::uint64_t runs_ = 0;
  Liveness liveness_;
};

}  // namespace galen::probes
