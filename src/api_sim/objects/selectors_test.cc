#include "api_sim/objects/selectors.h"

#include <gtest/gtest.h>

namespace galen::api_sim {
namespace {

Json WithLabels(std::initializer_list<std::pair<const std::string, Json>> labels) {
  Json object = Json::MakeObject({});
  object["metadata"]["labels"] = Json::MakeObject(labels);
  return object;
}

bool Selects(std::string_view selector, const Json& object) {
  const auto labels = ParseLabelSelector(selector);
  EXPECT_TRUE(labels.ok()) << selector;
  return labels.ok() && Selection{labels.value(), {}}.Matches(object);
}

TEST(LabelSelector, ComparesValues) {
  const Json object = WithLabels({{"app", "train"}, {"gen", "7"}});
  EXPECT_TRUE(Selects("app=train", object));
  EXPECT_TRUE(Selects("app == train", object));
  EXPECT_FALSE(Selects("app!=train", object));
  EXPECT_TRUE(Selects("gen>6,gen<8", object));
  EXPECT_FALSE(Selects("gen>7", object));
  EXPECT_FALSE(Selects("app>1", object));
}

TEST(LabelSelector, AbsentLabelsAreUnlikeAnyValue) {
  const Json object = WithLabels({{"app", "train"}});
  EXPECT_TRUE(Selects("tier!=gold", object));
  EXPECT_TRUE(Selects("tier notin (gold, tin)", object));
  EXPECT_FALSE(Selects("tier in (gold)", object));
  EXPECT_TRUE(Selects("!tier", object));
  EXPECT_FALSE(Selects("tier", object));
}

TEST(LabelSelector, CommasInsideParenthesesDoNotSeparate) {
  const Json object = WithLabels({{"app", "b"}, {"x", ""}});
  EXPECT_TRUE(Selects("app in (a,b),x", object));
  EXPECT_FALSE(Selects("app in (a,b),y", object));
}

TEST(LabelSelector, ThatMakesNoSenseIsABadRequest) {
  for (const char* text : {"a===b", "a b", "=x", "a in x", "a>b", "a,,b", "a=b c"}) {
    const auto parsed = ParseLabelSelector(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().code, 400);
  }
}

TEST(FieldSelector, ReadsPathsAndTakesAbsenceForEmpty) {
  const Json pod = Json::MakeObject({{"spec", Json::MakeObject({{"nodeName", "n"}})}});
  const auto matches = [&pod](std::string_view text) {
    const auto fields = ParseFieldSelector(text);
    return fields.ok() && Selection{{}, fields.value()}.Matches(pod);
  };
  EXPECT_TRUE(matches("spec.nodeName=n"));
  EXPECT_TRUE(matches("spec.nodeName!=m,status.phase!=Failed"));
  EXPECT_TRUE(matches("status.phase="));
  EXPECT_FALSE(matches("status.phase=Running"));
}

TEST(FieldSelector, IsRefusedForFieldsThatTheKindDoesNotOffer) {
  const KindTable kinds;
  ApiRequest request;
  request.query["fieldSelector"] = "spec.driver=x";
  EXPECT_TRUE(ReadSelection(request, *kinds.Find("resource.k8s.io", "v1", "resourceslices")).ok());
  const auto refused = ReadSelection(request, *kinds.Find("", "v1", "pods"));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message.find("field label not supported: spec.driver"),
            std::string::npos);
}

}  // namespace
}  // namespace galen::api_sim
