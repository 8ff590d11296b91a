// What only unix sockets do; what every SocketHost promises is in socket_host_contract_test.cc.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files/test_temporary_directory.h"
#include "net/endpoint/server.h"
#include "net/endpoint/socket_keeper.h"
#include "net/fake_keeping_handler.h"
#include "net/test_loop_runner.h"

namespace galen::net {
namespace {

class SocketHostTest : public ::testing::Test {
 protected:
  TemporaryDirectory directory_;
  LoopRunner runner_;
  KeepingHandler handler_;
  std::unique_ptr<SocketHost> host_ = MakeSocketHost(runner_.loop(), NullLog());
  const std::string path_ = directory_.Path("dra.sock");
};

TEST_F(SocketHostTest, ReplacesAFileThatNobodyListensOn) {
  {
    auto crashed = host_->Listen(path_, handler_);
    ASSERT_TRUE(crashed.ok());
    std::filesystem::rename(path_, path_ + ".kept");
  }
  std::filesystem::rename(path_ + ".kept", path_);
  auto socket = host_->Listen(path_, handler_);
  EXPECT_TRUE(socket.ok()) << ToString(socket.status());
}

TEST_F(SocketHostTest, OnlyALivingSocketBesideItsOwnCountsAsAnother) {
  const std::string place = std::filesystem::path(path_).parent_path();
  EXPECT_FALSE(host_->OthersListen(place, path_));
  auto own = host_->Listen(path_, handler_);
  EXPECT_FALSE(host_->OthersListen(place, path_));
  auto other = host_->Listen(directory_.Path("dra-2.sock"), handler_);
  EXPECT_TRUE(host_->OthersListen(place, path_));
  {
    std::filesystem::rename(directory_.Path("dra-2.sock"), directory_.Path("kept"));
    other->reset();
    std::filesystem::rename(directory_.Path("kept"), directory_.Path("dra-2.sock"));
  }
  EXPECT_FALSE(host_->OthersListen(place, path_)) << "the file of a dead process answers nobody";
  EXPECT_FALSE(host_->OthersListen("/nonexistent", path_));
}

TEST_F(SocketHostTest, MarksTellASocketFromTheOneBeforeIt) {
  EXPECT_EQ(host_->MarkOf(path_), std::nullopt);
  auto first = host_->Listen(path_, handler_);
  const auto mark = host_->MarkOf(path_);
  ASSERT_TRUE(mark);
  std::filesystem::permissions(path_, std::filesystem::perms::all);
  EXPECT_EQ(host_->MarkOf(path_), mark) << "the same socket with another mode";
  first->reset();
  EXPECT_EQ(host_->MarkOf(path_), std::nullopt);
  // A file system may well give it the same inode again.
  auto second = host_->Listen(path_, handler_);
  EXPECT_NE(host_->MarkOf(path_), mark);
  EXPECT_EQ(host_->MarkOf(directory_.Path("")), std::nullopt) << "a directory is not a socket";
}

TEST_F(SocketHostTest, WatchesADirectoryThatGoesAndComes) {
  const std::string place = directory_.Path("registry");
  std::filesystem::create_directory(place);
  int notices = 0;
  auto watch = host_->Watch(place, [&] { ++notices; });
  ASSERT_TRUE(watch.ok()) << ToString(watch.status());
  std::filesystem::remove_all(place);
  runner_.RunUntil([&] { return notices > 0; });
  notices = 0;
  std::filesystem::create_directory(place);
  runner_.RunUntil([&] { return notices > 0; });
}

}  // namespace
}  // namespace galen::net
