#include "base/data/yaml_scalar.h"

#include <gtest/gtest.h>

#include <cmath>

namespace galen {
namespace {

TEST(ResolvePlain, FollowsTheCoreSchema) {
  for (const char* text : {"", "~", "null", "Null", "NULL"})
    EXPECT_TRUE(ResolvePlain(text).is_null());
  for (const char* text : {"true", "True", "TRUE"}) EXPECT_EQ(ResolvePlain(text), Json(true));
  EXPECT_EQ(ResolvePlain("False"), Json(false));
  EXPECT_EQ(ResolvePlain("-12"), Json(-12));
  EXPECT_EQ(ResolvePlain("+12"), Json(12));
  EXPECT_EQ(ResolvePlain("007"), Json(7));
  EXPECT_EQ(ResolvePlain("0o17"), Json(15));
  EXPECT_EQ(ResolvePlain("0xFf"), Json(255));
  EXPECT_EQ(ResolvePlain("1."), Json(1.0));
  EXPECT_EQ(ResolvePlain(".5"), Json(0.5));
  EXPECT_EQ(ResolvePlain("+6.8e-1"), Json(0.68));
  EXPECT_EQ(ResolvePlain("12e03"), Json(12000.0));
  EXPECT_EQ(ResolvePlain("99999999999999999999"), Json(1e20));
  EXPECT_EQ(ResolvePlain("-.Inf"), Json(-HUGE_VAL));
  EXPECT_TRUE(std::isnan(ResolvePlain(".NaN").AsDouble()));
}

TEST(ResolvePlain, EverythingElseIsAString) {
  for (const char* text : {"nULL", "yes",   "on",  "1_000",      "0b1", "1:30", ".",    "-",
                           "+",    "e5",    "1e",  "1e+",        "0x",  "0o8",  "0x-1", "--1",
                           "+-1",  "1.2.3", "inf", "2026-11-21", "1 ",  "1e999"}) {
    EXPECT_EQ(ResolvePlain(text), Json(text)) << text;
  }
}

TEST(NeedsQuotes, WhereAReaderOfEitherYamlSeesSomethingElse) {
  for (const char* text : {"", "null", "true", "1", "1.5", "yes", "No", "ON", "y", "1_000", "0b1",
                           "1:30", "2026-11-21", "2026-11-21T14:02:11Z", "-1:30", "<<", "="}) {
    EXPECT_TRUE(NeedsQuotes(text)) << text;
  }
  for (const char* text :
       {"gpu-0", "node", "v1", "a", "once", "yesterday", "1.2.3", "10.0.0.1/8", "-x"}) {
    EXPECT_FALSE(NeedsQuotes(text)) << text;
  }
}

}  // namespace
}  // namespace galen
