#include <gtest/gtest.h>

#include <string>

#include "api_sim/patch/patch.h"
#include "kube/test_json.h"

namespace galen::api_sim {
namespace {

// The object after the patch, or the status's text.
std::string Patched(std::string_view object, std::string_view patch) {
  Json value = kube::JsonOf(object);
  const Status status = ApplyJsonPatch(value, kube::JsonOf(patch));
  if (!status.ok()) {
    EXPECT_EQ(value, kube::JsonOf(object)) << "a failed patch must leave the object alone";
    return ToString(status);
  }
  return value.Dump();
}

Code CodeOf(std::string_view object, std::string_view patch) {
  Json value = kube::JsonOf(object);
  return ApplyJsonPatch(value, kube::JsonOf(patch)).code();
}

TEST(JsonPatch, AddsMembersAndReplacesThoseThatAreThere) {
  EXPECT_EQ(Patched(R"({"a":1})", R"([{"op":"add","path":"/b","value":2}])"), R"({"a":1,"b":2})");
  EXPECT_EQ(Patched(R"({"a":1})", R"([{"op":"add","path":"/a","value":{"x":null}}])"),
            R"({"a":{"x":null}})");
  EXPECT_EQ(Patched(R"({"a":1})", R"([{"op":"add","path":"","value":[1]}])"), "[1]");
}

TEST(JsonPatch, AddsItemsBeforeAnIndexOrAtTheEnd) {
  EXPECT_EQ(Patched("[1,2]", R"([{"op":"add","path":"/0","value":0}])"), "[0,1,2]");
  EXPECT_EQ(Patched("[1,2]", R"([{"op":"add","path":"/2","value":3}])"), "[1,2,3]");
  EXPECT_EQ(Patched("[1,2]", R"([{"op":"add","path":"/-","value":3}])"), "[1,2,3]");
  EXPECT_EQ(CodeOf("[1,2]", R"([{"op":"add","path":"/3","value":3}])"), Code::kFailedPrecondition);
}

TEST(JsonPatch, RemovesMembersAndItems) {
  EXPECT_EQ(Patched(R"({"a":1,"b":2})", R"([{"op":"remove","path":"/a"}])"), R"({"b":2})");
  EXPECT_EQ(Patched(R"({"l":[1,2,3]})", R"([{"op":"remove","path":"/l/1"}])"), R"({"l":[1,3]})");
  EXPECT_EQ(CodeOf("[1]", R"([{"op":"remove","path":"/-"}])"), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf("[1]", R"([{"op":"remove","path":""}])"), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf("{}", R"([{"op":"remove","path":"/a"}])"), Code::kFailedPrecondition);
}

TEST(JsonPatch, ReplacesOnlyWhatIsThere) {
  EXPECT_EQ(Patched(R"({"a":{"b":1}})", R"([{"op":"replace","path":"/a/b","value":"x"}])"),
            R"({"a":{"b":"x"}})");
  EXPECT_EQ(Patched("[1,2]", R"([{"op":"replace","path":"/1","value":null}])"), "[1,null]");
  EXPECT_EQ(CodeOf("{}", R"([{"op":"replace","path":"/a","value":1}])"), Code::kFailedPrecondition);
}

TEST(JsonPatch, MovesAndCopies) {
  EXPECT_EQ(Patched(R"({"a":{"b":1},"c":{}})", R"([{"op":"move","from":"/a/b","path":"/c/d"}])"),
            R"({"a":{},"c":{"d":1}})");
  EXPECT_EQ(Patched("[1,2,3]", R"([{"op":"move","from":"/0","path":"/2"}])"), "[2,3,1]");
  EXPECT_EQ(Patched(R"({"a":[1]})", R"([{"op":"copy","from":"/a","path":"/b"}])"),
            R"({"a":[1],"b":[1]})");
  EXPECT_EQ(Patched(R"({"a":1})", R"([{"op":"move","from":"/a","path":"/a"}])"), R"({"a":1})");
}

TEST(JsonPatch, RefusesToMoveAValueIntoItself) {
  EXPECT_EQ(CodeOf(R"({"a":{}})", R"([{"op":"move","from":"/a","path":"/a/b"}])"),
            Code::kInvalidArgument);
  EXPECT_EQ(Patched(R"({"a":{}})", R"([{"op":"copy","from":"/a","path":"/a/b"}])"),
            R"({"a":{"b":{}}})");
  EXPECT_EQ(Patched(R"({"a":1})", R"([{"op":"move","from":"/a","path":"/ab"}])"), R"({"ab":1})");
}

TEST(JsonPatch, ATestComparesValuesAndNumbersByTheirSize) {
  EXPECT_EQ(CodeOf(R"({"a":1})", R"([{"op":"test","path":"/a","value":1.0}])"), Code::kOk);
  EXPECT_EQ(CodeOf(R"({"a":[{"b":1}]})", R"([{"op":"test","path":"/a","value":[{"b":1.0}]}])"),
            Code::kOk);
  EXPECT_EQ(CodeOf(R"({"a":"1"})", R"([{"op":"test","path":"/a","value":1}])"),
            Code::kFailedPrecondition);
  EXPECT_EQ(CodeOf(R"({"a":[1]})", R"([{"op":"test","path":"/a","value":[1,2]}])"),
            Code::kFailedPrecondition);
  EXPECT_EQ(CodeOf(R"({"a":{"b":1}})", R"([{"op":"test","path":"/a","value":{"c":1}}])"),
            Code::kFailedPrecondition);
}

TEST(JsonPatch, IsAppliedWholeOrNotAtAll) {
  EXPECT_EQ(
      Patched(R"({"a":1})",
              R"([{"op":"add","path":"/b","value":2},{"op":"test","path":"/b","value":3}])"),
      "FailedPrecondition: operation 1: test \"/b\": the value differs from the one in the test");
}

TEST(JsonPatch, EscapesInPointersAreUndone) {
  EXPECT_EQ(Patched("{}", R"([{"op":"add","path":"/galen.dev~1devices","value":"x"}])"),
            R"({"galen.dev/devices":"x"})");
  EXPECT_EQ(Patched("{}", R"([{"op":"add","path":"/~01","value":0}])"), R"({"~1":0})");
  EXPECT_EQ(Patched("{}", R"([{"op":"add","path":"/","value":0}])"), R"({"":0})");
  EXPECT_EQ(CodeOf("{}", R"([{"op":"add","path":"/~2","value":0}])"), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf("{}", R"([{"op":"add","path":"/a~","value":0}])"), Code::kInvalidArgument);
}

TEST(JsonPatch, IndexesAreDecimalWithoutLeadingZeros) {
  for (const char* path : {"/01", "/+1", "/-1", "/1x", "/x", "/"}) {
    const Json patch =
        Json::MakeArray({Json::MakeObject({{"op", "replace"}, {"path", path}, {"value", 0}})});
    Json value = kube::JsonOf("[1,2]");
    EXPECT_EQ(ApplyJsonPatch(value, patch).code(), Code::kInvalidArgument) << path;
  }
}

TEST(JsonPatch, SaysWhatIsWrongWithAnOperation) {
  EXPECT_EQ(Patched("{}", R"([{"path":"/a"}])"), "InvalidArgument: operation 0: \"op\" is missing");
  EXPECT_EQ(Patched("{}", R"([{"op":"add","value":1}])"),
            "InvalidArgument: operation 0: \"path\" is missing");
  EXPECT_EQ(Patched("{}", R"([{"op":"add","path":"/a"}])"),
            "InvalidArgument: operation 0: add \"/a\": \"value\" is missing");
  EXPECT_EQ(Patched("{}", R"([{"op":"copy","path":"/a"}])"),
            "InvalidArgument: operation 0: copy \"/a\": \"from\" is missing");
  EXPECT_EQ(CodeOf("{}", R"([{"op":"swap","path":"/a"}])"), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf("{}", R"({"op":"add"})"), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf("{}", R"(["add"])"), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf("{}", R"([{"op":"add","path":"a","value":1}])"), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(R"({"a":1})", R"([{"op":"add","path":"/a/b","value":1}])"),
            Code::kFailedPrecondition);
}

TEST(JsonPatch, BoundsTheNumberOfOperations) {
  Json patch = Json::Array{};
  for (std::size_t i = 0; i <= kJsonPatchOperationsMax; ++i) {
    patch.Append(Json::MakeObject({{"op", "add"}, {"path", "/a"}, {"value", 1}}));
  }
  Json value = kube::JsonOf("{}");
  EXPECT_EQ(ApplyJsonPatch(value, patch).code(), Code::kInvalidArgument);
  patch.MutableItems().pop_back();
  EXPECT_EQ(ApplyJsonPatch(value, patch), OkStatus());
}

TEST(JsonPatch, CopiesCannotBlowAnObjectUp) {
  Json patch = Json::Array{};
  for (int i = 0; i < 40; ++i) {
    patch.Append(Json::MakeObject({{"op", "copy"}, {"from", "/a"}, {"path", "/a/-"}}));
  }
  Json value = kube::JsonOf(R"({"a":["xxxxxxxxxxxxxxxx"]})");
  EXPECT_EQ(ApplyJsonPatch(value, patch).code(), Code::kInvalidArgument);
  EXPECT_EQ(value, kube::JsonOf(R"({"a":["xxxxxxxxxxxxxxxx"]})"));
}

TEST(JsonPatch, CannotMakeAnObjectDeeperThanJsonMayBe) {
  Json patch = Json::Array{};
  for (int i = 0; i < 2 * Json::kDepthMax; ++i) {
    patch.Append(Json::MakeObject({{"op", "copy"}, {"from", "/a"}, {"path", "/b"}}));
    patch.Append(kube::JsonOf(R"({"op":"add","path":"/a","value":{}})"));
    patch.Append(kube::JsonOf(R"({"op":"move","from":"/b","path":"/a/c"})"));
  }
  Json value = kube::JsonOf(R"({"a":{}})");
  const Status status = ApplyJsonPatch(value, patch);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("levels deep"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace galen::api_sim
