#include "base/data/yaml_lines.h"

#include <gtest/gtest.h>

namespace galen {
namespace {

constexpr std::string_view kText =
    "# rules\n"
    "signs:\n"
    "  - {name: a}\n"
    "\n"
    "rules:\n"
    "  - id: one\n"
    "    clears:\n"
    "      - x\n"
    "  # between\n"
    "  - id: two\n";

TEST(YamlLines, NamesTheLineOfEachRowOfAList) {
  const YamlLines lines(kText);
  EXPECT_EQ(lines.OfKey("rules"), 5u);
  EXPECT_EQ(lines.OfItem("signs", 0), 3u);
  EXPECT_EQ(lines.OfItem("rules", 0), 6u);
  EXPECT_EQ(lines.OfItem("rules", 1), 10u) << "a list inside a row is not a row";
}

TEST(YamlLines, FallsBackToTheKeyAndThenToNothing) {
  const YamlLines lines("rules: [{id: one}, {id: two}]");
  EXPECT_EQ(lines.OfItem("rules", 1), 1u);
  EXPECT_EQ(lines.OfItem("signs", 0), std::nullopt);
  EXPECT_EQ(lines.OfKey("signs"), std::nullopt);
  EXPECT_EQ(YamlLines("").OfKey("rules"), std::nullopt);
}

TEST(YamlLines, NamesTheLineOfARowsField) {
  const YamlLines lines(
      "timeouts:\n"
      "- driver: a\n"
      "  timeout: 5\n"
      "- {driver: b, timeout: 6}\n"
      "- driver: c\n"
      "node: timeout\n");
  EXPECT_EQ(lines.OfField("timeouts", 0, "timeout"), 3u);
  EXPECT_EQ(lines.OfField("timeouts", 1, "timeout"), 4u);
  EXPECT_EQ(lines.OfField("timeouts", 2, "timeout"), 5u) << "it has none: its own line";
  EXPECT_EQ(lines.OfField("drivers", 0, "name"), std::nullopt);
  EXPECT_EQ(lines.PlaceOfField("drivers", 0, "name"), std::nullopt);
}

TEST(YamlLines, NamesThePlaceOfAFieldOfAMappingInside) {
  const YamlLines lines(
      "defaults:\n"
      "  heat: {owner: x, state: y}\n"
      "  load:\n"
      "    state: z\n"
      "  power: {code: c}\n"
      "rules:\n"
      "- {owner: z}\n");
  EXPECT_EQ(lines.PlaceInside("defaults", "heat", "state"), (YamlPlace{2, 20}));
  EXPECT_EQ(lines.PlaceInside("defaults", "load", "state"), (YamlPlace{4, 5}));
  EXPECT_EQ(lines.PlaceInside("defaults", "load", "code"), (YamlPlace{3, 3})) << "it has none";
  EXPECT_EQ(lines.PlaceInside("defaults", "heat", ""), (YamlPlace{2, 3}));
  EXPECT_EQ(lines.PlaceInside("defaults", "fan", "state"), (YamlPlace{1, 1}));
  EXPECT_EQ(lines.PlaceInside("signs", "fan", "state"), std::nullopt);
  const YamlLines flow("defaults: {heat: {owner: x}}\n");
  EXPECT_EQ(flow.PlaceInside("defaults", "heat", "owner"), (YamlPlace{1, 19}));
}

TEST(YamlLines, RowsMayStartAtTheLeftEdge) {
  EXPECT_EQ(YamlLines("rules:\n- id: one\n- id: two\n").OfItem("rules", 1), 3u);
}

}  // namespace
}  // namespace galen
