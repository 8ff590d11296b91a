#include "probes/rule_file/rule_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/rule_file/test_faults.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kSigns =
    "signs:\n"
    "  - {name: temperature, kind: reading, unit: °C, usual: 41, help: core}\n"
    "  - {name: errors, kind: counter}\n"
    "  - {name: load, kind: reading}\n"
    "  - {name: xid, kind: event}\n";

// A file with one rule whose fields are those of a good one, then `more`, which may repeat none.
std::string FileWith(std::string_view rules) { return fmt::format("{}rules:\n{}", kSigns, rules); }

constexpr std::string_view kGoodRule =
    "  - id: hot\n"
    "    sign: temperature\n"
    "    when: '> 85'\n"
    "    state: Unhealthy\n"
    "    code: TemperatureHigh\n"
    "    sentence: 'temperature {value} °C exceeds {threshold} °C'\n"
    "    owner: Hardware\n";

std::string FaultsOf(const std::string& text) {
  const StatusOr<RuleTable> table = ParseRules(text, "r.yaml");
  return table.ok() ? "" : WithoutColumns(table.status().message());
}

TEST(RuleReader, ReadsEveryFieldOfARule) {
  const StatusOr<RuleTable> table = ParseRules(
      FileWith(std::string(kGoodRule) +
               "    unit: °C\n    enter_for: 3s\n    count: 2\n    leave: 82\n    leave_for: 5s\n"
               "    while: load > 20\n"),
      "r.yaml");
  ASSERT_TRUE(table.ok()) << table.status().message();
  ASSERT_EQ(table->rules.size(), 1u);
  const Rule& rule = table->rules[0];
  EXPECT_EQ(rule.id, "hot");
  EXPECT_EQ(rule.sign, "temperature");
  EXPECT_EQ(rule.match, Match(Comparison{Compare::kAbove, 85.0}));
  EXPECT_EQ(rule.state, HealthState::kUnhealthy);
  EXPECT_EQ(rule.code, "TemperatureHigh");
  EXPECT_EQ(rule.owner, FaultOwner::kHardware);
  EXPECT_EQ(rule.enter_for, 3s);
  EXPECT_EQ(rule.count, 2);
  EXPECT_EQ(rule.leave, 82.0);
  EXPECT_EQ(rule.leave_for, 5s);
  EXPECT_EQ(rule.condition, (Condition{"load", {Compare::kAbove, 20.0}}));
  EXPECT_EQ(rule.until, Until::kClear);
  EXPECT_EQ(table->signs[0], (SignSpec{"temperature", SignKind::kReading, "°C", "core", "41"}));
}

TEST(RuleReader, RulesOfASignShareItsDefaultsAndMayDepartFromThem) {
  const StatusOr<RuleTable> table = ParseRules(
      std::string(kSigns) +
          "defaults:\n"
          "  xid: {state: Unhealthy, code: Xid, owner: Hardware, until: reset,\n"
          "    sentence: 'XID {value}: {text}'}\n"
          "rules:\n"
          "  - {id: a, sign: xid, when: in 79, text: gone, until: reboot}\n"
          "  - {id: b, sign: xid, when: in 74, text: link, until: 10m, owner: Driver}\n"
          "  - {id: c, sign: xid, when: in 1, text: ok, state: Healthy, clears: [reboot]}\n",
      "r.yaml");
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_EQ(table->rules[0].until, Until::kReboot);
  EXPECT_EQ(table->rules[0].text, "gone");
  EXPECT_EQ(table->rules[0].owner, FaultOwner::kHardware);
  EXPECT_EQ(table->rules[1].until, Until::kFor);
  EXPECT_EQ(table->rules[1].quiet, 10min);
  EXPECT_EQ(table->rules[1].owner, FaultOwner::kDriver);
  EXPECT_EQ(table->rules[1].sentence, "XID {value}: {text}");
}

TEST(RuleReader, AKeyThatComesTwiceHidesNoOtherFault) {
  const std::string faults =
      FaultsOf(FileWith("  - id: one\n"
                        "    sign: heat\n"
                        "    id: two\n"));
  EXPECT_THAT(faults, HasSubstr("r.yaml:9: key \"id\" comes twice"));
  EXPECT_THAT(faults, HasSubstr("r.yaml:8: two: sign 'heat' is not among"));
}

