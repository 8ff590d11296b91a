// Reads a table of rules from YAML and checks it as a whole: either every row holds, or the answer
// names every fault with its line, rule and field. Pure.
//
//   signs:
//     - {name: temperature, kind: reading, unit: °C, help: core temperature, usual: 41}
//   defaults:                      # by sign: fields that its rules have unless they say otherwise
//     temperature: {owner: Hardware, unit: °C}
//   rules:
//     - id: temperature-high
//       sign: temperature
//       when: "> 85"
//       state: Unhealthy
//       code: TemperatureHigh
//       sentence: "GPU temperature {value} °C exceeds {threshold} °C"
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/data/json.h"
#include "base/data/yaml_lines.h"
#include "probes/rules/rule.h"

namespace galen::probes {

// Bounds of what a table may say.
//
// Matches that one rule remembers, each with its time, for each device: a bound on memory.
inline constexpr int kCountMax = 64;
// The longest that a rule may wait or count: past it a time is a slip of the pen.
inline constexpr Duration kRuleTimeMost = std::chrono::hours(31 * 24);
// The most seldom that a file may be read: between, its value counts as it was.
inline constexpr Duration kFileEveryMost = std::chrono::hours(1);
// How often a command may run, how long, and how much processor time it may take: a process costs
// more than a file.
inline constexpr Duration kCommandEveryLeast = std::chrono::seconds(1);
inline constexpr Duration kCommandEveryMost = std::chrono::hours(24);
inline constexpr Duration kCommandTimeoutLeast = std::chrono::milliseconds(100);
inline constexpr Duration kCommandCpuMost = std::chrono::minutes(1);
inline constexpr Duration kExporterPatienceMost = std::chrono::hours(24);
// Exporters of one table, each with a thread.
inline constexpr std::size_t kExportersMax = 8;
// Commands of one table: each is a process for each device.
inline constexpr std::size_t kCommandSignsMax = 32;
// The most arguments of a command, its program included, and the most bytes of one.
inline constexpr std::size_t kCommandWordsMax = 32;
inline constexpr std::size_t kCommandWordBytesMax = 1024;

// One fault of a table.
struct RuleFault {
  std::optional<YamlPlace> place{};  // of the field, where that is known
  std::string message{};             // "temperature-high: when ..."

  bool operator==(const RuleFault&) const = default;
};

// Collects every fault of a file: "rules.yaml:12:5: temperature-high: when ...", with line and
// column of the field. A person repairs a file once, not fault by fault. At sets the place, Add
// notes what is wrong there.
class RuleFaults {
 public:
  explicit RuleFaults(std::string origin) : origin_(std::move(origin)) {}

  // Where the next faults are, if that is known, and a row's name.
  void At(std::optional<YamlPlace> place, std::string row);
  void At(std::optional<std::size_t> line, std::string row);
  // As above, in the fields of a row of a list; `lines` is lent until the next At.
  void At(const YamlLines& lines, std::string_view list, std::size_t index, std::string row);
  // Until the next At: the row has these fields of the defaults of its sign, and what is wrong with
  // one is wrong there, once for all rules.
  void HasDefaults(std::string sign, std::set<std::string, std::less<>> fields);
  // `field` may be "" when the row as a whole is meant.
  void Add(std::string_view field, std::string_view what);
  // As Add, of a field that could not be read. Later faults of that field in that row would only be
  // consequences, and are not added.
  void AddUnread(std::string_view field, std::string_view what);
  // As AddUnread, of a field whose fault is reported elsewhere.
  void MarkUnread(std::string_view field);
  // Whether that field of the row that At has named is such a one, or of any row of the list.
  bool Unread(std::string_view field) const;
  bool UnreadInAny(std::string_view list, std::string_view field) const;
  // Whether any field of the list's row of this name is.
  bool UnreadRow(std::string_view list, std::string_view row) const;
  // All faults, one a line; past kFaultsListedMax the rest is counted.
  Status ToStatus() const;
  // In the order in which they were found.
  const std::vector<RuleFault>& all() const { return faults_; }
  const std::string& origin() const { return origin_; }

  static constexpr std::size_t kFaultsListedMax = 50;

