#include "conformance/check.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

#include "conformance/fake_observations.h"

namespace galen::conformance {
namespace {

using namespace std::chrono_literals;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Checks, AConformingDriverPassesAllThatCanBeChecked) {
  const Observations good = GoodObservations();
  EXPECT_THAT(Failures(good), IsEmpty());
  // It announces every version there is, so none is left to be served in silence.
  EXPECT_THAT(IdsOf(good, Level::kUnknown), ElementsAre("health.announced"));
}

TEST(Checks, AreManyAndEachSaysWhatItExpectsAndWhatToDo) {
  std::set<std::string_view> ids;
  for (const Check& check : AllChecks()) {
    EXPECT_TRUE(ids.insert(check.id).second) << check.id;
    EXPECT_NE(check.id.find('.'), std::string_view::npos) << check.id;
    EXPECT_FALSE(check.expected.empty() || check.expected.ends_with('.')) << check.id;
    EXPECT_TRUE(check.advice.ends_with('.')) << check.id;
  }
  EXPECT_GE(ids.size(), 35u);
}

TEST(Checks, AreAllInTheGuide) {
  std::ifstream file(GALEN_SOURCE_DIR "/docs/guide/conformance.md");
  const std::string guide((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (const Check& check : AllChecks()) {
    const std::string row = fmt::format("| `{}` | {} |", check.id, check.expected);
    EXPECT_NE(guide.find(row), std::string::npos) << row;
  }
}

TEST(Checks, OfADriverThatDoesNotAnswerSayOnlyThat) {
  Observations seen;
  seen.registration.info.answer.status = DeadlineExceeded("no answer within 1 s");
  seen.cdi.not_checked = seen.slices.not_checked = "GetInfo gave no answer";
  EXPECT_THAT(Failures(seen), ElementsAre("registration.get-info"));
  EXPECT_THAT(IdsOf(seen, Level::kGood),
              ElementsAre("registration.socket-file", "registration.socket-length"));
}

TEST(Checks, NeverPassWhatWasNotTried) {
  Observations seen = GoodObservations();
  seen.registration.again.reset();
  seen.registration.with_unknown_field.reset();
  seen.registration.parallel.clear();
  seen.registration.notified_registered.reset();
  seen.registration.after_refusal.reset();
  seen.health = {};
  seen.claims = {};
  EXPECT_THAT(Failures(seen), IsEmpty());
  for (const std::string& id : IdsOf(seen, Level::kGood)) {
    EXPECT_NE(id, "registration.repeatable");
    EXPECT_NE(id, "registration.notified");
    EXPECT_NE(id, "registration.survives-refusal");
    EXPECT_NE(id, "health.resend");
    EXPECT_NE(id, "claims.prepare-again");
  }
}

TEST(Checks, ReadOnlyChecksNothingThatADriverInUseWouldFeel) {
  Observations seen = GoodObservations();
  seen.read_only = true;
  seen.claims = {};
  EXPECT_THAT(Failures(seen), IsEmpty());
  for (const std::string& id : IdsOf(seen, Level::kGood)) {
    EXPECT_FALSE(id.starts_with("claims.")) << id;
  }
}

TEST(Checks, ShowTimesAsAPersonReadsThem) {
  EXPECT_EQ(ShownTime(Duration(1500us)), "1.5 ms");
  EXPECT_EQ(ShownTime(Duration(15s)), "15.0 s");
}

}  // namespace
}  // namespace galen::conformance
