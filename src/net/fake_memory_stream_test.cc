#include "net/fake_memory_stream.h"

#include <gtest/gtest.h>

#include "base/loop/fake_loop.h"

namespace galen::net {
namespace {

class MemoryStreamTest : public ::testing::Test {
 protected:
  MemoryStreamTest() {
    pair_.left->SetSink(left_);
    pair_.right->SetSink(right_);
  }

  FakeLoop loop_;
  RecordingByteSink left_;
  RecordingByteSink right_;
  MemoryStream::Pair pair_ = MemoryStream::Make(loop_);
};

TEST_F(MemoryStreamTest, BytesArriveAtTheOtherEndAndNeverFromInsideTheWrite) {
  pair_.left->Write("to the right");
  pair_.right->Write("to the left");
  EXPECT_EQ(right_.received, "");
  loop_.RunUntilIdle();
  EXPECT_EQ(right_.received, "to the right");
  EXPECT_EQ(left_.received, "to the left");
}

TEST_F(MemoryStreamTest, WritesPileUpWhileTheReaderSleepsAndDrainWhenItWakes) {
  pair_.right->SetReading(false);
  pair_.left->Write(std::string(MemoryStream::kRoom + 10, 'x'));
  loop_.RunUntilIdle();
  EXPECT_EQ(pair_.left->unsent(), 10U);
  EXPECT_EQ(left_.writable, 0);
  pair_.right->SetReading(true);
  loop_.RunUntilIdle();
  EXPECT_EQ(pair_.left->unsent(), 0U);
  EXPECT_EQ(left_.writable, 1);
  EXPECT_EQ(right_.received.size(), MemoryStream::kRoom + 10);
}

TEST_F(MemoryStreamTest, EndThatNobodyListensAtMayHaveWrittenMoreThanFits) {
  MemoryStream::Pair pair = MemoryStream::Make(loop_);
  pair.right->SetSink(right_);
  pair.left->Write(std::string(MemoryStream::kRoom + 10, 'x'));
  loop_.RunUntilIdle();
  EXPECT_EQ(right_.received.size(), MemoryStream::kRoom + 10);
}

TEST_F(MemoryStreamTest, EndIsToldAfterTheLastBytes) {
  pair_.left->Write("last");
  pair_.left.reset();
  EXPECT_TRUE(right_.closed.ok());
  loop_.RunUntilIdle();
  EXPECT_EQ(right_.received, "last");
  EXPECT_EQ(right_.closed.code(), Code::kUnavailable);
}

}  // namespace
}  // namespace galen::net
