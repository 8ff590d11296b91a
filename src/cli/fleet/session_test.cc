#include "cli/fleet/session.h"

#include <gtest/gtest.h>

namespace galen::cli {
namespace {

TEST(Session, TakesTheItemsOfAListAndAnEmptyOneOfGo) {
  const auto items = ItemsOf(*Json::Parse(R"({"items": [{"a": 1}, {"a": 2}]})"), "x");
  ASSERT_TRUE(items.ok());
  EXPECT_EQ(items->size(), 2u);
  const auto none = ItemsOf(*Json::Parse(R"({"items": null})"), "x");
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->empty());
}

TEST(Session, SaysOnceThatTheKubeconfigThatWasNamedIsNotThere) {
  const auto loop = EpollLoop::Create();
  ASSERT_TRUE(loop.ok());
  Options options;
  options.cluster.path = "/nonexistent/kubeconfig";
  const auto session = Session::Open(**loop, options);
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.status().code(), Code::kInvalidArgument) << "a wrong command line";
  EXPECT_EQ(session.status().message(),
            "there is no kubeconfig /nonexistent/kubeconfig: --kubeconfig names another, without "
            "it $KUBECONFIG or ~/.kube/config is read");
}

TEST(Session, DoubtsThatWhatGivesNoListIsAKubernetesApi) {
  for (const char* answer : {R"("welcome")", "[]", "7", "null", "{}", R"({"items": "no"})",
                             R"({"items": {"a": 1}})", R"({"message": "please log in"})"}) {
    const auto items = ItemsOf(*Json::Parse(answer), "https://portal.example.com");
    ASSERT_FALSE(items.ok()) << answer;
    EXPECT_EQ(items.status().code(), Code::kDataLoss);
    EXPECT_NE(items.status().message().find("https://portal.example.com"), std::string::npos);
    EXPECT_NE(items.status().message().find("is it a Kubernetes API?"), std::string::npos);
  }
}

}  // namespace
}  // namespace galen::cli
