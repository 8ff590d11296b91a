// Turns signs into the health of devices by a table of rules. Of several findings the worst counts;
// a sign that cannot be read makes a device Unknown, never bad; a device of which nothing was read
// is Unknown, because silence does not mean health. No clock, no I/O: `at` is an argument.
#pragma once

#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/data/json.h"
#include "model/health.h"
#include "probes/rules/rule.h"
#include "probes/rules/sign.h"
#include "probes/rules/sign_use.h"

namespace galen::probes {

// The values that the devices of one model show of one sign at present, so that each can be
// compared with the others. Filled anew by its owner when something came; keeps its memory, so that
// it asks for no more once all devices have been seen.
class PeerValues {
 public:
  // The values are out of date from now on.
  void Forget() { known_ = false; }
  // Whether Fill is due.
  bool is_forgotten() const { return !known_; }
  // Begins to fill; then Add for each device, then Settle.
  void Clear() { values_.clear(); }
  void Add(double value) { values_.push_back(value); }
  void Settle();

  // The median of all but one device, which shows `own`: the mean of the two in the middle where
  // their number is even. nullopt when the others are fewer than kPeersLeast, or when it is not
  // above zero, so that no share of it has a meaning. REQUIRES: settled.
  std::optional<double> MedianOfOthers(double own) const;

 private:
  std::vector<double> values_;  // in order
  bool known_ = false;
};

// ---- One rule on one device over time (RuleTrack): debounce before it bites, hysteresis before it
// lets go, and what keeps a finding until a reset. A state machine over values: no clock, no I/O.

// What a rule has found.
struct Finding {
  HealthState state = HealthState::kHealthy;
  double share = 1.0;  // 0: a ratio that leaves nothing, which makes the device Unhealthy
  Cause cause{};
  WallTime since{};
  std::string raw{};  // of the sign that decided

  bool operator==(const Finding&) const = default;
};

// One for each pair of device and rule, made by the RuleEngine when the rule first matters to the
// device. Not thread-safe.
class RuleTrack {
 public:
  // `rule` is lent and outlives the track.
  explicit RuleTrack(const Rule& rule) : rule_(&rule) {}
  // The same rule in another place, when the table that it stands in is read anew.
  void Rebind(const Rule& rule) { rule_ = &rule; }

  // A reading or a counter; `best` is what the rule compares with, if the engine has to know it:
  // for "< baseline" the highest value seen on this device, for "… of peers" their median. May
  // enter a finding, begin or finish its end.
  void OnReading(const Sign& sign, double best, const Instant& at);
  // An event that the rule matches. True when the finding begins with it.
  bool OnEvent(const Sign& sign, const Instant& at);
  // The sign cannot be read, or the rule's condition does not hold: nothing new can be found.
  void Pause();
  // A finding that rests on a reading ends when the reading is lost; a kept one stays.
  void OnUnreadable();
  // Lets time pass: a debounce or a quiet time may be over.
  void Settle(const Instant& at);
  // Ends the finding, as of `when`; `by` is the raw sign that showed it, "" where only time passed.
  void End(const Moment& when, std::string by);

  const Rule& rule() const { return *rule_; }
  const std::optional<Finding>& finding() const { return finding_; }
  // Where the finding's begin lies on the clock that nobody sets.
  Time found_at() const { return found_at_; }
  // Likewise its newest proof: the begin, or an event that said it again. What is older cannot end
  // it.
  Time last_shown() const { return std::max(found_at_, last_event_.at); }
  // Readings match, but not yet for long or often enough to be a finding.
  bool in_doubt() const { return matching_since_ && !finding_; }
  // When the last finding ended.
  const Moment& ended() const { return ended_; }
  // The raw sign that ended it; "" when it was none, or no finding ended yet.
  const std::string& ended_by() const { return ended_by_; }
  // When Settle next has something to do, if no sign comes before.
  std::optional<Time> Due() const;