TEST(RuleReader, TellsEveryFaultAtOnceWithLineRowAndField) {
  const std::string faults =
      FaultsOf(FileWith("  - id: one\n"
                        "    sign: heat\n"
                        "    when: hot\n"
                        "    state: Bad\n"
                        "    code: too hot\n"
                        "    sentence: '{celsius} is much!'\n"
                        "    owner: Nobody\n"
                        "    colour: red\n"
                        "  - id: two\n"
                        "    sign: temperature\n"));
  EXPECT_THAT(faults, HasSubstr("r.yaml:8: one: sign 'heat' is not among"));
  EXPECT_THAT(faults, HasSubstr("r.yaml:9: one: when expected \"> 85\""));
  EXPECT_THAT(faults,
              HasSubstr("r.yaml:10: one: state 'Bad' is not one of Healthy, Unknown, Degraded"));
  EXPECT_THAT(faults, HasSubstr("one: code is not a CamelCase noun"));
  EXPECT_THAT(faults, HasSubstr("one: sentence knows no {celsius}"));
  EXPECT_THAT(faults, HasSubstr("one: sentence has an exclamation mark"));
  EXPECT_THAT(faults, HasSubstr("one: owner 'Nobody'"));
  EXPECT_THAT(faults, HasSubstr("one: colour is not a field"));
  EXPECT_THAT(faults, HasSubstr("r.yaml:15: two: when is missing"));
  EXPECT_THAT(faults, HasSubstr("r.yaml:15: two: sentence is missing"));
}

TEST(RuleReader, ASignsPossibleValuesMustLeaveSomethingAndHoldTheUsualOne) {
  const std::string faults = FaultsOf(
      "signs:\n"
      "  - {name: heat, kind: reading, usual: 41, least: 50, most: 90}\n"
      "  - {name: width, kind: reading, least: 5, most: 4}\n"
      "  - {name: flag, kind: reading, among: [0, 1], whole: true}\n"
      "  - {name: links, kind: reading, whole: yes please}\n"
      "rules:\n" +
      std::string(kGoodRule));
  EXPECT_THAT(faults, HasSubstr("r.yaml:2: heat: usual '41' is not a number from 50 to 90"));
  EXPECT_THAT(faults, HasSubstr("r.yaml:3: width: least is above most"));
  EXPECT_THAT(faults, HasSubstr("r.yaml:4: flag: among has no value that fits least"));
  EXPECT_THAT(faults, HasSubstr("r.yaml:5: links: whole is neither true nor false"));
}

// The simulator would take the text for the number that every reading is.
TEST(RuleReader, AReadingOrCounterCanBeNumbersOnly) {
  const std::string faults = FaultsOf(
      "signs:\n"
      "  - {name: mode, kind: reading, usual: ok, among: [ok, 1, bad]}\n"
      "  - {name: laps, kind: counter, among: [1, nan]}\n"
      "  - {name: reset, kind: event, among: [gpu, host]}\n"
      "rules:\n" +
      std::string(kGoodRule));
  EXPECT_THAT(faults, HasSubstr("r.yaml:2: mode: among 'ok' is not a number"));
  EXPECT_THAT(faults, HasSubstr("r.yaml:2: mode: among 'bad' is not a number"));
  EXPECT_THAT(faults, Not(HasSubstr("'1'")));
  EXPECT_THAT(faults, HasSubstr("r.yaml:3: laps: among 'nan' is not a number"));
  EXPECT_THAT(faults, Not(HasSubstr("reset")));
}

struct BadField {
  std::string_view name;
  std::string_view lines;  // put after a good rule
  std::string_view told;
};

class RuleReaderRefuses : public ::testing::TestWithParam<BadField> {};

