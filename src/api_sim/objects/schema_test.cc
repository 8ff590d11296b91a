#include "api_sim/objects/schema.h"

#include <gtest/gtest.h>

#include "api_sim/serving/fake_api_client.h"

namespace galen::api_sim {
namespace {

std::vector<std::string> FieldsWrong(std::string_view schema, std::string_view value) {
  std::vector<std::string> fields;
  for (const Fault& fault : ValidateSchema(ToJson(schema), ToJson(value))) {
    fields.push_back(fault.field);
  }
  return fields;
}
using Wrong = std::vector<std::string>;

TEST(Schema, FillsInDefaultsInsideWhatIsThere) {
  const Json schema = ToJson(R"({"properties": {"a": {"default": 1},
      "in": {"properties": {"b": {"default": {"c": 2}}}},
      "list": {"items": {"properties": {"d": {"default": "x"}}}},
      "map": {"additionalProperties": {"properties": {"e": {"default": true}}}}}})");
  Json value = ToJson(R"({"in": {}, "list": [{}, {"d": "y"}], "map": {"k": {}}})");
  ApplyDefaults(schema, value);
  EXPECT_EQ(value, ToJson(R"({"a": 1, "in": {"b": {"c": 2}},
      "list": [{"d": "x"}, {"d": "y"}], "map": {"k": {"e": true}}})"));
  Json absent = Json::MakeObject({});
  ApplyDefaults(schema, absent);
  EXPECT_FALSE(absent.Has("in"));
}

TEST(Schema, NullTakesItsDefaultUnlessNullIsAllowed) {
  Json value = ToJson(R"({"a": null, "b": null})");
  ApplyDefaults(ToJson(R"({"properties": {"a": {"default": 1},
                                          "b": {"default": 1, "nullable": true}}})"),
                value);
  EXPECT_EQ(value, ToJson(R"({"a": 1, "b": null})"));
}

TEST(Schema, PrunesUnknownFieldsAndNamesThem) {
  Json value = ToJson(R"({"a": 1, "x": 1, "list": [{"y": 2}], "open": {"z": 3}, "m": {"k": "v"}})");
  const std::vector<std::string> dropped =
      Prune(ToJson(R"({"properties": {"a": {}, "list": {"items": {"properties": {}}},
             "open": {"x-kubernetes-preserve-unknown-fields": true},
             "m": {"additionalProperties": {"type": "string"}}}})"),
            value);
  EXPECT_EQ(dropped, (Wrong{"list[0].y", "x"}));
  EXPECT_EQ(value, ToJson(R"({"a": 1, "list": [{}], "open": {"z": 3}, "m": {"k": "v"}})"));
}

TEST(Schema, ChecksTypes) {
  constexpr const char* kSchema = R"({"type": "object", "properties": {
      "s": {"type": "string"}, "n": {"type": "number"}, "i": {"type": "integer"},
      "q": {"x-kubernetes-int-or-string": true}, "maybe": {"type": "string", "nullable": true}}})";
  EXPECT_EQ(FieldsWrong(kSchema, R"({"s": "", "n": 1, "i": 1, "q": "1Gi", "maybe": null})"),
            Wrong{});
  EXPECT_EQ(FieldsWrong(kSchema, R"({"s": 1, "n": "", "i": 1.5, "q": true, "maybe": 1})"),
            (Wrong{"i", "maybe", "n", "q", "s"}));
}

