#include "alloc/quantity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>

#include "base/random.h"

namespace galen::alloc {
namespace {

Quantity Read(std::string_view text) {
  const auto quantity = Quantity::Parse(text);
  EXPECT_TRUE(quantity.ok()) << text;
  return quantity.ok() ? *quantity : Quantity();
}

TEST(Quantity, IsTheSameNumberHoweverItIsWritten) {
  EXPECT_EQ(Read("1024Mi"), Read("1Gi"));
  EXPECT_EQ(Read("100m"), Read("0.1"));
  EXPECT_EQ(Read("1e3"), Read("1k"));
  EXPECT_EQ(Read("1E3"), Read("1000"));
  EXPECT_EQ(Read("1E"), Read("1e18"));
  EXPECT_EQ(Read("+5"), Read("005.000"));
  EXPECT_EQ(Read("1.5Gi"), Read("1536Mi"));
  EXPECT_EQ(Read("12e-3"), Read("12m"));
}

TEST(Quantity, OrdersByValueAndNotByText) {
  EXPECT_LT(Read("9Gi"), Read("10Gi"));
  EXPECT_LT(Read("1G"), Read("1Gi"));
  EXPECT_LT(Read("-1"), Read("0"));
  EXPECT_GT(Read("2"), Read("1999m"));
}

TEST(Quantity, IsPrintedAsTheApiServerPrintsIt) {
  const std::array<std::pair<const char*, const char*>, 18> texts{{
      {"1024Mi", "1Gi"},
      {"1536Mi", "1536Mi"},
      {"0.1", "100m"},
      {"1000", "1k"},
      {"1500", "1500"},
      {"1500k", "1500k"},
      {"0Gi", "0"},
      {"512", "512"},
      {"0.5Ki", "512"},
      {"1e3", "1e3"},
      {"12e4", "120e3"},
      {"1.5Gi", "1536Mi"},
      {"0.3Gi", "322122547200m"},
      {"-2048Ki", "-2Mi"},
      {"1n", "1n"},
      {"100000000n", "100m"},
      {"9Ei", "9223372036854775807"},
      {"1000E", "1000E"},
  }};
  for (const auto& [text, printed] : texts) EXPECT_EQ(ToString(Read(text)), printed) << text;
}

TEST(Quantity, RoundsWhatIsFinerThanABillionthAwayFromZero) {
  EXPECT_EQ(Read("0.1n"), Read("1n"));
  EXPECT_EQ(Read("-0.1n"), Read("-1n"));
  EXPECT_EQ(Read("1e-400"), Read("1n"));
  EXPECT_EQ(Read("1.0000000001"), Read("1000000001n"));
}

TEST(Quantity, IsAtMostWhatAnInt64HoldsWhenItIsWrittenInPowersOfTwo) {
  EXPECT_EQ(Read("8Ei"), Read("9223372036854775807"));
  EXPECT_EQ(Read("99999999999999999999999999999999Ei"), Read("9223372036854775807"));
  EXPECT_EQ(Read("-8Ei"), Read("-9223372036854775807"));
}

TEST(Quantity, HasNoIntegerWhenItWasWrittenWithDecimalPlaces) {
  EXPECT_EQ(Read("40Gi").AsInteger(), 42949672960);
  EXPECT_EQ(Read("2k").AsInteger(), 2000);
  EXPECT_EQ(Read("2.0").AsInteger(), std::nullopt);
  EXPECT_EQ(Read("1.5Gi").AsInteger(), std::nullopt);
  EXPECT_EQ(Read("2000m").AsInteger(), std::nullopt);
  EXPECT_EQ(Read("1e19").AsInteger(), std::nullopt);
  EXPECT_EQ(Quantity::Of(7).AsInteger(), 7);
}

TEST(Quantity, IsWholeThousandthsOrNone) {
  EXPECT_EQ(Read("1.5").AsMilli(), 1500);
  EXPECT_EQ(Read("1.5Gi").AsMilli(), 1610612736000);
  EXPECT_EQ(Read("1u").AsMilli(), std::nullopt);
  EXPECT_EQ(Read("9223372036854775807").AsMilli(), std::nullopt);
}

TEST(Quantity, AddsAndSubtractsExactly) {
  EXPECT_EQ(Read("1Gi") + Read("1Mi"), Read("1025Mi"));
  EXPECT_EQ(Read("0.1") + Read("0.2"), Read("0.3"));
  EXPECT_EQ(Read("1") - Read("1n"), Read("999999999n"));
  EXPECT_EQ(ToString(Read("0") + Read("2Gi")), "2Gi");
  EXPECT_EQ(ToString(Read("1k") + Read("1Ki")), "2024");
  EXPECT_EQ((Read("2k") + Read("3")).AsInteger(), 2003);
  EXPECT_EQ((Read("2k") + Read("3.0")).AsInteger(), std::nullopt);
  EXPECT_EQ((Read("9223372036854775807") + Read("1")).AsInteger(), std::nullopt);
}

TEST(Quantity, SumsOfAMillionAreExact) {
  const Quantity most = Read("99999999999999999999999");
  Quantity sum;
  for (int added = 0; added < 1'000'000; ++added) sum = sum + most;
  for (int taken = 1; taken < 1'000'000; ++taken) sum = sum - most;
  EXPECT_EQ(sum, most);
}

TEST(Quantity, ReadsZeroWhereKubernetesDoes) {
  for (const char* text : {"0", "+", "-", ".", "Gi", "0e400", "-0", ".Ki", "E"}) {
    EXPECT_EQ(Read(text).Sign(), 0) << text;
  }
}

TEST(Quantity, RefusesWhatIsNone) {
  for (const char* text :
       {"", " 1", "1 ", "1.2.3", "1GiB", "1gi", "1e", "1e+", "1e++3", "1Ki5", "0x10", "--1", "1,5",
        "1e99999999999999999999", "NaN", "Pi", "+Ei", "e-12"}) {
    const auto quantity = Quantity::Parse(text);
    EXPECT_EQ(quantity.status().code(), Code::kInvalidArgument) << text;
    EXPECT_THAT(quantity.status().message(), testing::HasSubstr(std::string("\"") + text));
  }
}

TEST(Quantity, IsOutOfRangeRatherThanInexact) {
  for (const char* text : {"1e400", "1e2000000000", "100000000000000000000000", "1e23"}) {
    EXPECT_EQ(Quantity::Parse(text).status().code(), Code::kOutOfRange) << text;
  }
}

TEST(Quantity, PrintedIsReadAsTheSameNumber) {
  constexpr std::uint64_t kSeed = 1;
  RecordProperty("seed", std::to_string(kSeed));
  Random random(kSeed);
  const std::array<std::string_view, 12> suffixes{"",  "n",  "u",  "m",  "k",  "M",
                                                  "G", "Ki", "Mi", "Gi", "e2", "e-5"};
  for (int round = 0; round < 20'000; ++round) {
    std::string text = std::to_string(random.Below(1'000'000'000));
    if (random.Below(2) == 0) text += "." + std::to_string(random.Below(100'000));
    text += suffixes[random.Below(suffixes.size())];
    const Quantity quantity = Read(text);
    ASSERT_EQ(Read(ToString(quantity)), quantity) << text << ", seed " << kSeed;
  }
}

}  // namespace
}  // namespace galen::alloc