 private:
  const std::string origin_;
  std::optional<YamlPlace> place_;
  const YamlLines* lines_ = nullptr;  // of the row, where it is one of a list
  std::string list_;                  // "" for what is no row
  std::size_t index_ = 0;
  std::set<std::tuple<std::string, std::string, std::string>> unread_;  // list, row and field
  std::string row_;
  std::string sign_;  // that the row has these defaults of
  std::set<std::string, std::less<>> defaulted_;
  std::vector<RuleFault> faults_;
};

// One rule against the signs of its table, which must be read before. Adds to `faults`, where At
// has named the row.
void CheckRule(const Rule& rule, const RuleTable& table, RuleFaults& faults);
// What people read of it: code, sentence, text; and what only a rule of some state says. Adds to
// `faults`, likewise.
void CheckWords(const Rule& rule, RuleFaults& faults);
void CheckWordsOfState(const Rule& rule, RuleFaults& faults);
// Whether the sign can be what the rule compares it with, in unit and value. Adds to `faults`,
// likewise.
void CheckValues(const Rule& rule, const SignSpec& sign, RuleFaults& faults);
void CheckComparison(const Comparison& comparison, const SignSpec& sign, std::string_view field,
                     RuleFaults& faults);
// Rules and signs against each other: names used twice, `clears` that name nothing. Once, after the
// last row. `own` is what the file itself says, whose lines are known; `table` that and what it
// extends. Adds to `faults`.
void CheckTable(const RuleTable& own, const RuleTable& table, const YamlLines& lines,
                RuleFaults& faults);
// Reports defaults of signs that the table lacks, and fields that do not exist. Adds to `faults`.
void CheckDefaults(const Json& defaults, const RuleTable& table, const YamlLines& lines,
                   RuleFaults& faults);
// Where an exporter is and how often it is asked. Adds to `faults`, likewise.
void CheckExporter(const ExporterSpec& exporter, RuleFaults& faults);
// Where a sign is read. Adds to `faults`, where At has named the row.
void CheckSource(const SignSpec& sign, RuleFaults& faults);

// A table has room for every XID and SXID there is (NVIDIA's catalog has 173 XIDs), many times
// over; a file past it is a mistake.
inline constexpr std::size_t kRulesMax = 2048;
inline constexpr std::size_t kSignsMax = 256;
inline constexpr std::size_t kRuleFileBytesMax = 1024 * 1024;

// `origin` names the table in reported faults: the file's path, or "built-in gpu rules".
// InvalidArgument when the text is too large, no YAML, or a table with any fault; then nothing of
// it is given. Durations are written as in flags ("250ms", "30s", "5m"). Fields that are not known
// are faults, so that a misspelled one does not change a verdict in silence. A table that says
// `extends: NAME` has the signs and rules of that built-in one too; its own take the place of those
// with the same name or id.
StatusOr<RuleTable> ParseRules(std::string_view text, std::string_view origin);
// The faults for which ParseRules refuses the text, all of them; empty when it does not.
std::vector<RuleFault> FaultsOfRules(std::string_view text, std::string_view origin);

// The tables of rules that come with the program, as they are in rules/: put in at build time, so
// that no file need be installed. Constant; YAML for ParseRules, and tested to be free of faults.
// For the GPU driver and its simulator, for network cards, and for what has files below /sys; an
// operator's own file takes the place of one, or extends it.
extern const std::string_view kGpuRules;
extern const std::string_view kNicRules;
extern const std::string_view kPciRules;
extern const std::string_view kHwmonRules;
extern const std::string_view kMemoryRules;
extern const std::string_view kRdmaRules;
extern const std::string_view kNvmeRules;
extern const std::string_view kDcgmRules;
extern const std::string_view kAmdRules;
extern const std::string_view kAmdgpuRules;
extern const std::string_view kMlx5Rules;
extern const std::string_view kFpgaRules;
extern const std::string_view kIntelRules;
extern const std::string_view kNvmeSmartRules;

// The table of this name ("pci"); "" when there is none.
std::string_view BuiltInRules(std::string_view name);
// Their names, in order: "amd, dcgm, gpu, …".
std::string BuiltInRuleNames();

}  // namespace galen::probes
