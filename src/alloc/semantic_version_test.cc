#include "alloc/semantic_version.h"

#include <gtest/gtest.h>

namespace galen::alloc {
namespace {

SemanticVersion ReadVersionOf(std::string_view text) {
  const auto version = ParseSemanticVersion(text);
  EXPECT_TRUE(version.ok()) << text;
  return version.ok() ? *version : SemanticVersion();
}

TEST(SemanticVersion, OrdersAsSemver11Says) {
  const char* const ascending[] = {
      "0.9.9",
      "1.0.0-1",
      "1.0.0-9",
      "1.0.0-10",
      "1.0.0-alpha",
      "1.0.0-alpha.1",
      "1.0.0-alpha.beta",
      "1.0.0-beta.2",
      "1.0.0-beta.11",
      "1.0.0-rc.1",
      "1.0.0",
      "1.0.1",
      "1.2.0",
      "1.10.0",
      "2.0.0",
  };
  for (const char* const* lower = std::begin(ascending); lower != std::end(ascending); ++lower) {
    EXPECT_EQ(ReadVersionOf(*lower), ReadVersionOf(*lower));
    for (const char* const* higher = lower + 1; higher != std::end(ascending); ++higher) {
      EXPECT_LT(ReadVersionOf(*lower), ReadVersionOf(*higher)) << *lower << " " << *higher;
    }
  }
}

TEST(SemanticVersion, IgnoresTheBuildButKeepsItsText) {
  EXPECT_EQ(ReadVersionOf("1.2.3+a.1"), ReadVersionOf("1.2.3+b"));
  EXPECT_EQ(ReadVersionOf("1.2.3-rc.1+build").text, "1.2.3-rc.1+build");
}

TEST(SemanticVersion, HasItsNumbers) {
  const SemanticVersion version = ReadVersionOf("550.54.15-rc.2");
  EXPECT_EQ(version.major, 550U);
  EXPECT_EQ(version.minor, 54U);
  EXPECT_EQ(version.patch, 15U);
  EXPECT_EQ(version.pre_release, (std::vector<std::string>{"rc", "2"}));
}

TEST(SemanticVersion, RefusesWhatTheStandardDoes) {
  for (const char* text :
       {"", "1", "1.0", "v1.0.0", "1.0.0.0", "01.0.0", "1.00.0", "1.0.0-", "1.0.0-01", "1.0.0-a..b",
        "1.0.0+", "1.0.0+a..b", "1.0.0-ä", "1.0.0+a+b", "-1.0.0", "1.0.99999999999999999999",
        " 1.0.0", "1.0.0-99999999999999999999"}) {
    EXPECT_EQ(ParseSemanticVersion(text).status().code(), Code::kInvalidArgument) << text;
  }
}

TEST(SemanticVersion, MendsWhatTheLenientFormAllows) {
  const auto text = [](std::string_view written) {
    const auto version = ParseLenientVersion(written);
    return version.ok() ? version->text : "refused";
  };
  EXPECT_EQ(text("v1.0.0"), "1.0.0");
  EXPECT_EQ(text("1"), "1.0.0");
  EXPECT_EQ(text("1.2"), "1.2.0");
  EXPECT_EQ(text("01.002.0003"), "1.2.3");
  EXPECT_EQ(text("00.00.00"), "0.0.0");
  EXPECT_EQ(text("v1.2.3-rc.1+b"), "1.2.3-rc.1+b");
  EXPECT_EQ(text("1.2.0-rc"), "1.2.0-rc");
  EXPECT_EQ(text("vv1.0.0"), "refused");
  EXPECT_EQ(text("1.2-rc"), "refused");
  EXPECT_EQ(text("1.2+b"), "refused");
  EXPECT_EQ(text(" 1.2.3"), "refused");
  EXPECT_EQ(text(""), "refused");
}

}  // namespace
}  // namespace galen::alloc
