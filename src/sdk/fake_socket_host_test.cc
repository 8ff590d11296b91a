#include "sdk/fake_socket_host.h"

#include <gtest/gtest.h>

#include "sdk/fake_node.h"

namespace galen::sdk {
namespace {

// What the real host promises, as far as a test without sockets can see it.
TEST(FakeSocketHost, BehavesLikeTheRealOne) {
  FakeNode node;
  rpc::Dispatcher handler(node.loop);
  auto first = node.sockets.Listen("/d/a.sock", handler);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(node.sockets.Listen("/d/a.sock", handler).status().code(), Code::kAlreadyExists);
  node.sockets.RemoveFile("/d/a.sock");
  EXPECT_FALSE((*first)->InPlace());
  auto second = node.sockets.Listen("/d/a.sock", handler);
  ASSERT_TRUE(second.ok());
  first->reset();
  EXPECT_TRUE((*second)->InPlace());
  EXPECT_TRUE(node.Connect("/d/a.sock").connected());
  second->reset();
  EXPECT_FALSE(node.Connect("/d/a.sock").connected());
}

TEST(FakeSocketHost, TellsWatchersOfTheDirectoryOnly) {
  FakeNode node;
  rpc::Dispatcher handler(node.loop);
  int notices = 0;
  auto watch = node.sockets.Watch("/d", [&] { ++notices; });
  auto socket = node.sockets.Listen("/d/a.sock", handler);
  auto elsewhere = node.sockets.Listen("/dd/a.sock", handler);
  node.loop.RunUntilIdle();
  EXPECT_EQ(notices, 1);
  watch->reset();
  socket->reset();
  node.loop.RunUntilIdle();
  EXPECT_EQ(notices, 1);
}

}  // namespace
}  // namespace galen::sdk
