#include "probes/rules/sign_value.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/rule_file/rule_reader.h"

namespace galen::probes {
namespace {

using ::testing::HasSubstr;
using Value = std::variant<double, std::string>;

std::string Refusal(const SignSpec& sign, std::string_view text) {
  const auto value = ParseSignValue(sign, text);
  EXPECT_FALSE(value.ok()) << sign.name << "=" << text;
  return value.ok() ? "" : value.status().message();
}

TEST(SignValue, AFaultsNumberIsPlainDigitsWithinItsRange) {
  const SignSpec xid{
      .name = "xid", .kind = SignKind::kEvent, .least = 1, .most = 999, .whole = true};
  EXPECT_EQ(*ParseSignValue(xid, "79"), Value(79.0));
  EXPECT_EQ(*ParseSignValue(xid, "999"), Value(999.0));
  for (const std::string_view bad : {"0", "1000", "9999", "-1", "79.0", "7.9e1", "79.5"}) {
    EXPECT_EQ(Refusal(xid, bad), fmt::format("'{}' is nothing that xid can be: a whole number "
                                             "from 1 to 999",
                                             bad));
  }
  for (const std::string_view bad : {"abc", "0x4f", "+79", " 79", "nan", "inf"}) {
    EXPECT_THAT(Refusal(xid, bad), HasSubstr("is not a number, as xid needs one")) << bad;
  }
  EXPECT_THAT(Refusal(xid, ""), HasSubstr("empty"));
  EXPECT_THAT(Refusal(xid, std::string(1000, '9')), HasSubstr("64 bytes"));
}

TEST(SignValue, AReadingMayHaveAFractionButNotLeaveItsRange) {
  const SignSpec heat{.name = "temperature", .least = -40, .most = 150};
  EXPECT_EQ(*ParseSignValue(heat, "91.5"), Value(91.5));
  EXPECT_EQ(*ParseSignValue(heat, "-40"), Value(-40.0));
  EXPECT_THAT(Refusal(heat, "-400"), HasSubstr("a number from -40 to 150"));
  EXPECT_THAT(Refusal(heat, "150.1"), HasSubstr("a number from -40 to 150"));
}

TEST(SignValue, SomeSignsHaveAFewValuesOnly) {
  const SignSpec reset{.name = "reset", .kind = SignKind::kEvent, .among = {"gpu", "host"}};
  EXPECT_EQ(*ParseSignValue(reset, "gpu"), Value(std::string("gpu")));
  EXPECT_EQ(Refusal(reset, "world"), "'world' is nothing that reset can be: gpu or host");
  const SignSpec width{.name = "pcie-width", .among = {"0", "8", "16"}};
  EXPECT_EQ(*ParseSignValue(width, "8"), Value(8.0));
  EXPECT_THAT(Refusal(width, "3"), HasSubstr("0, 8 or 16"));
}

TEST(SignValue, OfASignWithoutBoundsAnyNumberWillDoAndOfAnEventAnyText) {
  EXPECT_EQ(*ParseSignValue({.name = "speed"}, "-1e6"), Value(-1e6));
  EXPECT_THAT(Refusal({.name = "speed"}, "fast"), HasSubstr("as speed needs one: a number"));
  const SignSpec event{.name = "log", .kind = SignKind::kEvent};
  EXPECT_EQ(*ParseSignValue(event, "down"), Value(std::string("down")));
  EXPECT_EQ(PossibleValues(event), "");
  EXPECT_EQ(PossibleValues({.name = "n", .least = 0, .whole = true}), "a whole number from 0 on");
  EXPECT_EQ(PossibleValues({.name = "n", .most = 5}), "a number up to 5");
}

// Whatever row comes to the table of GPUs, nobody can inject what no GPU shows.
TEST(SignValue, EverySignOfTheGpuTableSaysWhatItCanBeAndTakesItsUsualValue) {
  const RuleTable table = *ParseRules(kGpuRules, "gpu");
  for (const SignSpec& sign : table.signs) {
    EXPECT_TRUE(!sign.among.empty() || (sign.least && sign.most)) << sign.name;
    if (!sign.usual.empty()) {
      EXPECT_TRUE(ParseSignValue(sign, sign.usual).ok()) << sign.name;
    }
    for (const std::string_view bad : {"abc", "-1000", "1e300"}) Refusal(sign, bad);
  }
}

}  // namespace
}  // namespace galen::probes
