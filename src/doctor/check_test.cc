#include "doctor/check.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

#include "doctor/fake_observations.h"

namespace galen::doctor {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;

TEST(Checks, OfAHealthyNodeAreAllHealthy) { EXPECT_THAT(Found(GoodObservations()), IsEmpty()); }

TEST(Checks, AreManyAndEachSaysWhatItExpectsWhatItMeansAndWhatToDo) {
  std::set<std::string_view> ids;
  for (const Check& check : AllChecks()) {
    EXPECT_TRUE(ids.insert(check.id).second) << check.id;
    EXPECT_NE(check.id.find('.'), std::string_view::npos) << check.id;
    EXPECT_FALSE(check.expected.empty() || check.expected.ends_with('.')) << check.id;
    EXPECT_TRUE(check.means.ends_with('.')) << check.id;
    EXPECT_TRUE(check.advice.ends_with('.')) << check.id;
    EXPECT_TRUE(check.severity == Level::kBad || check.severity == Level::kWarning);
  }
  EXPECT_GE(ids.size(), 50u);
}

TEST(Checks, AreAllInTheGuideAndNoOthers) {
  std::ifstream file(GALEN_SOURCE_DIR "/docs/guide/doctor.md");
  const std::string guide((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (const Check& check : AllChecks()) {
    const std::string row =
        fmt::format("| `{}` | {} | {} | {} | {} |", check.id, ToString(check.severity),
                    check.expected, check.means, check.advice);
    EXPECT_NE(guide.find(row), std::string::npos) << row;
  }
  std::size_t rows = 0;
  for (std::size_t at = 0; (at = guide.find("\n| `", at)) != std::string::npos; ++at) {
    const std::string id = guide.substr(at + 4, guide.find('`', at + 4) - at - 4);
    rows += id.find('.') != std::string::npos && !id.starts_with("--") ? 1 : 0;
  }
  EXPECT_EQ(rows, AllChecks().size()) << "a row of a check that is gone";
}

TEST(Checks, OfWhatCouldNotBeLookedAtAreUnknownAndNothingElse) {
  for (const CheckResult& result : Judge(Observations())) {
    EXPECT_EQ(result.level, Level::kUnknown) << result.id << ": " << result.seen;
    EXPECT_FALSE(result.seen.empty()) << result.id;
  }
}

TEST(Checks, NeverSayMoreThanTheirSeverity) {
  // Everything that a group can find is tested beside it; here only that no warning check is bad.
  Observations seen = GoodObservations();
  seen.host.time_sync = TimeSyncSeen{};
  const CheckResult result = ResultOf(seen, "host.time-sync");
  EXPECT_EQ(result.severity, Level::kWarning);
  EXPECT_EQ(result.level, Level::kWarning);
}

TEST(Checks, ShowTimesAsAPersonReadsThem) {
  EXPECT_EQ(ShownTime(Duration(1500ms)), "1.5 s");
  EXPECT_EQ(ShownTime(Duration(90s)), "90s");
}

TEST(Checks, ListTheFirstFewAndCountTheRest) {
  EXPECT_EQ(Listed({"a"}), "a");
  EXPECT_EQ(Listed({"a", "b"}), "a; b");
  EXPECT_EQ(Listed({"a", "b", "c", "d", "e", "f"}), "a; b; c; d; and 2 more");
}

}  // namespace
}  // namespace galen::doctor
