// The rules that turn signs into states, as values. They come from data: rules/*.yaml inside the
// program, or a file that the operator names.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "model/health.h"
#include "probes/pattern.h"
#include "probes/rules/sign.h"

namespace galen::probes {

// How a sign behaves: a reading is the present value, a counter only grows, an event happened once.
// It decides what a rule may say: only readings and counters end by themselves, only counters rise,
// only events are listed by number and counted within a window.
enum class SignKind { kReading, kCounter, kEvent };

// A regular expression of a table.
struct Expression {
  std::string text{};
  std::optional<Pattern> pattern{};  // nullopt for a broken text, which the reader refuses

  bool operator==(const Expression& other) const { return text == other.text; }
};

// Which of the files that a pattern names counts. With a limit beside each file the highest
// and the lowest are those of value against limit, so that the sensor nearest to its limit is
// shown.
enum class Several { kFirst, kHighest, kLowest, kSum };

// The log that an NVMe drive keeps of its health, asked of the drive itself: no file, but read as
// one.
inline constexpr std::string_view kNvmeSmartFile = "@nvme-smart";

// Where a sign of any device with a directory is read: a file below that directory.
struct FileSource {
  // Relative to the device's directory, with at most one '*' a segment: "hwmon/hwmon*/temp1_input".
  std::string path{};
  std::string row{};  // the line that begins with it: "TOTAL_ERR_FATAL"; "": the file's first line
  double scale = 1;   // what is read times this is the sign's value, in its unit
  // A file with what to expect of the value, read and scaled alike. Each '*' stands for what the
  // same '*' of `path` found. "": nothing is expected.
  std::string expected{};
  Several several = Several::kFirst;
  Duration every{};  // read at most so often; zero: at each look
  // Where in the file's text the number is, if not at the begin of its first line.
  std::optional<Expression> capture{};
  // What stands there instead of a number, and which number that is: {"live", 0}. Any other text is
  // an error.
  std::map<std::string, double> words{};

  bool operator==(const FileSource&) const = default;
};

// A sign that a command gives. Exit codes are those of the plugins of Kubernetes'
// node-problem-detector: 0, all is well (the sign is 0), and 1, the problem exists (1), with one
// line of standard output as detail. Any other code makes the sign unknown.
struct CommandSource {
  // Program and arguments, without a shell. Each "{name}" of kPlaceholders is filled in.
  std::vector<std::string> command{};
  // Standard output is {"value": 91.5, "message": "..."}: `value` takes the place of 0 and 1.
  bool json = false;
  Duration every = std::chrono::seconds(30);
  Duration timeout = std::chrono::seconds(5);  // then it is killed, and the sign unknown
  Duration cpu = std::chrono::seconds(2);      // likewise, by RLIMIT_CPU; whole seconds

  bool operator==(const CommandSource&) const = default;
};

// A page of metrics as Prometheus reads them, of somebody else's program on this machine.
struct ExporterSpec {
  std::string name{};
  std::string url{};    // ParseExporterAddress has the forms
  bool remote = false;  // may be on another machine
  // Labels that a device's series have, each with placeholders: {"UUID", "{uuid}"}.
  std::map<std::string, std::string> labels{};
  Duration every = std::chrono::seconds(15);
  Duration timeout = std::chrono::seconds(5);
  // How long the last value holds when a page has none, or no page comes.
  Duration patience = std::chrono::minutes(1);

  bool operator==(const ExporterSpec&) const = default;
};

// A sign that is a metric of an exporter. For an event the value is its number: it happens when
// that changes to anything but 0.
struct MetricSource {
  std::string exporter{};
  std::string name{};
  std::map<std::string, std::string> labels{};  // beside those of the exporter
  // An exporter that does not show it at all has no such sign; otherwise it is unknown.
  bool optional = false;

