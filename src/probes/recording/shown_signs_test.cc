#include "probes/recording/shown_signs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "probes/rule_file/rule_reader.h"

namespace galen::probes {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view kCards =
    "signs:\n"
    "- {name: heat, kind: reading, file: temp1_input, expected: temp1_crti}\n"
    "- {name: errors, kind: counter, file: errors, row: eu}\n"
    "- {name: fan, kind: reading, command: [/opt/fan.sh]}\n"
    "- {name: lost, kind: event, driver: acme, line: lost}\n"
    "- {name: power, kind: reading}\n"
    "- {name: spare, kind: reading, file: spare}\n"
    "defaults: {heat: {state: Unhealthy, owner: Hardware, sentence: hot},\n"
    "  errors: {state: Unhealthy, owner: Hardware, sentence: broken, code: Broken},\n"
    "  fan: {state: Unhealthy, owner: Hardware, sentence: slow, code: Slow},\n"
    "  lost: {state: Unhealthy, owner: Hardware, sentence: lost, code: Lost, until: 1m},\n"
    "  power: {state: Unhealthy, owner: Hardware, sentence: dim, code: Dim}}\n"
    "rules:\n"
    "- {id: hot, sign: heat, when: '>= expected', code: Hot}\n"
    "- {id: broken, sign: errors, when: '> 0'}\n"
    "- {id: breaks, sign: errors, when: 'rises > 1 in 1m'}\n"
    "- {id: slow, sign: fan, when: == 1}\n"
    "- {id: lost, sign: lost, when: '!= 0'}\n"
    "- {id: dim, sign: power, when: < 3}\n";

std::vector<std::string> TextsOf(const ShownSigns& shown) {
  std::vector<std::string> texts;
  for (const UnshownSign& sign : shown.Unshown()) texts.push_back(UnshownText(sign, "here"));
  return texts;
}

TEST(ShownSigns, NamesWhatRulesLookAtAndNoDeviceShowsAndWhatWasLookedFor) {
  const StatusOr<RuleTable> rules = ParseRules(kCards, "r.yaml");
  ASSERT_TRUE(rules.ok()) << rules.status().message();
  ShownSigns shown(*rules);
  shown.Take({.device = "card0", .name = "heat", .value = 61.0});
  EXPECT_THAT(
      TextsOf(shown),
      ElementsAre("no device here shows the sign heat, which rule hot looks at: looked for file "
                  "temp1_crti to hold it against",
                  "no device here shows the sign errors, which rules broken, breaks look at: "
                  "looked for row 'eu' of file errors",
                  "no device here shows the sign power, which rule dim looks at: looked for sign "
                  "of that name"));
  shown.Take({.device = "card1", .name = "heat", .value = 61.0, .expected = 95.0});
  shown.Take({.device = "card1", .name = "errors", .error = "Permission denied"});
  shown.Take({.device = "card1", .name = "power", .absent = true});
  EXPECT_EQ(TextsOf(shown).size(), 1u) << "what cannot be read is there, what is absent is not";
  shown.Take({.device = "card1", .name = "power", .value = 4.0});
  EXPECT_THAT(shown.Unshown(), IsEmpty());
}

TEST(ShownSigns, NeedsItsRulesNoLonger) {
  auto rules = std::make_unique<RuleTable>(ParseRules(kCards, "r.yaml").value());
  const ShownSigns shown(*rules);
  rules.reset();
  EXPECT_EQ(TextsOf(shown).size(), 3u);
}

// Many devices show only a part of what such a table knows.
TEST(ShownSigns, OfSignsOfABuiltInTableNoneIsMissed) {
  const StatusOr<RuleTable> pci = ParseRules(kPciRules, "pci");
  EXPECT_THAT(ShownSigns(*pci).Unshown(), IsEmpty());
  const StatusOr<RuleTable> copied = ParseRules("extends: amdgpu\n", "r.yaml");
  EXPECT_EQ(copied->extends, "amdgpu");
  EXPECT_THAT(ShownSigns(*copied).Unshown(), IsEmpty());
}

TEST(ShownSigns, TellsDevicesThatShowNothingOfTheTableThatIsExtended) {
  const StatusOr<RuleTable> rules = ParseRules("extends: nvme-smart\n", "r.yaml");
  ShownSigns shown(*rules);
  // A sign of nvme, which nvme-smart itself extends.
  shown.Take({.device = "nvme0", .name = "temperature", .value = 40.0});
  EXPECT_THAT(shown.WithoutExtended({"nvme0", "nvme1"}), ElementsAre("nvme0", "nvme1"));
  shown.Take({.device = "nvme1", .name = "smart-used", .value = 3.0});
  EXPECT_THAT(shown.WithoutExtended({"nvme0", "nvme1"}), ElementsAre("nvme0"));
  const StatusOr<RuleTable> metrics = ParseRules("extends: dcgm\n", "r.yaml");
  EXPECT_THAT(ShownSigns(*metrics).WithoutExtended({"gpu-0"}), IsEmpty());
}

}  // namespace
}  // namespace galen::probes
