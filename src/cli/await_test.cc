#include "cli/await.h"

#include <gtest/gtest.h>

namespace galen::cli {
namespace {

TEST(Await, GivesWhatTheCallbackWasGiven) {
  const auto loop = EpollLoop::Create().value();
  const StatusOr<int> answer = Await<int>(
      *loop, [&](std::function<void(StatusOr<int>)> done) { loop->Post([done] { done(7); }); });
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(*answer, 7);
}

TEST(Await, EndsWithTheReasonOfAnInterruptAndOutlivesALateAnswer) {
  const auto loop = EpollLoop::Create().value();
  Interrupt interrupt(*loop);
  std::function<void(StatusOr<int>)> late;
  const StatusOr<int> answer = Await<int>(
      *loop,
      [&](std::function<void(StatusOr<int>)> done) {
        late = std::move(done);
        loop->Post([&] { interrupt.Raise(Cancelled("interrupted")); });
      },
      &interrupt);
  EXPECT_EQ(answer.status(), Cancelled("interrupted"));
  late(7);  // nobody waits any more, and nothing breaks
}

TEST(Await, DoesNotBeginOnceInterrupted) {
  const auto loop = EpollLoop::Create().value();
  Interrupt interrupt(*loop);
  interrupt.Raise(Unavailable("galen-agent ended by itself"));
  interrupt.Raise(Cancelled("interrupted"));
  bool begun = false;
  const StatusOr<int> answer =
      Await<int>(*loop, [&](std::function<void(StatusOr<int>)>) { begun = true; }, &interrupt);
  EXPECT_FALSE(begun);
  EXPECT_EQ(answer.status(), Unavailable("galen-agent ended by itself")) << "the first one counts";
}

}  // namespace
}  // namespace galen::cli
