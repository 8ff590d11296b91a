#include "net/exchange_notices.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/loop/fake_loop.h"

namespace galen::net {
namespace {

TEST(ExchangeNotices, CallbacksRunFromTheLoopAndNeverAtOnce) {
  FakeLoop loop;
  ExchangeNotices notices(loop);
  int drained = 0;
  notices.SetOnDrained([&] { ++drained; });
  notices.Drained();
  notices.Drained();
  EXPECT_EQ(drained, 0);
  loop.RunUntilIdle();
  EXPECT_EQ(drained, 1);
  notices.Drained();
  loop.RunUntilIdle();
  EXPECT_EQ(drained, 2);
}

TEST(ExchangeNotices, GoneIsToldOnceAndEndsTheOther) {
  FakeLoop loop;
  ExchangeNotices notices(loop);
  int drained = 0;
  int gone = 0;
  notices.SetOnDrained([&] { ++drained; });
  notices.SetOnGone([&] { ++gone; });
  notices.Drained();
  notices.Gone();
  notices.Gone();
  loop.RunUntilIdle();
  EXPECT_EQ(gone, 1);
  EXPECT_EQ(drained, 0);
}

TEST(ExchangeNotices, WhoAsksAfterwardsIsToldToo) {
  FakeLoop loop;
  ExchangeNotices notices(loop);
  notices.Gone();
  loop.RunUntilIdle();
  int gone = 0;
  notices.SetOnGone([&] { ++gone; });
  loop.RunUntilIdle();
  EXPECT_EQ(gone, 1);
}

TEST(ExchangeNotices, CallbackMayReplaceItselfOrEndThem) {
  FakeLoop loop;
  auto notices = std::make_unique<ExchangeNotices>(loop);
  int second = 0;
  notices->SetOnDrained([&] {
    notices->SetOnDrained([&] {
      ++second;
      notices.reset();
    });
  });
  notices->Drained();
  loop.RunUntilIdle();
  EXPECT_EQ(second, 0);
  notices->Drained();
  loop.RunUntilIdle();
  EXPECT_EQ(second, 1);
  EXPECT_EQ(notices, nullptr);
}

}  // namespace
}  // namespace galen::net
