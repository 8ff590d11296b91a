#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/http1/http1_server.h"

namespace galen::net {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Http1Answer, KnownLengthNeedsNoChunks) {
  Http1AnswerWriter writer({});
  EXPECT_EQ(writer.Head(200, {{"content-length", "5"}}),
            "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n");
  EXPECT_EQ(writer.Body("hello"), "hello");
  EXPECT_EQ(writer.End({}), "");
  EXPECT_TRUE(writer.keep_alive());
}

TEST(Http1Answer, UnknownLengthGoesInChunksAndTrailersAfterThem) {
  Http1AnswerWriter writer({});
  EXPECT_THAT(writer.Head(200, {}), HasSubstr("transfer-encoding: chunked\r\n"));
  EXPECT_EQ(writer.Body("0123456789abcdef"), "10\r\n0123456789abcdef\r\n");
  EXPECT_EQ(writer.Body(""), "");  // would be the end
  EXPECT_EQ(writer.End({{"x-sum", "7"}}), "0\r\nx-sum: 7\r\n\r\n");
  EXPECT_TRUE(writer.keep_alive());
}

TEST(Http1Answer, AnswerMayEndTheConnectionAndSaysSoOnce) {
  Http1AnswerWriter writer({});
  EXPECT_EQ(writer.Head(200, {{"connection", "close"}, {"content-length", "0"}}),
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
  writer.End({});
  EXPECT_FALSE(writer.keep_alive());
}

TEST(Http1Answer, HeadRequestsGetTheHeadAlone) {
  Http1AnswerWriter writer({.head_only = true});
  EXPECT_THAT(writer.Head(200, {{"content-length", "5"}}), HasSubstr("content-length: 5"));
  EXPECT_EQ(writer.Body("hello"), "");
  EXPECT_EQ(writer.End({}), "");
  EXPECT_TRUE(writer.keep_alive());
}

TEST(Http1Answer, NoContentHasNoBodyAndNoChunks) {
  Http1AnswerWriter writer({});
  EXPECT_EQ(writer.Head(204, {}), "HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(writer.End({}), "");
}

TEST(Http1Answer, OldClientsReadUntilTheConnectionCloses) {
  Http1AnswerWriter writer({.is_http_1_0 = true});
  const std::string head = writer.Head(200, {});
  EXPECT_THAT(head, HasSubstr("connection: close\r\n"));
  EXPECT_THAT(head, Not(HasSubstr("chunked")));
  EXPECT_EQ(writer.Body("text"), "text");
  EXPECT_EQ(writer.End({}), "");
  EXPECT_FALSE(writer.keep_alive());
}

TEST(Http1Answer, OldClientsMayKeepTheConnectionWhenTheLengthIsKnown) {
  Http1AnswerWriter writer({.is_http_1_0 = true});
  EXPECT_EQ(writer.Head(200, {{"content-length", "0"}}),
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: keep-alive\r\n\r\n");
  EXPECT_TRUE(writer.keep_alive());
}

TEST(Http1Answer, AnswerShorterThanPromisedEndsTheConnection) {
  Http1AnswerWriter writer({});
  writer.Head(200, {{"content-length", "5"}});
  writer.Body("hel");
  writer.End({});
  EXPECT_FALSE(writer.keep_alive());
}

TEST(Http1Answer, LineBreakInAValueStartsNoHeader) {
  Http1AnswerWriter writer({});
  EXPECT_THAT(writer.Head(200, {{"x-a", "1\r\nx-evil: 2"}}), HasSubstr("x-a: 1  x-evil: 2\r\n"));
}

}  // namespace
}  // namespace galen::net