  // The state that must survive a restart: null when there is nothing.
  Json Save() const;
  void Restore(const Json& saved, const Instant& at);

 private:
  struct Sample {
    Time at{};
    double value = 0;
  };
  // An event, by its own time.
  struct Hit {
    Moment when{};
    std::string detail{};  // where only those with one count together
  };

  // Whether the reading is a finding, or still is one.
  bool Matches(const Sign& sign, double best);
  // Whether the counter grew too much within the window that samples_ covers.
  bool Rises(const Rise& rise);
  void Remember(const Rise& rise, const Sign& sign, double value, Time now);
  void WatchForEnd(const Sign& sign, bool matches, const Instant& at);
  // Keeps the hit; whether there are enough within the window.
  bool Count(const Hit& hit);
  // Begins the finding if the matches so far are enough.
  void TryEnter(const Instant& at);
  void Enter(const Sign& sign, const Moment& since);
  // The newest sign, raw; the text adds for how long the condition held where a rule debounces.
  std::string RawFor(Duration debounce) const;
  std::string ThresholdText(const Sign& sign) const;
  std::string ExpectedText(const Sign& sign, const std::string& threshold) const;
  double ShareOf(const Sign& sign) const;
  // The rule's state; Unhealthy where a ratio leaves nothing: whoever holds such a device can do
  // nothing with it, so it is not merely Degraded.
  HealthState StateAt(double share) const;

  const Rule* rule_;
  Sign last_;  // the newest that matched, or that came while there was a finding
  double best_ = 0;
  // Towards a finding.
  std::optional<Time> matching_since_;
  WallTime first_match_{};
  // Readings that matched, one after another.
  int streak_ = 0;
  std::vector<Hit> hits_;        // at most rule.count, of each detail where those count apart
  std::vector<Sample> samples_;  // of a counter within its window; a few dozen at most
  std::string parts_{};          // that the newest sample is made of
  // The identity of a finding.
  std::optional<Finding> finding_;
  Time found_at_{};  // its `since`, on the clock that nobody sets
  // Since when the value is past the threshold to leave; nullopt: it is not.
  std::optional<Time> leaving_since_;
  WallTime first_miss_{};
  Moment last_event_{};
  Moment ended_{};
  std::string ended_by_;
};

// Codes that the engine gives without a rule; all of them mean Unknown.
namespace cause_code {
inline constexpr std::string_view kNotProbed = "NotProbed";            // nothing was read yet
inline constexpr std::string_view kProbeSilent = "ProbeSilent";        // nothing was read for long
inline constexpr std::string_view kSignUnreadable = "SignUnreadable";  // a sign could not be read
// A device was found to fall behind its peers, of which too few are left to say whether it still
// does.
inline constexpr std::string_view kPeersMissing = "PeersMissing";
}  // namespace cause_code

// An event, and what its rule says of it, even if that changes nothing. For the history of a
// device, one for each rule that matched.
struct SignRecord {
  Sign sign{};
  std::string rule{};
  Cause cause{};

  bool operator==(const SignRecord&) const = default;
};

// The result of some signs: findings that changed, in order of device name, and events in the order
// of their signs.
struct Evaluation {
  std::vector<HealthChange> changes{};
  std::vector<SignRecord> records{};
};

// Whether two texts that say which piece of hardware a device is, "uuid=GPU-1" or "serial=0123",
// mean different ones. What they say of different kinds, and nothing ("") of one, is no answer.
bool MeanDifferentHardware(std::string_view a, std::string_view b);

// Belongs to whoever calls it, on one loop. The order of a table's rows decides nothing.
class RuleEngine {
 public:
  // Whose devices these are, and when one counts as Unknown.
  struct Options {
    std::string driver{};
    std::string pool{};
    // A device of which no reading came for so long is Unknown (ProbeSilent): Kubernetes' own
    // default of patience (KEP-4680).
    Duration silent_after = std::chrono::seconds(30);
    // A device is Unknown until each command and exporter has said something of it, whatever else
    // was read.
    bool awaits_checks = false;
  };

