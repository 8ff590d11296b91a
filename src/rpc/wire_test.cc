#include "rpc/wire.h"

#include <gtest/gtest.h>

#include "base/data/percent.h"

namespace galen::rpc {
namespace {

using namespace std::chrono_literals;

TEST(Wire, ContentTypesOfGrpcAreRecognized) {
  for (const char* type : {"application/grpc", "application/grpc+proto", "APPLICATION/GRPC",
                           "application/grpc; charset=utf-8", "application/grpc+json"}) {
    EXPECT_TRUE(IsGrpcContentType(type)) << type;
  }
  for (const char* type : {"", "application/json", "application/grpc-web", "application/grp"}) {
    EXPECT_FALSE(IsGrpcContentType(type)) << type;
  }
}

TEST(Wire, TimeoutHasTheFinestUnitThatFitsEightDigits) {
  EXPECT_EQ(FormatTimeout(1ns), "1n");
  EXPECT_EQ(FormatTimeout(99'999'999ns), "99999999n");
  EXPECT_EQ(FormatTimeout(100'000'000ns), "100000u");
  EXPECT_EQ(FormatTimeout(5s), "5000000u");
  EXPECT_EQ(FormatTimeout(1h), "3600000m");
  EXPECT_EQ(FormatTimeout(24h * 365), "31536000S");
}

TEST(Wire, TimeoutIsRoundedUpSoThatNobodyGivesUpTooEarly) {
  EXPECT_EQ(FormatTimeout(100'000'001ns), "100001u");
  EXPECT_EQ(FormatTimeout(0ns), "1n");
  EXPECT_EQ(FormatTimeout(-5s), "1n");
}

TEST(Wire, TimeoutsOfEachUnitAreRead) {
  EXPECT_EQ(ParseTimeout("1H"), 1h);
  EXPECT_EQ(ParseTimeout("2M"), 2min);
  EXPECT_EQ(ParseTimeout("3S"), 3s);
  EXPECT_EQ(ParseTimeout("4m"), 4ms);
  EXPECT_EQ(ParseTimeout("5u"), 5us);
  EXPECT_EQ(ParseTimeout("00000006n"), 6ns);
  EXPECT_EQ(ParseTimeout("99999999H"), Duration::max());  // more than a clock holds
}

TEST(Wire, MalformedTimeoutsAreNone) {
  for (const char* text : {"", "S", "1", "1s", "-1S", "+1S", "1.5S", "123456789S", " 1S", "1 S"}) {
    EXPECT_FALSE(ParseTimeout(text).has_value()) << text;
  }
}

TEST(Wire, OddCharactersArePercentEncoded) {
  EXPECT_EQ(PercentEncode("plain ~ text!"), "plain ~ text!");
  EXPECT_EQ(PercentEncode("100%\n\x7f"), "100%25%0A%7F");
  EXPECT_EQ(PercentEncode("°"), "%C2%B0");
}

TEST(Wire, EveryTextSurvivesEncoding) {
  std::string text = "GPU 91 °C — 无 \"x\" 100%41\r\n\t";
  text += '\0';
  EXPECT_EQ(PercentDecode(PercentEncode(text)), text);
}

TEST(Wire, BrokenMessagesAreKeptAsTheyAreAndMadeUtf8) {
  const auto message = [](const std::string& encoded) {
    return StatusFromHeaders({{"grpc-status", "5"}, {"grpc-message", encoded}})->message();
  };
  EXPECT_EQ(message("50% of %zz and %4"), "50% of %zz and %4");
  EXPECT_EQ(message("%c2%B0"), "°");
  EXPECT_EQ(message("%FF!"), "\xEF\xBF\xBD!");
}

TEST(Wire, MessagesOfPeersCommandNoTerminalAndHaveABound) {
  const auto message = [](const std::string& encoded) {
    return StatusFromHeaders({{"grpc-status", "13"}, {"grpc-message", encoded}})->message();
  };
  EXPECT_EQ(message("%1B]0;owned%07"), "\xEF\xBF\xBD]0;owned\xEF\xBF\xBD");
  EXPECT_EQ(message("%C2%9B2J"),
            "\xEF\xBF\xBD"
            "2J");
  EXPECT_EQ(message("first%0Asecond"), "first second");
  EXPECT_LE(message(std::string(100'000, 'x')).size(), 4096U);
}

TEST(Wire, StatusTravelsInHeaders) {
  const Status status = NotFound("no pod \"a\" at 100%");
  EXPECT_EQ(StatusHeaders(status),
            (net::Headers{{"grpc-status", "5"}, {"grpc-message", "no pod \"a\" at 100%25"}}));
  EXPECT_EQ(StatusFromHeaders(StatusHeaders(status)), status);
  EXPECT_EQ(StatusHeaders(OkStatus()), (net::Headers{{"grpc-status", "0"}}));
  EXPECT_EQ(StatusFromHeaders({{"grpc-status", "0"}}), OkStatus());
}

TEST(Wire, LongMessagesAreCutBeforeTheyBreakThePeersHeaders) {
  EXPECT_LE(StatusHeaders(Internal("{}", std::string(100'000, 'x'))).at(1).value.size(), 4096U);
}

TEST(Wire, CodesThatNobodyKnowsAreUnknown) {
  for (const char* code : {"17", "-1", "", "x", "5x"}) {
    EXPECT_EQ(StatusFromHeaders({{"grpc-status", code}})->code(), Code::kUnknown) << code;
  }
  EXPECT_FALSE(StatusFromHeaders({{"grpc-message", "x"}}).has_value());
}

TEST(Wire, AnswersThatAreNoGrpcMeanWhatTheProtocolSays) {
  const std::pair<int, Code> cases[] = {
      {400, Code::kInternal},      {401, Code::kUnauthenticated}, {403, Code::kPermissionDenied},
      {404, Code::kUnimplemented}, {429, Code::kUnavailable},     {502, Code::kUnavailable},
      {503, Code::kUnavailable},   {504, Code::kUnavailable},     {200, Code::kUnknown},
      {500, Code::kUnknown},       {418, Code::kUnknown}};
  for (const auto& [http, code] : cases) EXPECT_EQ(StatusFromHttp(http).code(), code) << http;
}

}  // namespace
}  // namespace galen::rpc