TEST_P(RuleReaderRefuses, AFieldThatMakesNoSense) {
  const std::string file = FileWith(std::string(kGoodRule) + std::string(GetParam().lines));
  EXPECT_THAT(FaultsOf(file), HasSubstr(GetParam().told));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, RuleReaderRefuses,
    ::testing::Values(
        BadField{"Span", "    enter_for: soon\n", "enter_for 'soon' is not a time"},
        BadField{"Count", "    count: 0\n", "count is not a whole number from 1 to 64"},
        BadField{"HalfCount", "    count: 1.5\n", "count is not a whole number"},
        BadField{"Share", "    share: 2\n", "share is neither ratio nor"},
        BadField{"RatioOfWhat", "    share: ratio\n", "share is a ratio, so"},
        BadField{"Leave", "    leave: 90\n", "leave is above the threshold"},
        BadField{"LeaveText", "    leave: cool\n", "leave is not a number"},
        BadField{"Until", "    until: later\n", "until 'later' is not one of"},
        BadField{"QuietReading", "    until: 5m\n",
                 "until is a time, but the sign is not an event"},
        BadField{"Window", "    window: 5m\n", "window is for events"},
        BadField{"While", "    while: load is high\n", "while is not a sign and a comparison"},
        BadField{"WhileWhat", "    while: wind > 3\n", "while 'wind' is not among"},
        BadField{"WhileText", "    while: load == high\n", "while compares with something else"},
        BadField{"Clears", "    clears: [nothing]\n", "clears 'nothing' is not a rule"},
        BadField{"ClearsText", "    clears: hot\n", "clears is not a list"},
        BadField{"TwiceTheId",
                 "  - {id: hot, sign: temperature, when: '> 1', state: Unhealthy, code: A,\n"
                 "     sentence: a, owner: Driver}\n",
                 "r.yaml:14: hot: id is taken by a row above"},
        BadField{"EventWithoutEnd",
                 "  - {id: x, sign: xid, when: in 1, state: Unhealthy, code: A, sentence: a,\n"
                 "     owner: Driver}\n",
                 "until is missing: an event does not end"},
        BadField{"EventWhoseEndNeverComes",
                 "  - {id: x, sign: xid, when: in 1, state: Unhealthy, code: A, sentence: a,\n"
                 "     owner: Driver, until: reset}\n",
                 "until never comes: no rule of this file clears 'reset'"},
        BadField{"EventDebounce",
                 "  - {id: x, sign: xid, when: in 1, state: Unhealthy, code: A, sentence: a,\n"
                 "     owner: Driver, until: reset, enter_for: 3s}\n",
                 "enter_for and leave_for need a sign that lasts"},
        BadField{"EventCount",
                 "  - {id: x, sign: xid, when: in 1, state: Unhealthy, code: A, sentence: a,\n"
                 "     owner: Driver, until: reset, count: 3}\n",
                 "window is missing"},
        BadField{"NoReason",
                 "  - {id: x, sign: xid, when: in 1, state: Healthy, code: A, sentence: a,\n"
                 "     owner: Driver}\n",
                 "because is missing"},
        BadField{"HealthyReading",
                 "  - {id: x, sign: load, when: '> 1', state: Healthy, code: A, sentence: a,\n"
                 "     owner: Driver, because: b}\n",
                 "state is Healthy, which means something for events only"},
        BadField{"NoShare",
                 "  - {id: x, sign: load, when: '> 1', state: Degraded, code: A, sentence: a,\n"
                 "     owner: Driver}\n",
                 "share is missing"},
        BadField{"RiseOfReading",
                 "  - {id: x, sign: load, when: 'rises > 1 in 5m', state: Unhealthy, code: A,\n"
                 "     sentence: a, owner: Driver}\n",
                 "when watches a counter rise"},
        BadField{"NumbersOfReading",
                 "  - {id: x, sign: load, when: in 1-3, state: Unhealthy, code: A, sentence: a,\n"
                 "     owner: Driver}\n",
                 "when lists numbers"},
        BadField{"ReservedId",
                 "  - {id: reset, sign: load, when: '> 1', state: Unhealthy, code: A,\n"
                 "     sentence: a, owner: Driver}\n",
                 "id is not lower-case letters"},
        BadField{"RowIsText", "  - just words\n", "rules[1] is not a mapping"}),
    [](const auto& field) { return std::string(field.param.name); });

