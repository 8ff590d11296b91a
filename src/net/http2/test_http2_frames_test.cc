#include "net/http2/test_http2_frames.h"

#include <gtest/gtest.h>

namespace galen::net {
namespace {

TEST(Http2Frames, WhatIsEncodedIsDecoded) {
  const std::string bytes =
      Encode({.type = kHeadersFrame, .flags = kEndStream, .stream = 0x01020304, .payload = "abc"}) +
      Encode({.type = kPingFrame, .payload = std::string(8, '\0')});
  const std::vector<RawFrame> frames = DecodeFrames(bytes + "\0");
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[0].type, kHeadersFrame);
  EXPECT_EQ(frames[0].flags, kEndStream);
  EXPECT_EQ(frames[0].stream, 0x01020304U);
  EXPECT_EQ(frames[0].payload, "abc");
  EXPECT_EQ(frames[1].payload.size(), 8U);
}

TEST(Http2Frames, HalfAFrameIsNone) {
  const std::string bytes = Encode({.type = kDataFrame, .stream = 1, .payload = "abc"});
  EXPECT_TRUE(DecodeFrames(bytes.substr(0, bytes.size() - 1)).empty());
}

TEST(Http2Frames, FieldsAreLiterals) {
  EXPECT_EQ(EncodeFields({{"ab", "c"}}), std::string("\0\2ab\1c", 6));
}

}  // namespace
}  // namespace galen::net
