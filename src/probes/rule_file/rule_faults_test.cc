// One mistake of a rules file is one fault, where it stands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/rule_file/rule_reader.h"

namespace galen::probes {
namespace {

// What is said of a file.
std::string SaidOf(const std::string& text) {
  const StatusOr<RuleTable> table = ParseRules(text, "r.yaml");
  return table.ok() ? "" : table.status().message();
}

constexpr const char* kHeat = "signs:\n- {name: temperature, kind: reading, file: temp}\n";

TEST(RuleFaults, ARuleOfAMisspeltSignLacksNothingThatItsDefaultsWouldHaveSaid) {
  EXPECT_EQ(SaidOf(std::string(kHeat) +
                   "defaults:\n  temperature: {owner: Hardware, state: Unhealthy}\n"
                   "rules:\n- {id: hot, sign: temprature, when: '> 85', code: Hot, sentence: x}\n"),
            "r.yaml:6:13: hot: sign 'temprature' is not among this file's signs; is it "
            "`temperature`?");
  // Without defaults nothing else would have said it.
  EXPECT_THAT(
      SaidOf(std::string(kHeat) +
             "rules:\n- {id: hot, sign: temprature, when: '> 85', code: Hot, sentence: x}\n"),
      testing::HasSubstr("hot: state is missing"));
}

TEST(RuleFaults, DefaultsOfAMisspeltSignAreNamedAndWhatRulesLackForThemIsNot) {
  EXPECT_EQ(
      SaidOf(std::string(kHeat) +
             "defaults:\n  temprature: {owner: Hardware, state: Unhealthy}\n"
             "rules:\n- {id: hot, sign: temperature, when: '> 85', code: Hot, sentence: x}\n"),
      "r.yaml:4:3: file: defaults names 'temprature', which is not among this file's signs; "
      "is it `temperature`?");
  EXPECT_EQ(SaidOf(std::string(kHeat) + "defaults: [temperature]\nrules: []\n"),
            "r.yaml:3:1: file: defaults is not a mapping of signs to fields");
}

TEST(RuleFaults, AreGivenOneByOneWithTheirPlacesToo) {
  EXPECT_THAT(
      FaultsOfRules("signs:\n- {name: A, kind: reading}\nrules: []\n", "r.yaml"),
      testing::ElementsAre(testing::AllOf(
          testing::Field(&RuleFault::place, YamlPlace{2, 4}),
          testing::Field(&RuleFault::message, testing::StartsWith("A: name is not lower-case")))));
  EXPECT_THAT(FaultsOfRules(std::string(kHeat) + "rules: []\n", "r.yaml"), testing::IsEmpty());
  std::string many = "signs:\n";
  for (int i = 0; i < 60; ++i) many += "- {name: A" + std::to_string(i) + ", kind: reading}\n";
  many += "rules: []\n";
  EXPECT_THAT(FaultsOfRules(many, "r.yaml"), testing::SizeIs(60)) << "past what a person reads";
  const std::vector<RuleFault> syntax = FaultsOfRules("signs: [", "r.yaml");
  ASSERT_EQ(syntax.size(), 1u);
  EXPECT_EQ(syntax[0].place, std::nullopt);
  EXPECT_THAT(syntax[0].message, testing::HasSubstr("YAML line"));
}

TEST(RuleFaults, DefaultsThatNoRuleTakesDoNothing) {
  EXPECT_EQ(SaidOf("extends: pci\ndefaults:\n  link-width: {owner: Platform}\n"),
            "r.yaml:3:3: file: defaults of link-width are used by no rule of this file; to "
            "change a rule of the table that it extends, write one of the same id");
}

TEST(RuleFaults, AFaultOfDefaultsStandsThereOnceForAllRules) {
  EXPECT_EQ(
      SaidOf(std::string(kHeat) +
             "defaults:\n  temperature: {owner: Hardwear, state: Unhealthy, entr_for: 2s}\n"
             "rules:\n- {id: hot, sign: temperature, when: '> 85', code: Hot, sentence: x}\n"
             "- {id: hotter, sign: temperature, when: '> 95', code: Hot, sentence: x}\n"),
      "r.yaml:4:52: defaults of temperature: entr_for is not a field that this table knows; is "
      "it `enter_for`?\n"
      "r.yaml:4:17: defaults of temperature: owner 'Hardwear' is not one of Hardware, Driver, "
      "Application, Platform");
}

TEST(RuleFaults, AMisspeltFieldIsAskedForAndWhatNeedsItIsNoFault) {
  EXPECT_EQ(SaidOf("signs:\n- {name: heat, kind: reading, fiel: temp, scale: / 10, expected: c}\n"
                   "rules:\n- {id: hot, sign: heat, when: '>= expected', code: Hot, sentence: x, "
                   "state: Unhealthy, owner: Hardware}\n"),
            "r.yaml:2:31: heat: fiel is not a field that this table knows; is it `file`?");
  EXPECT_EQ(SaidOf(std::string(kHeat) +
                   "rules:\n- {id: hot, sign: temperature, hwen: '> 85', code: Hot, sentence: x, "
                   "state: Unhealthy, owner: Hardware}\n"),
            "r.yaml:4:32: hot: hwen is not a field that this table knows; is it `when`?");
}

TEST(RuleFaults, ARuleThatComparesWithExpectedNeedsASignThatSaysIt) {
  const auto rule = [](const std::string& sign) {
    return SaidOf("signs:\n- {name: heat, kind: reading" + sign +
                  "}\nrules:\n- {id: hot, sign: heat, when: '>= expected', code: Hot, "
                  "sentence: x, state: Unhealthy, owner: Hardware}\n");
  };
  EXPECT_EQ(rule(", file: temp"),
            "r.yaml:4:25: hot: when compares with expected, but heat says of none: `expected` "
            "names the file that does");
  EXPECT_EQ(rule(", command: [/opt/heat.sh]"),
            "r.yaml:4:25: hot: when compares with expected, but heat says of none");
  EXPECT_EQ(rule(", file: temp, expected: crit"), "");
  EXPECT_EQ(rule(""), "") << "a driver may say it";
}

TEST(RuleFaults, AFileExtendsOneTable) {
  EXPECT_EQ(SaidOf("extends: [pci, nvme]\n"),
            "r.yaml:1:1: file: extends is a list, but a file extends one table, such as `extends: "
            "pci`");
}

}  // namespace
}  // namespace galen::probes
