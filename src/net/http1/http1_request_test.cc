#include "net/http1/http1_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::net {
namespace {

using ::testing::HasSubstr;
using State = Http1RequestReader::State;

constexpr Http1RequestReader::Limits kSmall{.head_bytes_max = 200, .body_bytes_max = 10};

TEST(Http1Request, RequestWithoutABodyIsReadWhole) {
  Http1RequestReader reader(kSmall);
  EXPECT_FALSE(reader.started());
  reader.Read("GET /metrics?a=b HTTP/1.1\r\nHost: here\r\nX-Odd:  two words \r\n\r\n");
  ASSERT_EQ(reader.state(), State::kComplete);
  EXPECT_TRUE(reader.keep_alive());
  EXPECT_FALSE(reader.is_http_1_0());
  EXPECT_EQ(reader.TakeRequest(),
            (HttpRequest{.method = "GET",
                         .path = "/metrics?a=b",
                         .headers = {{"host", "here"}, {"x-odd", "two words"}}}));
}

TEST(Http1Request, BytesMayComeOneByOne) {
  Http1RequestReader reader(kSmall);
  for (const char c : std::string_view("PUT /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello")) {
    EXPECT_EQ(reader.state(), State::kReading);
    EXPECT_EQ(reader.Read({&c, 1}), 1U);
  }
  ASSERT_EQ(reader.state(), State::kComplete);
  EXPECT_EQ(reader.TakeRequest().body, "hello");
}

TEST(Http1Request, ChunksArePutTogetherAndTrailersDropped) {
  Http1RequestReader reader(kSmall);
  reader.Read(
      "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nx-late: "
      "1\r\n\r\n");
  ASSERT_EQ(reader.state(), State::kComplete);
  const HttpRequest request = reader.TakeRequest();
  EXPECT_EQ(request.body, "abcde");
  EXPECT_EQ(FindHeader(request.headers, "x-late"), std::nullopt);
}

TEST(Http1Request, WhatFollowsARequestIsLeftForTheNext) {
  const std::string_view two = "GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\n";
  Http1RequestReader first(kSmall);
  const std::size_t taken = first.Read(two);
  EXPECT_EQ(first.TakeRequest().path, "/1");
  Http1RequestReader second(kSmall);
  second.Read(two.substr(taken));
  ASSERT_EQ(second.state(), State::kComplete);
  EXPECT_EQ(second.TakeRequest().path, "/2");
}

TEST(Http1Request, BodyEndsWhereTheNextRequestBegins) {
  const std::string_view two =
      "POST /1 HTTP/1.1\r\nContent-Length: 2\r\n\r\nokGET /2 HTTP/1.1\r\n\r\n";
  Http1RequestReader first(kSmall);
  EXPECT_EQ(two.substr(first.Read(two)), "GET /2 HTTP/1.1\r\n\r\n");
  EXPECT_EQ(first.TakeRequest().body, "ok");
}

TEST(Http1Request, OldClientsCloseUnlessTheySayOtherwise) {
  Http1RequestReader old(kSmall);
  old.Read("GET / HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(old.is_http_1_0());
  EXPECT_FALSE(old.keep_alive());
  Http1RequestReader keeping(kSmall);
  keeping.Read("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_TRUE(keeping.keep_alive());
  Http1RequestReader closing(kSmall);
  closing.Read("GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
  EXPECT_FALSE(closing.keep_alive());
}

TEST(Http1Request, UpgradeToHttp2IsNotTakenUp) {
  Http1RequestReader reader(kSmall);
  reader.Read("GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");
  EXPECT_EQ(reader.state(), State::kComplete);
}

TEST(Http1Request, GarbageIsRefusedWith400) {
  Http1RequestReader reader(kSmall);
  reader.Read("\x16\x03\x01 this is TLS\r\n\r\n");
  ASSERT_EQ(reader.state(), State::kRefused);
  EXPECT_EQ(reader.refusal_status(), 400);
  EXPECT_THAT(reader.refusal(), HasSubstr("not HTTP/1.1"));
}

TEST(Http1Request, LengthAndChunksAtOnceAreRefused) {
  Http1RequestReader reader(kSmall);
  reader.Read(
      "POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
  EXPECT_EQ(reader.state(), State::kRefused);
}

TEST(Http1Request, TooManyHeaderBytesAreRefusedWith431) {
  Http1RequestReader reader(kSmall);
  reader.Read("GET / HTTP/1.1\r\nx-long: " + std::string(200, 'y') + "\r\n\r\n");
  ASSERT_EQ(reader.state(), State::kRefused);
  EXPECT_EQ(reader.refusal_status(), 431);
}

TEST(Http1Request, FieldsOfNothingCountAsWell) {
  Http1RequestReader reader(kSmall);
  reader.Read("GET / HTTP/1.1\r\na:\r\nb:\r\nc:\r\nd:\r\ne:\r\nf:\r\ng:\r\n\r\n");
  ASSERT_EQ(reader.state(), State::kRefused);
  EXPECT_EQ(reader.refusal_status(), 431);
}

TEST(Http1Request, BodyThatAnnouncesItIsTooLargeIsRefusedBeforeItComes) {
  Http1RequestReader reader(kSmall);
  reader.Read("PUT / HTTP/1.1\r\nContent-Length: 11\r\n\r\n");
  ASSERT_EQ(reader.state(), State::kRefused);
  EXPECT_EQ(reader.refusal_status(), 413);
}

TEST(Http1Request, ChunksThatGrowTooLargeAreRefused) {
  Http1RequestReader reader(kSmall);
  reader.Read("PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n");
  EXPECT_EQ(reader.state(), State::kReading);
  reader.Read("6\r\nabcdef\r\n");
  ASSERT_EQ(reader.state(), State::kRefused);
  EXPECT_EQ(reader.refusal_status(), 413);
}

TEST(Http1Request, WaitForContinueIsToldOnce) {
  Http1RequestReader reader(kSmall);
  reader.Read("PUT / HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_TRUE(reader.TakeExpectation());
  EXPECT_FALSE(reader.TakeExpectation());
  reader.Read("ok");
  EXPECT_EQ(reader.TakeRequest().body, "ok");
}

TEST(Http1Request, ReasonsAreKnownEvenForStatusesThatAreNot) {
  EXPECT_EQ(ReasonPhrase(404), "Not Found");
  EXPECT_FALSE(ReasonPhrase(299).empty());
}

}  // namespace
}  // namespace galen::net
