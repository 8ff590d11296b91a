#include <gtest/gtest.h>

#include "probes/command/command_probe.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;

TEST(CheckPace, RunsAtOnceAndThenAsOftenAsItsSignSays) {
  CheckPace pace(10s);
  EXPECT_EQ(pace.due(), Time::min());
  pace.Begin(Time(100s));
  pace.End(5ms, false);
  EXPECT_EQ(pace.due(), Time(110s));
}

TEST(CheckPace, ARunPastItsShareOfTheProcessorDoublesTheInterval) {
  CheckPace pace(10s);
  pace.End(500ms, false);
  EXPECT_EQ(pace.interval(), 10s);
  pace.End(501ms, false);
  EXPECT_EQ(pace.interval(), 20s);
}

TEST(CheckPace, ATimeoutDoublesTheIntervalUpToABound) {
  CheckPace pace(1s);
  for (int run = 0; run < 10; ++run) pace.End(0ms, true);
  EXPECT_EQ(pace.interval(), 16s);
}

TEST(CheckPace, ACheapRunHalvesItAgainButNeverBelowWhatTheSignSays) {
  CheckPace pace(10s);
  pace.End(0ms, true);
  // Within the share of 20 s, past that of 10 s: halving would only double it again.
  pace.End(600ms, false);
  EXPECT_EQ(pace.interval(), 20s);
  pace.End(400ms, false);
  EXPECT_EQ(pace.interval(), 10s);
  pace.End(0ms, false);
  EXPECT_EQ(pace.interval(), 10s);
}

}  // namespace
}  // namespace galen::probes
