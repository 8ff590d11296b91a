#include "api_sim/patch/field_set.h"

#include <gtest/gtest.h>

#include "api_sim/serving/fake_api_client.h"

namespace galen::api_sim {
namespace {

FieldSet Set(std::string_view text) { return FromFieldsV1(ToJson(text)); }

TEST(FieldSet, ReadsAndWritesFieldsV1) {
  for (const char* text : {R"({"f:a":{},"f:b":{".":{},"f:c":{}}})",
                           R"({"f:l":{"k:{\"name\":\"x\"}":{".":{},"f:n":{}}}})"}) {
    EXPECT_EQ(ToFieldsV1(Set(text)), ToJson(text));
  }
}

TEST(FieldSet, JoinsTakesAwayAndIntersects) {
  const FieldSet a = Set(R"({"f:x":{},"f:y":{"f:p":{},"f:q":{}}})");
  const FieldSet b = Set(R"({"f:y":{"f:q":{}},"f:z":{}})");
  EXPECT_EQ(Union(a, b), Set(R"({"f:x":{},"f:y":{"f:p":{},"f:q":{}},"f:z":{}})"));
  EXPECT_EQ(Difference(a, b), Set(R"({"f:x":{},"f:y":{"f:p":{}}})"));
  EXPECT_EQ(Intersection(a, b), Set(R"({"f:y":{"f:q":{}}})"));
  EXPECT_TRUE(Difference(a, a).empty());
}

TEST(FieldSet, AFieldIsNotWhatIsBelowIt) {
  const FieldSet parent = Set(R"({"f:a":{}})");
  const FieldSet child = Set(R"({"f:a":{"f:b":{}}})");
  EXPECT_TRUE(Intersection(parent, child).empty());
  EXPECT_EQ(Difference(parent, child), parent);
}

TEST(FieldSet, NamesItsFieldsAsPeopleReadThem) {
  const FieldSet set = Set(
      R"({"f:spec":{"f:c":{"k:{\"name\":\"x\",\"port\":80}":{"f:image":{}}},"f:s":{"v:\"a\"":{}}}})");
  EXPECT_EQ(FieldPaths(set),
            (std::vector<std::string>{R"(.spec.c[name="x",port=80].image)", R"(.spec.s[="a"])"}));
}

}  // namespace
}  // namespace galen::api_sim