TEST(Schema, ChecksLimits) {
  EXPECT_EQ(FieldsWrong(R"({"minimum": 1, "maximum": 3})", "0").size(), 1u);
  EXPECT_EQ(FieldsWrong(R"({"minimum": 1, "maximum": 3})", "3").size(), 0u);
  EXPECT_EQ(FieldsWrong(R"({"maximum": 3, "exclusiveMaximum": true})", "3").size(), 1u);
  EXPECT_EQ(FieldsWrong(R"({"maxLength": 2})", R"("äö")").size(), 0u);
  EXPECT_EQ(FieldsWrong(R"({"maxLength": 2})", R"("abc")").size(), 1u);
  EXPECT_EQ(FieldsWrong(R"({"minLength": 1})", R"("")").size(), 1u);
  EXPECT_EQ(FieldsWrong(R"({"pattern": "^[a-z]+$"})", R"("A")").size(), 1u);
  EXPECT_EQ(FieldsWrong(R"({"maxItems": 1})", "[1, 2]").size(), 1u);
  EXPECT_EQ(FieldsWrong(R"({"minItems": 3})", "[1, 2]").size(), 1u);
  EXPECT_EQ(FieldsWrong(R"({"maxProperties": 1})", R"({"a": 1, "b": 2})").size(), 1u);
  EXPECT_EQ(FieldsWrong(R"({"enum": ["a", "b"]})", R"("c")").size(), 1u);
}

TEST(Schema, SaysWhetherABoundItselfIsAllowed) {
  const auto detail = [](std::string_view schema, std::string_view value) {
    return ValidateSchema(ToJson(schema), ToJson(value), "n").at(0).message;
  };
  EXPECT_EQ(detail(R"({"minimum": 1})", "0"),
            "Invalid value: 0: n in body should be greater than or equal to 1");
  EXPECT_EQ(detail(R"({"minimum": 1, "exclusiveMinimum": true})", "1"),
            "Invalid value: 1: n in body should be greater than 1");
  EXPECT_EQ(detail(R"({"maximum": 3})", "4"),
            "Invalid value: 4: n in body should be less than or equal to 3");
  EXPECT_EQ(detail(R"({"maximum": 3, "exclusiveMaximum": true})", "3"),
            "Invalid value: 3: n in body should be less than 3");
}

TEST(Schema, NamesTheMissingField) {
  EXPECT_EQ(FieldsWrong(R"({"properties": {"list": {"items": {"required": ["name"]}}}})",
                        R"({"list": [{"name": 1}, {}]})"),
            Wrong{"list[1].name"});
}

TEST(Schema, ListsWithKeysAndSetsHoldNothingTwice) {
  constexpr const char* kKeyed = R"({"x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["port", "protocol"],
      "items": {"properties": {"protocol": {"default": "TCP"}}}})";
  EXPECT_EQ(FieldsWrong(kKeyed, R"([{"port": 1}, {"port": 1, "protocol": "UDP"}])"), Wrong{});
  EXPECT_EQ(FieldsWrong(kKeyed, R"([{"port": 1}, {"port": 1, "protocol": "TCP"}])"), Wrong{"[1]"});
  EXPECT_EQ(FieldsWrong(R"({"x-kubernetes-list-type": "set"})", R"(["a", "b", "a"])"),
            Wrong{"[2]"});
}

TEST(Schema, DropsNullsAtAnyDepth) {
  Json value = ToJson(R"({"a": null, "b": [{"c": null, "d": 1}]})");
  DropNulls(value);
  EXPECT_EQ(value, ToJson(R"({"b": [{"d": 1}]})"));
}

TEST(DropEmpty, TakesListsAndMapsOfDataButNoStructures) {
  const Json schema = ToJson(R"({"properties": {
      "list": {"type": "array", "items": {"properties": {
        "labels": {"additionalProperties": {"type": "string"}}}}},
      "labels": {"additionalProperties": {"type": "string"}},
      "selector": {"properties": {"labels": {"additionalProperties": {"type": "string"}}}},
      "open": {"x-kubernetes-preserve-unknown-fields": true}}})");
  Json value = ToJson(R"({"labels": {}, "selector": {"labels": {}}, "open": {"a": []},
                          "list": [{"labels": {}}]})");
  DropEmpty(schema, value);
  EXPECT_EQ(value, ToJson(R"({"selector": {}, "open": {"a": []}, "list": [{}]})"));
  Json empty = ToJson(R"({"list": []})");
  DropEmpty(schema, empty);
  EXPECT_EQ(empty, ToJson("{}"));
}

}  // namespace
}  // namespace galen::api_sim