  bool operator==(const MetricSource&) const = default;
};

// An event that is a line in the kernel's log, written by the device's driver. Only records count
// of which the kernel itself says which device they are about (SUBSYSTEM and DEVICE, by
// dev_printk).
struct KernelSource {
  std::string driver{};           // "mlx5_core": how such a line begins, before the device's name
  std::string subsystem = "pci";  // or "nvme"
  Expression line{};              // from the begin of what follows the name on
  bool operator==(const KernelSource&) const = default;
};

// A sign that rules may name.
struct SignSpec {
  std::string name{};
  SignKind kind = SignKind::kReading;
  std::string unit{};
  std::string help{};   // one line for `galen inject`
  std::string usual{};  // the value on a healthy device; "" for events
  // The values that it can have, for whoever makes one up (sign_value.h): one of a few texts or
  // numbers, or a number within bounds.
  std::vector<std::string> among{};
  std::optional<double> least{};
  std::optional<double> most{};
  bool whole = false;  // in plain digits, as faults are numbered and links are counted
  // A file's value outside of `least` and `most` makes the sign unknown, such as 255 lanes.
  std::optional<FileSource> file{};
  // A source in the place of a file; least and most bound its values, too.
  std::optional<CommandSource> command{};
  std::optional<MetricSource> metric{};
  std::optional<KernelSource> kernel{};

  // Otherwise the driver shows it by itself.
  bool has_source() const { return file || command || metric || kernel; }
  bool operator==(const SignSpec&) const = default;
};

// In a rules file: ">", ">=", "<", "<=", "==", "!=".
enum class Compare { kAbove, kAtLeast, kBelow, kAtMost, kEqual, kNotEqual };

// The right side of a comparison that is not in the table: what the sign itself says to expect.
struct Expected {
  bool operator==(const Expected&) const = default;
};

// The right side that is the best value which this process has seen of the device.
struct Baseline {
  bool operator==(const Baseline&) const = default;
};

// Likewise: a share of the median of the other devices of the same model on this node, as they show
// the same sign now. With fewer than kPeersLeast of them, or a median that is not above zero, there
// is nothing to compare with.
struct Peers {
  double share = 1;

  bool operator==(const Peers&) const = default;
};
// The median of two devices lies between them and does not show which of them is bad.
inline constexpr std::size_t kPeersLeast = 3;
// The unit of Rule::leave in a comparison with peers.
inline constexpr std::string_view kPeersUnit = "% of peers";

// "> 85", "> 85 °C", "== down", "< expected", "< baseline", "< 90 % of peers". Texts can only be
// equal or not; "baseline" goes with "<" only, because the best value is the highest one.
struct Comparison {
  Compare compare = Compare::kEqual;
  std::variant<double, std::string, Expected, Baseline, Peers> with = 0.0;
  std::string unit = {};  // of a number, where it is written; a table is sound if it is its sign's

  bool operator==(const Comparison&) const = default;
};

// "in 13, 31-33": numbers of events, both ends of a range included.
struct NumberRange {
  std::int64_t first = 0;
  std::int64_t last = 0;

  bool operator==(const NumberRange&) const = default;
};

// The numbers that a rule is about.
struct NumberSet {
  std::vector<NumberRange> ranges{};

  bool Contains(std::int64_t number) const;
  bool operator==(const NumberSet&) const = default;
};

// "rises > 10 in 60s": a counter grew by more than that within the window. A counter that falls was
// reset and starts anew.
struct Rise {
  double above = 0;
  Duration window{};

  bool operator==(const Rise&) const = default;
};

// "any of 0x60", "all of 0x3", "none of 0x1": bits of a whole number.
struct BitMask {
  enum class Need { kAny, kAll, kNone };
  Need need = Need::kAny;
  std::uint64_t bits = 0;