TEST(RuleReader, ASentencePastItsBoundIsRefused) {
  std::string rule(kGoodRule);
  rule.replace(rule.find("temperature {value}"), 11, std::string(170, 't'));
  EXPECT_THAT(FaultsOf(FileWith(rule)), HasSubstr("sentence and text together are past 160"));
}

TEST(RuleReader, AFileWithoutRulesOrThatIsNoYamlSaysSo) {
  EXPECT_THAT(FaultsOf("signs: [\n"), HasSubstr("r.yaml: "));
  EXPECT_THAT(FaultsOf(""), HasSubstr("rules is missing"));
  EXPECT_THAT(FaultsOf(FileWith("  {}\n")), HasSubstr("rules is missing or not a list"));
  EXPECT_THAT(FaultsOf(FileWith(kGoodRule) + "extra: 1\n"),
              HasSubstr("extra is not a part of a rules file"));
}

TEST(RuleReader, BoundsHowMuchItReadsAndHowMuchItTells) {
  EXPECT_THAT(FaultsOf(std::string(kRuleFileBytesMax + 1, ' ')), HasSubstr("at most"));
  std::string rows;
  for (std::size_t i = 0; i <= kRulesMax; ++i) rows += "  - {}\n";
  EXPECT_THAT(FaultsOf(FileWith(rows)), HasSubstr("has 2049 rows, at most 2048 fit"));
  rows.clear();
  for (int i = 0; i < 100; ++i) rows += "  - 1\n";
  const std::string faults = FaultsOf(FileWith(rows));
  EXPECT_THAT(faults, HasSubstr("and 50 more"));
  EXPECT_THAT(faults, Not(HasSubstr("rules[99]")));
}

TEST(RuleReader, ReadsWhereASignIsFound) {
  const StatusOr<RuleTable> table = ParseRules(
      "signs:\n"
      "- {name: t, kind: reading, file: 'hwmon/hwmon*/temp*_input', scale: / 1000, every: 5s,\n"
      "   expected: 'hwmon/hwmon*/temp*_crit', several: highest}\n"
      "- {name: e, kind: counter, file: aer_dev_fatal, row: TOTAL_ERR_FATAL, scale: '* 2'}\n"
      "rules: []\n",
      "r.yaml");
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_EQ(table->signs[0].file, (FileSource{"hwmon/hwmon*/temp*_input", "", 1.0 / 1000,
                                              "hwmon/hwmon*/temp*_crit", Several::kHighest, 5s}));
  EXPECT_EQ(table->signs[1].file, (FileSource{"aer_dev_fatal", "TOTAL_ERR_FATAL", 2, "",
                                              Several::kSum, Duration::zero()}));
}

TEST(RuleReader, NamesEveryFaultOfAFileSource) {
  const std::string faults = FaultsOf(
      "signs:\n"
      "- {name: a, kind: event, file: f}\n"
      "- {name: b, kind: reading, file: ../f}\n"
      "- {name: c, kind: reading, file: /sys/f, scale: thousand}\n"
      "- {name: d, kind: reading, file: 'a**', expected: 'b*/c*/d*'}\n"
      "- {name: e, kind: reading, row: R, every: 5s}\n"
      "- {name: f, kind: reading, file: f, several: most, every: 2h}\n"
      "- {name: g, kind: reading, file: '@nvme-smrt', row: R}\n"
      "- {name: h, kind: reading, file: device/@nvme-smart, row: R}\n"
      "- {name: i, kind: reading, file: '@nvme-smart', row: R}\n"
      "rules: []\n");
  EXPECT_THAT(faults, HasSubstr("r.yaml:8: g: file has '@nvme-smrt'"));
  EXPECT_THAT(faults, HasSubstr("r.yaml:9: h: file has '@nvme-smart'"));
  EXPECT_THAT(faults, Not(HasSubstr("r.yaml:10:")));
  EXPECT_THAT(faults,
              HasSubstr("r.yaml:2: a: file is read again and again, so the sign cannot be"));
  EXPECT_THAT(faults, HasSubstr("r.yaml:3: b: file has the segment '..'"));
  EXPECT_THAT(faults, HasSubstr("r.yaml:4: c: file is not a path below the device's directory"));
  EXPECT_THAT(faults, HasSubstr("r.yaml:4: c: scale 'thousand' is not like \"/ 1000\""));
  EXPECT_THAT(faults, HasSubstr("r.yaml:5: d: file has more than one '*' in 'a**'"));
  EXPECT_THAT(faults, HasSubstr("r.yaml:5: d: expected has a '*' that `file` does not have"));
  EXPECT_THAT(faults, HasSubstr("r.yaml:6: e: row needs a `file` that it is about"));
  EXPECT_THAT(faults, HasSubstr("r.yaml:6: e: every needs a `file` or `command` that it is about"));
  EXPECT_THAT(faults, HasSubstr("r.yaml:7: f: several 'most' is not one of first, highest"));
  EXPECT_THAT(faults, HasSubstr("r.yaml:7: f: every is past 1h"));
}

