#include "base/guarded.h"

#include <gtest/gtest.h>

#include <string>

#include "base/thread.h"

namespace galen {
namespace {

struct Position {
  int step = 0;
  std::string text = "0";  // always the same number
};

TEST(Guarded, BeginsWithTheValuesOwnBeginning) {
  const Guarded<Position> position;
  EXPECT_EQ(position.Get().text, "0");
}

TEST(Guarded, GivesWhatAChangeGives) {
  Guarded<Position> position;
  EXPECT_EQ(position.Update([](Position& at) { return ++at.step; }), 1);
  EXPECT_EQ(position.Get().step, 1);
}

TEST(Guarded, NoThreadSeesAChangeHalfMade) {
  constexpr int kSteps = 10'000;
  Guarded<Position> position;
  auto worker = StartThread("guarded-test", [&] {
    for (int step = 1; step <= kSteps; ++step) {
      position.Update([&](Position& at) {
        at.step = step;
        at.text = std::to_string(step);
      });
    }
  });
  ASSERT_TRUE(worker.ok());
  int last = 0, torn = 0, backwards = 0;
  while (last < kSteps) {
    const Position at = position.Get();
    if (std::to_string(at.step) != at.text) ++torn;
    if (at.step < last) ++backwards;
    last = at.step;
  }
  worker->join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(backwards, 0);
}

TEST(Guarded, LosesNoneOfTheChangesOfTwoThreads) {
  constexpr int kEach = 5'000;
  Guarded<int> sum;
  const auto add = [&] {
    for (int i = 0; i < kEach; ++i) sum.Update([](int& value) { ++value; });
  };
  auto other = StartThread("guarded-test", add);
  ASSERT_TRUE(other.ok());
  add();
  other->join();
  EXPECT_EQ(sum.Get(), 2 * kEach);
}

}  // namespace
}  // namespace galen
