#include "kube/merge_patch.h"

#include <gtest/gtest.h>

#include "kube/test_json.h"

namespace galen::kube {
namespace {

struct MergeCase {
  const char* before;
  const char* patch;
  const char* after;
};

// RFC 7386's own examples as far as the patch is an object, and some of ours.
constexpr MergeCase kCases[] = {
    {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
    {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
    {R"({"a":"b"})", R"({"a":null})", R"({})"},
    {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
    {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
    {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
    {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
    {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
    {R"(["a","b"])", R"({"a":"b"})", R"({"a":"b"})"},
    {R"({"e":null})", R"({"a":1})", R"({"a":1,"e":null})"},
    {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
    {R"({"a":"text"})", R"({"a":{"b":1,"c":null}})", R"({"a":{"b":1}})"},
};

TEST(MergePatch, FollowsTheExamplesOfItsRfc) {
  for (const MergeCase& c : kCases) {
    Json value = JsonOf(c.before);
    EXPECT_EQ(ApplyMergePatch(value, JsonOf(c.patch)), OkStatus());
    EXPECT_EQ(value.Dump(), c.after) << c.before << " with " << c.patch;
  }
}

TEST(MergePatch, MustBeAnObject) {
  for (const char* patch : {"[]", "null", "1", "\"x\""}) {
    Json value = JsonOf(R"({"a":1})");
    EXPECT_EQ(ApplyMergePatch(value, JsonOf(patch)).code(), Code::kInvalidArgument);
    EXPECT_EQ(value, JsonOf(R"({"a":1})"));
  }
}

TEST(CreateMergePatch, SaysOnlyWhatDiffers) {
  const Json before = JsonOf(R"({"m":{"a":1,"b":[1,2],"c":"x","gone":true},"same":{"y":1}})");
  const Json after = JsonOf(R"({"m":{"a":1,"b":[1,3],"c":"z","new":{}},"same":{"y":1}})");
  EXPECT_EQ(CreateMergePatch(before, after).Dump(),
            R"({"m":{"b":[1,3],"c":"z","gone":null,"new":{}}})");
}

TEST(CreateMergePatch, IsEmptyForEqualObjects) {
  const Json value = JsonOf(R"({"a":{"b":[1]}})");
  EXPECT_EQ(CreateMergePatch(value, value).Dump(), "{}");
  EXPECT_EQ(CreateMergePatch(JsonOf(R"({"a":{"b":null}})"), JsonOf(R"({"a":{}})")).Dump(), "{}");
}

TEST(CreateMergePatch, LeadsFromOneObjectToTheOther) {
  const char* objects[] = {
      R"({})",
      R"({"a":1,"b":{"c":[1,{"d":2}],"e":{}}})",
      R"({"a":{"x":1},"b":{"c":[],"e":"text"}})",
      R"({"b":{"c":[1,{"d":3}],"e":{"f":{"g":false}}},"h":1.5})",
  };
  for (const char* before : objects) {
    for (const char* after : objects) {
      Json value = JsonOf(before);
      EXPECT_EQ(ApplyMergePatch(value, CreateMergePatch(value, JsonOf(after))), OkStatus());
      EXPECT_EQ(value.Dump(), JsonOf(after).Dump()) << "from " << before;
    }
  }
}

}  // namespace
}  // namespace galen::kube
