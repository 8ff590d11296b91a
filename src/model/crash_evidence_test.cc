#include "model/crash_evidence.h"

#include <gtest/gtest.h>

#include "model/fake_crash.h"

namespace galen {
namespace {

using namespace std::chrono_literals;

ContainerEnd Ended(std::optional<int> exit_code, std::optional<int> signal = {}) {
  return {.container = "train", .exit_code = exit_code, .signal = signal};
}

TEST(ContainerEnd, IsBadWithACodeOrASignalAndNotWhenNothingIsKnown) {
  EXPECT_TRUE(EndedBadly(Ended(1)));
  EXPECT_TRUE(EndedBadly(Ended(std::nullopt, SIGKILL)));
  EXPECT_FALSE(EndedBadly(Ended(0)));
  EXPECT_FALSE(EndedBadly(Ended(std::nullopt)));
}

TEST(ContainerEnd, SaysItsSignalByItselfOrByItsCode) {
  EXPECT_EQ(SignalOf(Ended(134)), SIGABRT);
  EXPECT_EQ(SignalOf(Ended(1, SIGKILL)), SIGKILL);
  EXPECT_EQ(SignalOf(Ended(129)), 1);
  EXPECT_EQ(SignalOf(Ended(192)), 64) << "the last that there is";
  EXPECT_EQ(SignalOf(Ended(193)), std::nullopt);
  EXPECT_EQ(SignalOf(Ended(128)), std::nullopt) << "a code of runtimes";
  EXPECT_EQ(SignalOf(Ended(255)), std::nullopt) << "exit(-1) is not a signal";
  EXPECT_EQ(SignalOf(Ended(1)), std::nullopt);
  EXPECT_EQ(SignalOf(Ended(std::nullopt)), std::nullopt);
}

TEST(FirstBadEnd, IsTheEarliestThatIsBad) {
  const CrashEvidence evidence = FakeCrash().Exit(0).Also("b", 137, 5s).Also("a", 1, 2s);
  ASSERT_NE(FirstBadEnd(evidence), nullptr);
  EXPECT_EQ(FirstBadEnd(evidence)->container, "a");
}

TEST(FirstBadEnd, OfSeveralAtOneTimeIsTheFirstInThePod) {
  const CrashEvidence evidence = FakeCrash().Exit(0).Also("b", 137, 2s).Also("a", 1, 2s);
  EXPECT_EQ(FirstBadEnd(evidence)->container, "b");
}

TEST(FirstBadEnd, OfUnknownTimesIsTheFirstThatHasOneElseTheFirst) {
  CrashEvidence evidence = FakeCrash().Exit(1).Also("b", 2, 1s);
  evidence.containers[0].finished.reset();
  EXPECT_EQ(FirstBadEnd(evidence)->container, "b");
  evidence.containers[1].finished.reset();
  EXPECT_EQ(FirstBadEnd(evidence)->container, "train");
}

TEST(FirstBadEnd, IsNoneWhereAllEndedWellOrRun) {
  EXPECT_EQ(FirstBadEnd(FakeCrash().Exit(0)), nullptr);
  EXPECT_EQ(FirstBadEnd(CrashEvidence()), nullptr);
}

}  // namespace
}  // namespace galen