TEST(RuleReader, ANumberIsInTheUnitOfItsSign) {
  const auto table = [](std::string_view when, std::string_view condition) {
    return fmt::format(
        "signs:\n"
        "- {{name: heat, kind: reading, unit: °C}}\n"
        "- {{name: load, kind: reading}}\n"
        "rules:\n"
        "- {{id: hot, sign: heat, when: '{}', while: '{}', state: Degraded, share: 1, code: Hot,\n"
        "   sentence: hot, owner: Platform}}\n",
        when, condition);
  };
  EXPECT_TRUE(ParseRules(table("> 85 °C", "load > 0.5"), "r.yaml").ok());
  EXPECT_THAT(FaultsOf(table("> 185 °F", "load > 0.5")),
              HasSubstr("when compares in '°F', but heat is in °C"));
  EXPECT_THAT(FaultsOf(table("!= 0 °F", "load > 0.5")),
              HasSubstr("when compares in '°F', but heat is in °C"));
  EXPECT_THAT(FaultsOf(table("> 85", "load > 50 %")),
              HasSubstr("while compares in '%', but load has no unit"));
}

TEST(RuleReader, ATableThatExtendsABuiltInOneReplacesItsRulesById) {
  const StatusOr<RuleTable> builtin = ParseRules(kMemoryRules, "memory");
  const StatusOr<RuleTable> table = ParseRules(
      "extends: memory\n"
      "signs:\n"
      "- {name: scrub, kind: reading, file: sdram_scrub_rate}\n"
      "rules:\n"
      "- {id: memory-corrected-often, sign: memory-corrected, when: rises > 5 in 1m,\n"
      "   state: Degraded, share: 1, code: Often, sentence: often, owner: Hardware}\n"
      "- {id: no-scrub, sign: scrub, when: '== 0', state: Degraded, share: 1, code: NoScrub,\n"
      "   sentence: no scrubbing, owner: Platform}\n",
      "r.yaml");
  ASSERT_TRUE(table.ok()) << table.status().message();
  EXPECT_EQ(table->rules.size(), builtin->rules.size() + 1);
  EXPECT_EQ(table->FindRule("memory-corrected-often")->code, "Often");
  EXPECT_EQ(*table->FindRule("memory-uncorrected"), *builtin->FindRule("memory-uncorrected"));
  EXPECT_NE(table->FindSign("scrub"), nullptr);
}

TEST(RuleReader, ATableMayExtendAndSayNothingMore) {
  EXPECT_EQ(*ParseRules("extends: pci\n", "r.yaml"), *ParseRules(kPciRules, "pci"));
}

TEST(RuleReader, ExtendsOnlyTablesThatThereAre) {
  EXPECT_THAT(
      FaultsOf("extends: pcie\n"),
      HasSubstr("r.yaml:1: file: extends 'pcie' is not one of amd, amdgpu, dcgm, fpga, gpu, "
                "hwmon, intel, memory, mlx5, nic, nvme, nvme-smart, "
                "pci, rdma"));
}

TEST(RuleReader, SaysWhatAnOverrideTakesAwayFromRulesThatItKeeps) {
  const std::string faults = FaultsOf(
      "extends: pci\n"
      "signs:\n"
      "- {name: link-width, kind: event}\n");
  EXPECT_THAT(faults, HasSubstr("r.yaml:1: link-width-reduced: "));
}

}  // namespace
}  // namespace galen::probes
