#include "net/endpoint/fake_socket_host.h"

#include <gtest/gtest.h>

#include "net/endpoint/fake_socket_place.h"

namespace galen::net {
namespace {

// What the real host promises, as far as a test without sockets can see it.
TEST(FakeSocketHost, BehavesLikeTheRealOne) {
  FakeSocketPlace place;
  auto first = place.sockets.Listen("/d/a.sock", place.handler);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(place.sockets.Listen("/d/a.sock", place.handler).status().code(), Code::kAlreadyExists);
  place.sockets.RemoveFile("/d/a.sock");
  EXPECT_FALSE((*first)->InPlace());
  auto second = place.sockets.Listen("/d/a.sock", place.handler);
  ASSERT_TRUE(second.ok());
  first->reset();
  EXPECT_TRUE((*second)->InPlace());
  EXPECT_TRUE(place.Connects("/d/a.sock"));
  second->reset();
  EXPECT_FALSE(place.Connects("/d/a.sock"));
  EXPECT_EQ(place.sockets.MarkOf("/d/a.sock"), std::nullopt);
  auto third = place.sockets.Listen("/d/a.sock", place.handler);
  const auto mark = place.sockets.MarkOf("/d/a.sock");
  EXPECT_EQ(place.sockets.MarkOf("/d/a.sock"), mark);
  third->reset();
  auto fourth = place.sockets.Listen("/d/a.sock", place.handler);
  EXPECT_NE(place.sockets.MarkOf("/d/a.sock"), mark);
}

TEST(FakeSocketHost, NotifiesWatchersOfTheDirectoryOnly) {
  FakeSocketPlace place;
  int notices = 0;
  auto watch = place.sockets.Watch("/d", [&] { ++notices; });
  auto socket = place.sockets.Listen("/d/a.sock", place.handler);
  auto elsewhere = place.sockets.Listen("/dd/a.sock", place.handler);
  place.loop.RunUntilIdle();
  EXPECT_EQ(notices, 1);
  watch->reset();
  socket->reset();
  place.loop.RunUntilIdle();
  EXPECT_EQ(notices, 1);
}

}  // namespace
}  // namespace galen::net
