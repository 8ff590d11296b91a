#include "sdk/socket_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sdk/fake_node.h"

namespace galen::sdk {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kPath[] = "/plugins_registry/fpga-reg.sock";

class SocketKeeperTest : public ::testing::Test {
 protected:
  SocketKeeperTest() {
    node_.sockets.OnChange([this](const std::string&, bool there) { there ? ++made_ : ++gone_; });
  }

  FakeNode node_;
  rpc::Dispatcher handler_{node_.loop};
  int made_ = 0;
  int gone_ = 0;
  SocketKeeper keeper_{
      {node_.loop, NullLog(), node_.random, node_.files, node_.sockets}, kPath, handler_};
};

TEST_F(SocketKeeperTest, MakesTheDirectoryAndListens) {
  ASSERT_EQ(keeper_.Start(), OkStatus());
  EXPECT_TRUE(node_.files.List("/plugins_registry").ok());
  EXPECT_THAT(node_.sockets.sockets(), ElementsAre(kPath));
}

TEST_F(SocketKeeperTest, MakesTheSocketAgainWhenItsFileGoes) {
  ASSERT_EQ(keeper_.Start(), OkStatus());
  node_.sockets.RemoveFile(kPath);
  node_.loop.RunUntilIdle();
  EXPECT_THAT(node_.sockets.sockets(), ElementsAre(kPath));
  EXPECT_TRUE(node_.Connect(kPath).connected());
}

TEST_F(SocketKeeperTest, LeavesASocketInPlaceAlone) {
  ASSERT_EQ(keeper_.Start(), OkStatus());
  const auto other = node_.sockets.Listen("/plugins_registry/other.sock", handler_);
  ASSERT_TRUE(other.ok());
  node_.loop.Advance(60s);
  EXPECT_EQ(made_, 2);  // ours once and the other
}

TEST_F(SocketKeeperTest, TriesAgainUntilItCanListen) {
  ASSERT_EQ(keeper_.Start(), OkStatus());
  node_.sockets.FailListen(PermissionDenied("read-only file system"));
  node_.sockets.RemoveFile(kPath);
  node_.loop.Advance(30s);
  EXPECT_THAT(node_.sockets.sockets(), IsEmpty());
  node_.sockets.FailListen(OkStatus());
  node_.loop.Advance(10s);
  EXPECT_THAT(node_.sockets.sockets(), ElementsAre(kPath));
}

TEST_F(SocketKeeperTest, AStartThatFailsSaysWhere) {
  node_.sockets.FailListen(AlreadyExists("somebody listens"));
  const Status status = keeper_.Start();
  EXPECT_EQ(status.code(), Code::kAlreadyExists);
  EXPECT_EQ(status.message(), std::string("listen on ") + kPath + ": somebody listens");
}

TEST_F(SocketKeeperTest, RemakesTheFileForAReaderThatLooksOnlyAtNewOnes) {
  ASSERT_EQ(keeper_.Start(), OkStatus());
  keeper_.RemakeLater();
  EXPECT_EQ(gone_, 0) << "not while the call that told us may still be on this socket";
  node_.loop.Advance(3s);
  EXPECT_EQ(gone_, 1);
  EXPECT_EQ(made_, 2);
}

TEST_F(SocketKeeperTest, RemakesLessAndLessOftenUntilTheReaderIsContent) {
  ASSERT_EQ(keeper_.Start(), OkStatus());
  for (int i = 0; i < 3600; ++i) {
    keeper_.RemakeLater();
    node_.loop.Advance(1s);
  }
  EXPECT_LT(made_, 70);
  EXPECT_GT(made_, 20);
  keeper_.Settled();
  node_.loop.Advance(200s);
  const int before = made_;
  keeper_.RemakeLater();
  node_.loop.Advance(3s);
  EXPECT_EQ(made_, before + 1);
}

TEST_F(SocketKeeperTest, LooksNowAndThenWhereNothingCanBeWatched) {
  node_.sockets.FailWatch(ResourceExhausted("too many inotify instances"));
  ASSERT_EQ(keeper_.Start(), OkStatus());
  node_.sockets.RemoveFile(kPath);
  node_.loop.Advance(1s);
  EXPECT_THAT(node_.sockets.sockets(), IsEmpty());
  node_.loop.Advance(10s);
  EXPECT_THAT(node_.sockets.sockets(), ElementsAre(kPath));
  keeper_.Stop();
  node_.loop.Advance(60s);
  EXPECT_THAT(node_.sockets.sockets(), IsEmpty());
}

TEST_F(SocketKeeperTest, StopsForGood) {
  ASSERT_EQ(keeper_.Start(), OkStatus());
  keeper_.Stop();
  node_.loop.Advance(60s);
  EXPECT_THAT(node_.sockets.sockets(), IsEmpty());
}

}  // namespace
}  // namespace galen::sdk
