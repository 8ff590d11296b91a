#include "active/check_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "base/thread.h"

namespace galen::active {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class CheckWatchTest : public ::testing::Test {
 protected:
  CheckWatch::Options Hot(double most) {
    return {.now = [this] { return now_; },
            .end = Time{} + 60s,
            .temperature =
                [this] {
                  ++reads_;
                  return temperature_;
                },
            .temperature_most = most};
  }
  Time now_{};
  std::optional<double> temperature_ = 40;
  int reads_ = 0;
};

TEST_F(CheckWatchTest, LetsACheckGoOnUntilItsTimeIsOver) {
  CheckWatch watch(Hot(80));
  now_ += 59s;
  EXPECT_TRUE(watch.Continue("zeros").ok());
  now_ += 1s;
  EXPECT_EQ(watch.Continue("zeros").code(), Code::kDeadlineExceeded);
}

TEST_F(CheckWatchTest, StopsWhatIsInterrupted) {
  CheckWatch watch(Hot(80));
  watch.Stop();
  EXPECT_EQ(watch.Continue("zeros").code(), Code::kCancelled);
}

TEST_F(CheckWatchTest, StopsWhatIsTooHotAndLooksOnceASecond) {
  CheckWatch watch(Hot(80));
  EXPECT_TRUE(watch.Continue("zeros").ok());
  temperature_ = 80.5;
  now_ += 999ms;
  EXPECT_TRUE(watch.Continue("zeros").ok());
  EXPECT_EQ(reads_, 1);
  now_ += 1ms;
  const Status hot = watch.Continue("zeros");
  EXPECT_EQ(hot.code(), Code::kFailedPrecondition);
  EXPECT_EQ(hot.message(), "too hot: 80.5 °C exceeds 80 °C");
  EXPECT_EQ(watch.Look().temperature, 80.5);
}

TEST_F(CheckWatchTest, GoesOnWithoutATemperature) {
  CheckWatch watch(Hot(80));
  temperature_ = std::nullopt;
  EXPECT_TRUE(watch.Continue("zeros").ok());
}

TEST_F(CheckWatchTest, ShowsTheCallAndHowLongItLasts) {
  CheckWatch watch({.now = [this] { return now_; }});
  ASSERT_TRUE(watch.Continue("walking ones").ok());
  EXPECT_EQ(watch.Look().call, "");
  {
    const CheckWatch::Call call(watch, "cuMemAlloc_v2");
    now_ += 7s;
    const CheckWatch::View view = watch.Look();
    EXPECT_EQ(view.call, "cuMemAlloc_v2");
    EXPECT_EQ(view.lasts, 7s);
    EXPECT_EQ(view.doing, "walking ones");
  }
  EXPECT_EQ(watch.Look().call, "");
  EXPECT_EQ(watch.Look().lasts, 0s);
}

// As `galen check` has it: the check on a thread, whoever waits for it beside it.
TEST(CheckWatchThreads, EachLookIsOfOneMomentAndAStopIsSeenByTheCheck) {
  std::atomic<std::int64_t> ticks = 0;
  CheckWatch watch({.now = [&] { return Time(std::chrono::milliseconds(++ticks)); },
                    .temperature = [] { return std::optional<double>(40); },
                    .temperature_most = 80});
  Status ended;
  int steps = 0;
  auto check = StartThread("check-test", [&] {
    while (ended.ok()) {
      // The name of each call says in which step it is.
      const CheckWatch::Call call(watch, steps % 2 == 0 ? "even, first" : "odd, second");
      ended = watch.Continue(steps % 2 == 0 ? "even" : "odd");
      ++steps;
    }
  });
  ASSERT_TRUE(check.ok());
  int in_calls = 0, torn = 0;
  while (in_calls < 2'000) {
    const CheckWatch::View view = watch.Look();
    if (view.call.empty()) continue;
    ++in_calls;
    const bool known = view.call == "even, first" || view.call == "odd, second" ||
                       view.call == "reading the temperature";
    if (!known || view.lasts <= Duration::zero()) ++torn;
  }
  watch.Stop();
  check->join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(ended.code(), Code::kCancelled);
  EXPECT_GT(steps, 0);
  EXPECT_EQ(watch.Look().call, "") << "the check has left its last call";
}

}  // namespace
}  // namespace galen::active
