#include "net/fake_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/loop/fake_loop.h"

namespace galen::net {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

TEST(FakeDelay, LiesBetweenItsBoundsAndReachesBoth) {
  Random random(7);
  const LinkWeather weather{.delay_least = 2ns, .delay_most = 4ns};
  std::set<Duration> seen;
  for (int i = 0; i < 100; ++i) seen.insert(FakeDelay(random, weather));
  EXPECT_THAT(seen, ElementsAre(2ns, 3ns, 4ns));
}

TEST(FakePipe, MessagesKeepTheirOrderWhateverTheirDelays) {
  FakeLoop loop;
  Random random(1);
  LinkWeather weather{.delay_least = 100ms, .delay_most = 100ms};
  FakePipe pipe(loop, random, weather);
  std::vector<int> arrived;
  pipe.Put([&] { arrived.push_back(1); });
  weather = {};
  pipe.Put([&] { arrived.push_back(2); });
  loop.Advance(99ms);
  EXPECT_TRUE(arrived.empty());
  loop.Advance(1ms);
  EXPECT_THAT(arrived, ElementsAre(1, 2));
}

TEST(FakePipe, NothingArrivesWhileStalled) {
  FakeLoop loop;
  Random random(1);
  LinkWeather weather;
  FakePipe pipe(loop, random, weather);
  int arrived = 0;
  pipe.Put([&] { ++arrived; });
  weather.stalled = true;
  loop.Advance(1h);
  EXPECT_EQ(arrived, 0);
  weather.stalled = false;
  pipe.Resume();
  loop.RunUntilIdle();
  EXPECT_EQ(arrived, 1);
}

TEST(FakePipe, ClearedMessagesNeverArrive) {
  FakeLoop loop;
  Random random(1);
  const LinkWeather weather;
  FakePipe pipe(loop, random, weather);
  int arrived = 0;
  pipe.Put([&] { ++arrived; });
  pipe.Clear();
  loop.Advance(1s);
  EXPECT_EQ(arrived, 0);
}

}  // namespace
}  // namespace galen::net