  // `table` is lent and outlives the engine, or the next SetTable.
  RuleEngine(const RuleTable& table, Options options);

  // The devices there are now. New ones start Unknown; what is known of the others stays; those
  // that are gone are forgotten with all their findings. Reports no changes.
  void SetDevices(const std::vector<std::string>& names, const Instant& at);
  // Which piece of hardware each device is: what was saved of another one is not its own. Before
  // Restore; a device of which nothing is said may be any.
  void SetHardware(const std::map<std::string, std::string>& hardware_of_device);
  // The model of each device: those of one model are peers. A device without one has none. Devices
  // that are parts of one whole show what it shows, as MIG instances of one GPU: they have one vote
  // together, and none on one another.
  void SetModels(const std::map<std::string, std::string>& model_of_device,
                 const std::map<std::string, std::string>& whole_of_device = {});

  // Another table from now on, lent likewise; that before must still be there. All that is known of
  // a rule that did not change stays, its debounce and its samples too; of a rule that did, what a
  // restart would keep: its findings, under the new words from the next reading or event on. What
  // rules found that are gone, or look at another sign now, is over. Gives what changes by that.
  Evaluation SetTable(const RuleTable& table, const Instant& at);

  // Changes that follow from these signs, and from time having passed; call it with none when
  // NextDue has come. Signs of other devices, and signs that the table does not know, are left out.
  // Each change is returned once, and Snapshot shows it from then on.
  Evaluation Evaluate(const std::vector<Sign>& signs, const Instant& at);
  // A probe could read nothing at all: every device is Unknown until it can again.
  Evaluation ObserveFailed(const Status& status, const Instant& at);

  // Every device, in order of name.
  std::vector<DeviceHealth> Snapshot() const;
  // The sign behind a device's cause, for people; of a device that is Healthy the one that ended
  // its last finding. "" when there is none, or no such device.
  std::string RawSign(std::string_view device) const;
  // The findings of a device that count now, with the id of each rule, in the table's order: those
  // that hold and are not superseded. Empty for a device that is not there.
  std::vector<std::pair<std::string, Finding>> Findings(std::string_view device) const;
  // The rule whose finding keeps that of `rule` from counting; "" when there is none.
  std::string SupersededBy(std::string_view device, std::string_view rule) const;
  // When Evaluate({}, …) next changes something by time alone: a debounce, a quiet time, a silence.
  // nullopt: only a new sign can.
  std::optional<Time> NextDue(const Instant& at) const;

  // What outlives the process, to be given back after a restart within the same boot: findings (a
  // lost GPU stays lost, a hot one keeps its "since" until it is seen cool), what was found against
  // peers that are too few now, and the best values that baselines compare with. Rows for rules or
  // devices that are gone, or of other hardware than the device is now, are dropped.
  Json Save() const;
  void Restore(const Json& saved, const Instant& at);

 private:
  // Why a sign cannot be read, and since when.
  struct Trouble {
    std::string error{};
    WallTime since{};
  };
  struct Device {
    DeviceHealth health{};
    std::map<std::size_t, RuleTrack> tracks;    // by the rule's place in the table
    std::map<std::string, Trouble> unreadable;  // by sign; "" is the probe as a whole
    // By rule: it had found something, and its peers are too few by now.
    std::map<std::size_t, Trouble> uncompared;
    std::optional<std::size_t> model{};  // a number for each model
    std::string whole{};                 // what it is a part of, as others are; "": nothing
    std::string hardware{};              // as MeanDifferentHardware takes it; "": not known
    // Numbers only, of signs that can be read now: what conditions and peers are held against.
    std::map<std::string, double> latest;
    // The highest value since the device is known, of each sign that a baseline is asked of.
    std::map<std::string, double> best;
    std::optional<Time> last_read{};
    std::set<std::string> awaited{};  // signs of commands and exporters, of which nothing came
    // Since when the device is Healthy if nothing is found: the end of the last finding, or of the
    // last blindness.
    Moment good_since{};
    std::string good_by{};  // the raw sign that showed it, or ""
  };
  using Devices = std::map<std::string, Device, std::less<>>;

