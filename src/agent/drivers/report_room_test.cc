#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "agent/drivers/driver_link.h"

namespace galen::agent {
namespace {

TEST(ReportRoom, AdmitsLongReportsInTheOrderOfAskingAsFarAsTheirBytesGo) {
  ReportRoom room;
  const int a = 0, b = 0, c = 0;
  std::string order;
  room.Ask(&a, ReportRoom::kLongBytesMax, [&] { order += "a"; });
  room.Ask(&b, 1'000, [&] { order += "b"; });
  room.Ask(&c, 1'000, [&] { order += "c"; });
  EXPECT_EQ(order, "a");
  room.GiveBack(&a);
  EXPECT_EQ(order, "abc");
  EXPECT_EQ(room.long_bytes(), 2'000u);
}

TEST(ReportRoom, ALinkThatGoesGivesBackWhatItHasAndAsks) {
  ReportRoom room;
  const int a = 0, b = 0;
  std::string order;
  room.Join();
  room.Join();
  room.Ask(&a, ReportRoom::kLongBytesMax, [&] { order += "a"; });
  room.Ask(&b, 1'000, [&] { order += "b"; });
  room.Leave(&b);
  room.Leave(&a);
  EXPECT_EQ(order, "a");
  EXPECT_EQ(room.long_bytes(), 0u);
}

TEST(ReportRoom, ThePaceIsSharedByAllLinks) {
  ReportRoom room;
  room.Join();
  EXPECT_EQ(room.CostOf(3), 3);
  room.Join();
  EXPECT_EQ(room.CostOf(3), 6);
}

}  // namespace
}  // namespace galen::agent
