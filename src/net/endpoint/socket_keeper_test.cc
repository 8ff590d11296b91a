#include "net/endpoint/socket_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/endpoint/fake_socket_place.h"

namespace galen::net {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kPath[] = "/plugins_registry/fpga-reg.sock";

class SocketKeeperTest : public ::testing::Test {
 protected:
  SocketKeeperTest() {
    place_.sockets.OnChange([this](const std::string&, bool there) { there ? ++made_ : ++gone_; });
  }

  FakeSocketPlace place_;
  int made_ = 0;
  int gone_ = 0;
  SocketKeeper keeper_{
      {place_.loop, NullLog(), place_.random, place_.files, place_.sockets}, kPath, place_.handler};
};

TEST_F(SocketKeeperTest, MakesTheDirectoryAndListens) {
  ASSERT_EQ(keeper_.Start(), OkStatus());
  EXPECT_TRUE(place_.files.List("/plugins_registry").ok());
  EXPECT_THAT(place_.sockets.sockets(), ElementsAre(kPath));
}

TEST_F(SocketKeeperTest, MakesTheSocketAgainWhenItsFileGoes) {
  ASSERT_EQ(keeper_.Start(), OkStatus());
  place_.sockets.RemoveFile(kPath);
  place_.loop.RunUntilIdle();
  EXPECT_THAT(place_.sockets.sockets(), ElementsAre(kPath));
  EXPECT_TRUE(place_.Connects(kPath));
}

TEST_F(SocketKeeperTest, LeavesASocketInPlaceAlone) {
  ASSERT_EQ(keeper_.Start(), OkStatus());
  const auto other = place_.sockets.Listen("/plugins_registry/other.sock", place_.handler);
  ASSERT_TRUE(other.ok());
  place_.loop.Advance(60s);
  EXPECT_EQ(made_, 2);  // ours once and the other
}

TEST_F(SocketKeeperTest, TriesAgainUntilItCanListen) {
  ASSERT_EQ(keeper_.Start(), OkStatus());
  place_.sockets.FailListen(PermissionDenied("read-only file system"));
  place_.sockets.RemoveFile(kPath);
  place_.loop.Advance(30s);
  EXPECT_THAT(place_.sockets.sockets(), IsEmpty());
  place_.sockets.FailListen(OkStatus());
  place_.loop.Advance(10s);
  EXPECT_THAT(place_.sockets.sockets(), ElementsAre(kPath));
}

TEST_F(SocketKeeperTest, AStartThatFailsSaysWhere) {
  place_.sockets.FailListen(AlreadyExists("somebody listens"));
  const Status status = keeper_.Start();
  EXPECT_EQ(status.code(), Code::kAlreadyExists);
  EXPECT_EQ(status.message(), std::string("listen on ") + kPath + ": somebody listens");
}

TEST_F(SocketKeeperTest, RemakesTheFileForAReaderThatLooksOnlyAtNewOnes) {
  ASSERT_EQ(keeper_.Start(), OkStatus());
  keeper_.RemakeLater();
  EXPECT_EQ(gone_, 0) << "not while the call that told us may still be on this socket";
  place_.loop.Advance(3s);
  EXPECT_EQ(gone_, 1);
  EXPECT_EQ(made_, 2);
}

TEST_F(SocketKeeperTest, RemakesLessAndLessOftenUntilTheReaderIsContent) {
  ASSERT_EQ(keeper_.Start(), OkStatus());
  for (int i = 0; i < 3600; ++i) {
    keeper_.RemakeLater();
    place_.loop.Advance(1s);
  }
  EXPECT_LT(made_, 70);
  EXPECT_GT(made_, 20);
  keeper_.Settled();
  place_.loop.Advance(200s);
  const int before = made_;
  keeper_.RemakeLater();
  place_.loop.Advance(3s);
  EXPECT_EQ(made_, before + 1);
}

TEST_F(SocketKeeperTest, LooksNowAndThenWhereNothingCanBeWatched) {
  place_.sockets.FailWatch(ResourceExhausted("too many inotify instances"));
  ASSERT_EQ(keeper_.Start(), OkStatus());
  place_.sockets.RemoveFile(kPath);
  place_.loop.Advance(1s);
  EXPECT_THAT(place_.sockets.sockets(), IsEmpty());
  place_.loop.Advance(10s);
  EXPECT_THAT(place_.sockets.sockets(), ElementsAre(kPath));
  keeper_.Stop();
  place_.loop.Advance(60s);
  EXPECT_THAT(place_.sockets.sockets(), IsEmpty());
}

TEST_F(SocketKeeperTest, StopsForGood) {
  ASSERT_EQ(keeper_.Start(), OkStatus());
  keeper_.Stop();
  place_.loop.Advance(60s);
  EXPECT_THAT(place_.sockets.sockets(), IsEmpty());
}

}  // namespace
}  // namespace galen::net
