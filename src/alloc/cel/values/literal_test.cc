#include "alloc/cel/values/literal.h"

#include <gtest/gtest.h>

#include <cmath>

namespace galen::alloc::cel {
namespace {

std::string Meaning(std::string_view text, QuotedText quoted = {}) {
  const auto meaning = Unescape(text, quoted);
  return meaning.ok() ? *meaning : meaning.status().message();
}

TEST(Literal, MeansWhatItsEscapesSay) {
  EXPECT_EQ(Meaning(R"(a\n\t\\\'\"\`\?)"), "a\n\t\\'\"`?");
  EXPECT_EQ(Meaning(R"(\x41\u00e4\U0001F600\101)"), "A\u00e4\U0001F600A");
  EXPECT_EQ(Meaning(R"(\xe4)"), "\u00e4");
  EXPECT_EQ(Meaning(R"(\xe4\344)", {.bytes = true}), "\xe4\xe4");
  EXPECT_EQ(Meaning(R"(\n\q)", {.raw = true}), R"(\n\q)");
  EXPECT_EQ(Meaning("a\r\nb\rc"), "a\nb\nc");
}

TEST(Literal, RefusesEscapesThatThereAreNot) {
  for (const char* text : {R"(\q)", R"(\)", R"(\x4)", R"(\u123)", R"(\U00110000)", R"(\ud800)",
                           R"(\400)", R"(\08)", R"(\xg0)"}) {
    EXPECT_FALSE(Unescape(text, {}).ok()) << text;
  }
  EXPECT_FALSE(Unescape(R"(\u0041)", {.bytes = true}).ok());
}

TEST(Literal, ReadsNumbersAsGoDoes) {
  EXPECT_EQ(ReadInt("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(ReadInt("+7"), 7);
  for (const char* text : {"", "+", "+-1", "1.0", " 1", "1 ", "9223372036854775808", "0x1"}) {
    EXPECT_EQ(ReadInt(text), std::nullopt) << text;
  }
  EXPECT_EQ(ReadUint("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(ReadUint("-1"), std::nullopt);
  EXPECT_EQ(ReadUint("+1"), std::nullopt);
  EXPECT_EQ(ReadDouble("-1.5e3"), -1500.0);
  EXPECT_EQ(ReadDouble("+.5"), 0.5);
  EXPECT_EQ(ReadDouble("1e-999"), 0.0);
  EXPECT_TRUE(std::isinf(ReadDouble("-Infinity").value()));
  EXPECT_TRUE(std::isnan(ReadDouble("NaN").value()));
  for (const char* text : {"", "1e999", "1x", "--1", "in"}) {
    EXPECT_EQ(ReadDouble(text), std::nullopt) << text;
  }
}

TEST(Literal, WritesDoublesAsGoDoes) {
  const std::pair<double, const char*> numbers[] = {
      {0, "0"},           {-0.0, "-0"},       {1, "1"},
      {0.1, "0.1"},       {123456, "123456"}, {1234567, "1.234567e+06"},
      {1e6, "1e+06"},     {1e21, "1e+21"},    {0.0001, "0.0001"},
      {0.00001, "1e-05"}, {-2.5, "-2.5"},     {INFINITY, "+Inf"},
      {NAN, "NaN"},
  };
  for (const auto& [number, text] : numbers) EXPECT_EQ(WriteDouble(number), text);
}

TEST(Literal, ReadsAndWritesTimes) {
  const std::pair<const char*, const char*> times[] = {
      {"2026-03-04T05:06:07Z", "2026-03-04T05:06:07Z"},
      {"2026-03-04T05:06:07.5+01:00", "2026-03-04T04:06:07.5Z"},
      {"0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"},
      {"9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z"},
      {"1969-12-31T23:59:59.25Z", "1969-12-31T23:59:59.25Z"},
  };
  for (const auto& [text, written] : times) {
    const auto instant = ReadInstant(text);
    ASSERT_TRUE(instant) << text;
    EXPECT_EQ(WriteInstant(*instant), written);
  }
  for (const char* text :
       {"", "2026-03-04", "2026-03-04 05:06:07Z", "2026-13-04T05:06:07Z", "2026-02-30T05:06:07Z",
        "2026-03-04T25:06:07Z", "2026-03-04T05:06:07", "2026-03-04T05:06:07.Z",
        "0001-01-01T00:00:00+01:00", "2026-03-04T05:06:07+0100", "2026-03-04T05:06:60Z"}) {
    EXPECT_FALSE(ReadInstant(text)) << text;
  }
}

TEST(Literal, ReadsAndWritesDurations) {
  EXPECT_EQ(ReadDuration("1h30m"), 5400LL * 1'000'000'000);
  EXPECT_EQ(ReadDuration("-1.5s"), -1'500'000'000);
  EXPECT_EQ(ReadDuration("+2ms"), 2'000'000);
  for (const char* text : {"", "1", "1d", "--1s", "1 s"}) EXPECT_FALSE(ReadDuration(text)) << text;
  EXPECT_EQ(WriteDuration(5400LL * 1'000'000'000), "5400s");
  EXPECT_EQ(WriteDuration(-1'500'000'000), "-1.5s");
}

}  // namespace
}  // namespace galen::alloc::cel
