#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "verdict/judge.h"

namespace galen {
namespace {

std::string Names(const std::vector<Fact>& facts, std::string_view between) {
  std::string text;
  for (const Fact fact : facts) {
    if (!text.empty()) text += between;
    text += ToString(fact);
  }
  return text;
}

// A row as the guide shows it.
std::string RowOf(const VerdictRule& rule) {
  std::string when = Names(rule.holds, " and ");
  if (!rule.lacks.empty()) when += "; not: " + Names(rule.lacks, ", ");
  return fmt::format("| {} | {} | {} | {:.2f} | {} | {} | {} |", rule.name, ToString(rule.supports),
                     rule.group, rule.weight, when, rule.sentence, rule.source);
}

std::string Guide() {
  std::ifstream file(GALEN_SOURCE_DIR "/docs/guide/verdict.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::size_t RowsAfter(const std::string& text, const std::string& heading) {
  const std::size_t begin = text.find(heading);
  if (begin == std::string::npos) return 0;
  std::istringstream lines(text.substr(begin));
  std::size_t rows = 0;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("|")) {
      ++rows;
      inside = true;
    } else if (inside) {
      break;
    }
  }
  return rows < 2 ? 0 : rows - 2;  // without the head
}

TEST(VerdictRules, AreTheTableOfTheGuide) {
  const std::string guide = Guide();
  std::string missing;
  for (const VerdictRule& rule : VerdictRules()) {
    if (guide.find(RowOf(rule) + "\n") == std::string::npos) missing += RowOf(rule) + "\n";
  }
  EXPECT_EQ(missing, "") << "put these rows into docs/guide/verdict.md";
  EXPECT_EQ(RowsAfter(guide, "## The rules"), VerdictRules().size()) << "and no others";
}

TEST(VerdictRules, AreAboutFactsThatTheGuideExplains) {
  const std::string guide = Guide();
  std::string missing;
  for (const FactRow& row : FactRows()) {
    const std::string line = fmt::format("| {} | {} |\n", row.name, row.meaning);
    if (guide.find(line) == std::string::npos) missing += line;
  }
  EXPECT_EQ(missing, "") << "put these rows into docs/guide/verdict.md";
  EXPECT_EQ(RowsAfter(guide, "## The facts"), FactRows().size()) << "and no others";
}

TEST(VerdictRules, HaveNamesOfTheirOwnAndSensibleWeights) {
  std::set<std::string_view> names;
  for (const VerdictRule& rule : VerdictRules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_GT(rule.weight, 0) << rule.name;
    EXPECT_LT(rule.weight, 1) << rule.name << ": nothing is certain";
    EXPECT_NE(rule.supports, VerdictKind::kUndetermined) << rule.name;
    EXPECT_FALSE(rule.holds.empty()) << rule.name;
    EXPECT_FALSE(rule.sentence.empty() || rule.source.empty()) << rule.name;
  }
}

TEST(VerdictRules, UseEachFact) {
  std::set<Fact> used;
  for (const VerdictRule& rule : VerdictRules()) {
    used.insert(rule.holds.begin(), rule.holds.end());
    used.insert(rule.lacks.begin(), rule.lacks.end());
  }
  for (const FactRow& row : FactRows()) EXPECT_TRUE(used.contains(row.fact)) << row.name;
}

// Else less hardware evidence could say more.
TEST(VerdictRules, ForHardwareLackNothing) {
  for (const VerdictRule& rule : VerdictRules()) {
    if (rule.supports != VerdictKind::kHardware) continue;
    EXPECT_TRUE(rule.lacks.empty()) << rule.name;
  }
}

// What is no sign of a device never makes hardware likely by itself.
TEST(VerdictRules, ThatOnlySupportNeedANearSign) {
  const std::set<std::string_view> signs = {"sign", "strain"};
  for (const VerdictRule& rule : VerdictRules()) {
    if (rule.supports != VerdictKind::kHardware || signs.contains(rule.group)) continue;
    EXPECT_NE(std::find(rule.holds.begin(), rule.holds.end(), Fact::kHardwareNear),
              rule.holds.end())
        << rule.name;
  }
}

}  // namespace
}  // namespace galen