  bool Matches(std::uint64_t value) const;
  bool operator==(const BitMask&) const = default;
};
// Up to here a double holds each whole number exactly, so that no bit is lost on the way.
inline constexpr std::uint64_t kBitsMost = (std::uint64_t{1} << 53) - 1;

// "other": an event whose number no other rule of this sign lists.
struct Other {
  bool operator==(const Other&) const = default;
};

using Match = std::variant<Comparison, NumberSet, Rise, Other, BitMask>;

// Reads the `when` of a rule. InvalidArgument says which form was expected.
StatusOr<Match> ParseMatch(std::string_view text);
// `left` is what was read, `right` what the rule says.
bool Holds(Compare compare, double left, double right);

// The way in which a finding ends.
enum class Until {
  kClear,   // the sign no longer matches
  kFor,     // the event was not seen again for Rule::quiet
  kReset,   // the device was reset, or the machine started anew
  kReboot,  // the machine started anew
};

// The share of a Degraded device that is the value against what is expected of it.
struct ShareRatio {
  bool operator==(const ShareRatio&) const = default;
};

// A rule counts only while another sign of the same device says so: "utilization > 20". Compares
// with a number; while the other sign is not known the rule is paused.
struct Condition {
  std::string sign{};
  Comparison comparison{};

  bool operator==(const Condition&) const = default;
};

// One row of the table: which sign, what of it is a finding, what is said then, and what it takes
// to enter and to leave. Fields are those of the rules file.
struct Rule {
  std::string id{};    // "temperature-high"
  std::string sign{};  // which sign it looks at
  Match match{};
  std::optional<Condition> condition{};
  HealthState state = HealthState::kHealthy;  // Healthy: kept as a record, changes nothing
  // The capability left of a Degraded device, above 0 and up to 1; a ratio is the value over what
  // it is compared with.
  std::variant<double, ShareRatio> share = 1.0;
  std::string code{};      // "TemperatureHigh"
  std::string sentence{};  // with {value} {threshold} {expected} {unit} {share} {text} {detail}
  std::string text{};      // what {text} stands for
  std::string unit{};
  FaultOwner owner = FaultOwner::kNobody;
  std::string because{};  // why a Healthy rule changes nothing

  // Debounce and hysteresis: a finding begins after `enter_for` and `count` matches, and ends once
  // the value has been past `leave` for `leave_for`. Durations are zero unless the row says
  // otherwise.
  Duration enter_for{};  // matches without a break for so long
  int count = 1;         // and so many times
  Duration window{};     // within this; zero: one after the other
  // Only events of the same detail (an NVLink's number) count together; of those less than a minute
  // apart only the first. Events without a detail do not count.
  bool same_detail = false;
  std::optional<double> leave{};  // the threshold that ends a finding, on the good side of `match`
  std::string leave_unit{};       // where it is written, as Comparison::unit; "% of peers"
  Duration leave_for{};           // no longer matches for so long
  Until until = Until::kClear;
  Duration quiet{};                   // for Until::kFor
  std::vector<std::string> clears{};  // rule ids, or "reset" / "reboot" for all that wait for it
  // Rule ids whose findings do not count while this rule has one: they are what follows from it.
  std::vector<std::string> supersedes{};

  bool operator==(const Rule&) const = default;
};

// Everything that one rules file says. Never changes once read; engines, tracks and simulators
// borrow it, so it outlives them.
struct RuleTable {
  std::vector<ExporterSpec> exporters{};
  std::vector<SignSpec> signs{};
  std::vector<Rule> rules{};
  std::string extends{};  // the built-in table whose signs and rules are among them; "": none

  // nullptr when there is none. Pointers hold as long as the table.
  const SignSpec* FindSign(std::string_view name) const;
  const Rule* FindRule(std::string_view id) const;
  const ExporterSpec* FindExporter(std::string_view name) const;
  // Whether both say the same; which table they extend does not matter.
  bool operator==(const RuleTable& other) const {
    return exporters == other.exporters && signs == other.signs && rules == other.rules;
  }
};

}  // namespace galen::probes
