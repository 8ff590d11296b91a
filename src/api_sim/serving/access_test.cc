#include "api_sim/serving/access.h"

#include <gtest/gtest.h>

#include "api_sim/serving/fake_api_client.h"

namespace galen::api_sim {
namespace {

const User kAgent{"agent", {"nodes"}, {{{"get", "list"}, {"pods"}}, {{"patch"}, {"pods/status"}}}};

TEST(Access, AllowsWhatOneOfTheRulesAllows) {
  EXPECT_TRUE(Access::MayDo(kAgent, {"list", "", "pods", "", ""}));
  EXPECT_TRUE(Access::MayDo(kAgent, {"patch", "", "pods/status", "a", "b"}));
  EXPECT_FALSE(Access::MayDo(kAgent, {"patch", "", "pods", "a", "b"}));
  EXPECT_FALSE(Access::MayDo(kAgent, {"list", "", "secrets", "", ""}));
  EXPECT_TRUE(Access::MayDo(Administrator("root"), {"delete", "", "nodes", "", "n"}));
}

TEST(Access, KnowsUsersByTheirTokens) {
  const Access access({{"secret", kAgent}});
  EXPECT_EQ(access.Authenticate({{"authorization", "Bearer secret"}})->name, "agent");
  EXPECT_EQ(access.Authenticate({{"authorization", "Bearer wrong"}}).status().code, 401);
  EXPECT_EQ(access.Authenticate({{"authorization", "secret"}}).status().code, 401);
  EXPECT_EQ(access.Authenticate({}).status().code, 401);
}

TEST(Access, WithoutAnyTokenEverybodyIsLetIn) {
  EXPECT_EQ(Access({}).Authenticate({})->name, "system:anonymous");
}

TEST(Access, SaysWhoMayNotDoWhatWhere) {
  EXPECT_EQ(DeniedRefusal(kAgent, {"list", "resource.k8s.io", "resourceslices", "", ""}).message,
            "resourceslices.resource.k8s.io is forbidden: User \"agent\" cannot list resource "
            "\"resourceslices\" in API group \"resource.k8s.io\" at the cluster scope");
}

TEST(Access, AnswersWhoAmIAndMayI) {
  EXPECT_EQ(AnswerReview(kAgent, "selfsubjectreviews",
                         Json::MakeObject({}))["status"]["userInfo"]["username"]
                .AsString(),
            "agent");
  const auto may = [](const char* attributes) {
    Json review = Json::MakeObject({});
    review["spec"]["resourceAttributes"] = ToJson(attributes);
    return AnswerReview(kAgent, "selfsubjectaccessreviews", review)["status"]["allowed"].AsBool();
  };
  EXPECT_TRUE(may(R"({"verb": "patch", "resource": "pods", "subresource": "status"})"));
  EXPECT_FALSE(may(R"({"verb": "patch", "resource": "pods"})"));
  EXPECT_TRUE(AnswerReview(kAgent, "gadgetreviews", Json::MakeObject({})).is_null());
}

}  // namespace
}  // namespace galen::api_sim
