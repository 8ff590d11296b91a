#include <gtest/gtest.h>

#include "api_sim/patch/managed_fields.h"
#include "api_sim/serving/fake_api_client.h"

namespace galen::api_sim {
namespace {

const Json kSchema = ToJson(R"({"properties": {
    "a": {}, "atom": {"x-kubernetes-map-type": "atomic"}, "plain": {},
    "list": {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"],
             "items": {"properties": {"n": {}, "v": {}, "w": {}}}},
    "set": {"x-kubernetes-list-type": "set"},
    "labels": {"additionalProperties": {}}}})");

Json FieldsText(std::string_view value) { return ToFieldsV1(FieldsOf(kSchema, ToJson(value))); }

TEST(TypedMerge, KnowsTheFieldsOfAnObject) {
  EXPECT_EQ(FieldsText(R"({"a": 1, "labels": {"x": "y"}})"),
            ToJson(R"({"f:a":{},"f:labels":{"f:x":{}}})"));
  EXPECT_EQ(FieldsText(R"({"list": [{"n": 1, "v": 2}]})"),
            ToJson(R"({"f:list":{"k:{\"n\":1}":{".":{},"f:n":{},"f:v":{}}}})"));
  EXPECT_EQ(FieldsText(R"({"set": ["x"], "atom": {"p": {"q": 1}}, "plain": [1, 2]})"),
            ToJson(R"({"f:set":{"v:\"x\"":{}},"f:atom":{},"f:plain":{}})"));
}

TEST(TypedMerge, ComparesFieldByField) {
  const Delta delta = Compare(
      kSchema, ToJson(R"({"a": 1, "labels": {"x": "1", "y": "2"}, "list": [{"n": 1, "v": 1}]})"),
      ToJson(R"({"a": 1, "labels": {"x": "9"}, "list": [{"n": 1, "v": 2}, {"n": 2}]})"));
  EXPECT_EQ(ToFieldsV1(delta.changed), ToJson(R"({"f:labels":{"f:x":{}},
                       "f:list":{"k:{\"n\":1}":{"f:v":{}},"k:{\"n\":2}":{".":{},"f:n":{}}}})"));
  EXPECT_EQ(ToFieldsV1(delta.removed), ToJson(R"({"f:labels":{"f:y":{}}})"));
}

TEST(TypedMerge, MergesListsByKeyAndAtomsWhole) {
  const Json merged =
      MergeTyped(kSchema, ToJson(R"({"a": 1, "atom": {"p": 1}, "plain": [1], "set": ["x"],
                 "list": [{"n": 1, "v": 1, "w": 5}, {"n": 2}]})"),
                 ToJson(R"({"atom": {"q": 2}, "plain": [2], "set": ["y", "x"],
                 "list": [{"n": 3}, {"n": 1, "v": 9}]})"));
  EXPECT_EQ(merged, ToJson(R"({"a": 1, "atom": {"q": 2}, "plain": [2], "set": ["x", "y"],
                               "list": [{"n": 1, "v": 9, "w": 5}, {"n": 2}, {"n": 3}]})"));
}

TEST(TypedMerge, RemovesFieldsUnlessTheyAreKept) {
  Json value = ToJson(R"({"a": 1, "labels": {"x": "1", "y": "2"},
                          "list": [{"n": 1, "v": 1}, {"n": 2, "v": 2}]})");
  const FieldSet gone = FieldsOf(kSchema, value);
  const FieldSet kept = FieldsOf(kSchema, ToJson(R"({"labels": {"y": ""}, "list": [{"n": 2}]})"));
  RemoveFields(kSchema, gone, kept, value);
  EXPECT_EQ(value, ToJson(R"({"labels": {"y": "2"}, "list": [{"n": 2}]})"));
}

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
