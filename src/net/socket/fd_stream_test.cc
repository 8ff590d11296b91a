#include "net/socket/fd_stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "net/fake_memory_stream.h"
#include "net/test_loop_runner.h"

namespace galen::net {
namespace {

class FdStreamTest : public ::testing::Test {
 protected:
  FdStreamTest() {
    std::array<int, 2> fds{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds.data()), 0);
    other_ = Fd(fds[1]);
    stream_ = MakeFdStream(runner_.loop(), Fd(fds[0]));
    stream_->SetSink(sink_);
  }

  // What can be read at the other end now.
  std::size_t ReadOther() {
    std::array<char, 65536> buffer{};
    std::size_t total = 0;
    ssize_t got = 0;
    while ((got = read(other_.get(), buffer.data(), buffer.size())) > 0) {
      total += static_cast<std::size_t>(got);
    }
    return total;
  }

  LoopRunner runner_;
  Fd other_;
  RecordingByteSink sink_;
  std::unique_ptr<ByteStream> stream_;
};

TEST_F(FdStreamTest, BytesGoBothWays) {
  stream_->Write("out");
  EXPECT_EQ(ReadOther(), 3U);
  ASSERT_EQ(write(other_.get(), "in", 2), 2);
  runner_.RunUntil([&] { return sink_.received == "in"; });
}

TEST_F(FdStreamTest, WhatTheKernelDoesNotTakeIsKeptAndSentLater) {
  const std::string big(8'000'000, 'x');
  stream_->Write(big);
  EXPECT_GT(stream_->unsent(), 0U);
  EXPECT_EQ(sink_.writable, 0);
  std::size_t total = 0;
  runner_.RunUntil([&] {
    total += ReadOther();
    return total == big.size();
  });
  EXPECT_EQ(stream_->unsent(), 0U);
  EXPECT_EQ(sink_.writable, 1);
}

TEST_F(FdStreamTest, EndIsToldAfterTheLastBytes) {
  ASSERT_EQ(write(other_.get(), "last", 4), 4);
  other_.Reset();
  runner_.RunUntil([&] { return !sink_.closed.ok(); });
  EXPECT_EQ(sink_.received, "last");
  EXPECT_EQ(sink_.closed.code(), Code::kUnavailable);
}

TEST_F(FdStreamTest, WritingToADeadPeerStillReadsWhatItSaidLast) {
  ASSERT_EQ(write(other_.get(), "why", 3), 3);
  other_.Reset();
  stream_->Write("into the void");
  stream_->Write("and more");
  EXPECT_TRUE(sink_.closed.ok());  // never from inside a write
  runner_.RunUntil([&] { return !sink_.closed.ok(); });
  EXPECT_EQ(sink_.received, "why");
}

// Destroys the stream in its first callback.
class RuinousByteSink final : public ByteStream::Sink {
 public:
  explicit RuinousByteSink(std::unique_ptr<ByteStream>& stream) : stream_(stream) {}
  void OnBytes(std::string_view) override { stream_.reset(); }
  void OnWritable() override { stream_.reset(); }
  void OnClosed(const Status&) override { stream_.reset(); }

 private:
  std::unique_ptr<ByteStream>& stream_;
};

TEST_F(FdStreamTest, SinkMayDestroyTheStreamWhenItHearsBytes) {
  RuinousByteSink sink(stream_);
  stream_->SetSink(sink);
  ASSERT_EQ(write(other_.get(), "x", 1), 1);
  runner_.RunUntil([&] { return stream_ == nullptr; });
}

TEST_F(FdStreamTest, SinkMayDestroyTheStreamWhenItMayWriteOrRead) {
  RuinousByteSink sink(stream_);
  stream_->SetSink(sink);
  stream_->Write(std::string(8'000'000, 'x'));
  ASSERT_EQ(write(other_.get(), "x", 1), 1);
  ReadOther();
  runner_.RunUntil([&] { return stream_ == nullptr; });
}

TEST_F(FdStreamTest, SinkMayDestroyTheStreamWhenItIsClosed) {
  RuinousByteSink sink(stream_);
  stream_->SetSink(sink);
  other_.Reset();
  runner_.RunUntil([&] { return stream_ == nullptr; });
}

}  // namespace
}  // namespace galen::net
