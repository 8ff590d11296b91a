#include <gtest/gtest.h>

#include "base/loop/loop.h"

namespace galen {
namespace {

TEST(Task, RunsWhatItWasMadeOf) {
  int runs = 0;
  Task task([&] { ++runs; });
  task();
  EXPECT_EQ(runs, 1);
}

TEST(Task, CarriesWhatCanOnlyBeMoved) {
  int seen = 0;
  Task task([&seen, value = std::make_unique<int>(7)] { seen = *value; });
  Task moved = std::move(task);
  moved();
  EXPECT_EQ(seen, 7);
}

TEST(Task, IsEmptyUntilGivenSomething) {
  EXPECT_FALSE(Task());
  EXPECT_TRUE(Task([] {}));
}

TEST(Task, FreesItsCapturesWhenItDies) {
  auto value = std::make_shared<int>(1);
  {
    const Task task([value] {});
    EXPECT_EQ(value.use_count(), 2);
  }
  EXPECT_EQ(value.use_count(), 1);
}

}  // namespace
}  // namespace galen