  // The subject of a sign, looked up once for all that is done with it.
  struct Subject {
    const SignUse* use = nullptr;  // null: the table does not know it
    std::ranges::subrange<Devices::iterator> devices{};
  };

  // Derives the members below from the table.
  void ReadTable();
  // The device's tracks by the present table, from those by the one before.
  void MoveTracks(Device& device, const RuleTable& before, const Instant& at);
  // Finds what uses each sign and which devices it is about, in the order of the signs.
  void FindSubjects(const std::vector<Sign>& signs);
  // The devices that a sign is about: one, all or none.
  std::ranges::subrange<Devices::iterator> DevicesOf(const Sign& sign);
  // Notes the values that later signs and rules of the same look compare with.
  void Note(const Sign& sign, const Subject& subject);
  void Apply(Device& device, const Sign& sign, const SignUse& use, const Instant& at,
             Evaluation& evaluation);
  void ApplyReading(Device& device, const Sign& sign, const SignUse& use, const Instant& at);
  void ApplyAgainstPeers(Device& device, const Sign& sign, std::size_t rule, std::size_t slot,
                         const Instant& at);
  // The device whose value counts among the parts of one whole; nullptr: none shows the sign.
  const Device* VoterOf(const Device& device, const Sign& sign, const Instant& at) const;
  // The median of what other devices of its model show; nullopt where too few do.
  std::optional<double> PeersMedian(const Device& device, const Sign& sign, std::size_t slot,
                                    const Instant& at);
  // Ends what the rule found, as of `time`: there is no reading of its sign, or there are too few
  // peers to compare it with. A finding against peers counts as well again only when they show it.
  void LoseReading(Device& device, std::size_t rule, WallTime time);
  void ApplyUnreadable(Device& device, const Sign& sign);
  // What was found by the sign's readings ends, and nothing of it is unknown.
  void ApplyAbsent(Device& device, const Sign& sign, const Instant& at);
  void ApplyEvent(Device& device, const Sign& sign, const SignUse& use, const Instant& at,
                  Evaluation& evaluation);
  bool MatchesEvent(const Rule& rule, const Sign& sign) const;
  // Whether a finding ended.
  bool Clear(Device& device, const Rule& by, const Sign& sign, const Instant& at);
  bool ConditionHolds(const Device& device, const Rule& rule) const;
  // Made when the rule first matters to the device: most rules never do.
  RuleTrack& TrackOf(Device& device, std::size_t rule);
  // Lets time pass for a device, and notes the change if its health is another now.
  void Settle(Device& device, const Instant& at, Evaluation& evaluation);
  bool IsSilent(const Device& device, const Instant& at) const;
  // Whether another rule's finding keeps this one's from counting.
  std::optional<std::size_t> Superseder(const Device& device, std::size_t rule) const;
  // The finding that is shown; nullptr when there is none.
  const Finding* Worst(const Device& device) const;
  DeviceHealth HealthOf(const Device& device, const Instant& at) const;
  DeviceHealth UnknownHealth(const Device& device, std::string_view code, std::string_view message,
                             WallTime since) const;

  const RuleTable* table_;
  const Options options_;
  SignUses signs_;                       // all that the table declares
  std::set<std::string> awaited_signs_;  // of commands
  // By model and sign: models_ rows, each with a place for every sign that has peers.
  std::vector<PeerValues> peers_;
  std::size_t peer_signs_ = 0;
  std::vector<std::vector<std::size_t>> superseders_;  // of each rule, the rules that name it
  Devices devices_;
  // Valid during one Evaluate(); a member so that its memory is used again.
  std::vector<Subject> subjects_;
};

}  // namespace galen::probes
