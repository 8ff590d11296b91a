#include "rpc/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::rpc {
namespace {

using ::testing::HasSubstr;
using Side = FrameReader::Side;

TEST(Frame, MessageFollowsItsSizeInNetworkOrder) {
  EXPECT_EQ(Frame("abc"), std::string("\0\0\0\0\3abc", 8));
  EXPECT_EQ(Frame(""), std::string(5, '\0'));
  EXPECT_EQ(Frame(std::string(0x010203, 'x')).substr(0, 5), std::string("\0\0\1\2\3", 5));
}

TEST(FrameReader, MessagesComeTogetherFromPiecesOfAnySize) {
  const std::string wire = Frame("one") + Frame("") + Frame(std::string(1000, 'x'));
  for (std::size_t step = 1; step <= wire.size(); step = step * 2 + 1) {
    FrameReader reader(Side::kClient, 2000);
    std::vector<std::string> messages;
    for (std::size_t i = 0; i < wire.size(); i += step) {
      reader.Add(std::string_view(wire).substr(i, step));
      while (true) {
        const auto next = reader.Next();
        ASSERT_TRUE(next.ok());
        if (!next->has_value()) break;
        messages.emplace_back(**next);
      }
    }
    EXPECT_EQ(messages, (std::vector<std::string>{"one", "", std::string(1000, 'x')}));
    EXPECT_TRUE(reader.between_messages());
  }
}

TEST(FrameReader, HalfAMessageIsNotBetweenMessages) {
  FrameReader reader(Side::kClient, 100);
  EXPECT_TRUE(reader.between_messages());
  reader.Add(Frame("abc").substr(0, 4));
  EXPECT_FALSE(reader.Next()->has_value());
  EXPECT_FALSE(reader.between_messages());
}

TEST(FrameReader, MessageOfTheLargestSizePassesAndOneMoreByteDoesNot) {
  FrameReader reader(Side::kServer, 10);
  reader.Add(Frame("0123456789") + Frame("0123456789a"));
  EXPECT_EQ(reader.Next()->value(), "0123456789");
  const Status status = reader.Next().status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("11 bytes exceeds the limit of 10"));
}

TEST(FrameReader, TooLargeAMessageIsRefusedBeforeItHasCome) {
  FrameReader reader(Side::kServer, 10);
  reader.Add(std::string("\0\xFF\xFF\xFF\xFF", 5));
  EXPECT_EQ(reader.Next().status().code(), Code::kResourceExhausted);
}

TEST(FrameReader, CompressedMessagesAreRefusedAsEachSideShould) {
  const std::string compressed("\1\0\0\0\1x", 6);
  FrameReader client(Side::kClient, 10);
  client.Add(compressed);
  EXPECT_EQ(client.Next().status().code(), Code::kInternal);
  FrameReader server(Side::kServer, 10);
  server.Add(compressed);
  EXPECT_EQ(server.Next().status().code(), Code::kUnimplemented);
}

}  // namespace
}  // namespace galen::rpc
