// Turns signs into the health of devices by a table of rules. Of several findings the worst counts;
// a sign that cannot be read makes a device Unknown, never bad; a device of which nothing was read
// is Unknown, because silence does not mean health. No clock, no I/O: `at` is an argument.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "model/health.h"
#include "probes/rule.h"
#include "probes/rule_track.h"
#include "probes/sign.h"

namespace galen::probes {

// Codes that the engine gives without a rule; all of them mean Unknown.
namespace cause_code {
inline constexpr std::string_view kNotProbed = "NotProbed";            // nothing was read yet
inline constexpr std::string_view kProbeSilent = "ProbeSilent";        // nothing was read for long
inline constexpr std::string_view kSignUnreadable = "SignUnreadable";  // a sign could not be read
}  // namespace cause_code

// An event, and what its rule says of it; also of those that change nothing.
struct SignRecord {
  Sign sign{};
  std::string rule{};
  Cause cause{};

  bool operator==(const SignRecord&) const = default;
};

struct Evaluation {
  std::vector<HealthChange> changes{};
  std::vector<SignRecord> records{};
};

class RuleEngine {
 public:
  struct Options {
    std::string driver{};
    std::string pool{};
    Duration silent_after = std::chrono::seconds(30);
  };

  // `table` is lent and outlives the engine.
  RuleEngine(const RuleTable& table, Options options);

  // The devices there are now. New ones start Unknown; what is known of the others stays.
  void SetDevices(const std::vector<std::string>& names, const Instant& at);

  // What follows from these signs, and from time having passed. Signs of other devices are left
  // out.
  Evaluation Evaluate(const std::vector<Sign>& signs, const Instant& at);
  // A probe could read nothing at all: every device is Unknown until it can again.
  Evaluation ObserveFailed(const Status& status, const Instant& at);

  // Every device, in order of name.
  std::vector<DeviceHealth> Snapshot() const;
  // The sign behind a device's cause, for people; "" when there is none.
  std::string RawSign(std::string_view device) const;
  // When Evaluate({}, …) next changes something by time alone.
  std::optional<Time> NextDue(const Instant& at) const;

  // Findings that outlive the process (a lost GPU stays lost), to be given back after a restart
  // within the same boot. Rows for rules or devices that are gone are dropped.
  Json Save() const;
  void Restore(const Json& saved, const Instant& at);

 private:
  struct Trouble {
    std::string error{};
    WallTime since{};
  };
  struct Device {
    DeviceHealth health{};
    std::map<std::size_t, RuleTrack> tracks;    // by the rule's place in the table
    std::map<std::string, Trouble> unreadable;  // by sign; "" is the probe as a whole
    std::map<std::string, double> latest;
    std::map<std::string, double> best;
    std::optional<Time> last_read{};
    WallTime good_since{};
  };
  using Devices = std::map<std::string, Device, std::less<>>;

  std::vector<Device*> DevicesOf(const Sign& sign);
  void ApplyReading(Device& device, const Sign& sign, const Instant& at);
  void ApplyUnreadable(Device& device, const Sign& sign);
  void ApplyEvent(Device& device, const Sign& sign, const Instant& at, Evaluation& evaluation);
  bool MatchesEvent(const Rule& rule, const Sign& sign) const;
  void Clear(Device& device, const Rule& by, WallTime when);
  bool ConditionHolds(const Device& device, const Rule& rule) const;
  RuleTrack& TrackOf(Device& device, std::size_t rule);
  void Settle(Device& device, const Instant& at, Evaluation& evaluation);
  bool IsSilent(const Device& device, const Instant& at) const;
  const Finding* Worst(const Device& device) const;
  DeviceHealth HealthOf(const Device& device, const Instant& at) const;
  DeviceHealth UnknownHealth(const Device& device, std::string_view code, std::string_view message,
                             WallTime since) const;

  const RuleTable& table_;
  const Options options_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> rules_of_sign_;
  std::set<std::string, std::less<>> numeric_signs_;
  Devices devices_;
};

}  // namespace galen::probes
