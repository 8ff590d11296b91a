#include "cluster_sim/controllers/api_calls.h"

#include <gtest/gtest.h>

#include <optional>

#include "api_sim/objects/fake_objects.h"
#include "cluster_sim/app/fake_cluster.h"

namespace galen::cluster_sim {
namespace {

TEST(ApiCalls, BringTheAnswerAndForgetTheCall) {
  FakeCluster cluster;
  ApiCalls calls(cluster.loop(), cluster.client());
  std::string name;
  calls.Do(kube::Get(kube::kNamespaces, "", "default"), [&name](const StatusOr<Json>& answer) {
    name = answer.value()["metadata"]["name"].AsString();
  });
  EXPECT_EQ(calls.under_way(), 1U);
  EXPECT_EQ(name, "");
  cluster.Pass();
  EXPECT_EQ(name, "default");
  EXPECT_EQ(calls.under_way(), 0U);
}

TEST(ApiCalls, AnAnswerMayAskAgain) {
  FakeCluster cluster;
  ApiCalls calls(cluster.loop(), cluster.client());
  int answers = 0;
  std::function<void(const StatusOr<Json>&)> again = [&](const StatusOr<Json>&) {
    if (++answers < 3) calls.Do(kube::Get(kube::kNamespaces, "", "default"), again);
  };
  calls.Do(kube::Get(kube::kNamespaces, "", "default"), again);
  cluster.Pass();
  EXPECT_EQ(answers, 3);
}

TEST(ApiCalls, ErrorsAreAnswersToo) {
  FakeCluster cluster;
  ApiCalls calls(cluster.loop(), cluster.client());
  std::optional<Code> code;
  calls.Do(kube::Get(kube::kPods, "default", "nobody"),
           [&code](const StatusOr<Json>& answer) { code = answer.status().code(); });
  cluster.Pass();
  EXPECT_EQ(code, Code::kNotFound);
}

TEST(ApiCalls, NothingIsCalledAfterTheirEnd) {
  FakeCluster cluster;
  bool called = false;
  {
    ApiCalls calls(cluster.loop(), cluster.client());
    calls.Do(kube::Get(kube::kNamespaces, "", "default"),
             [&called](const StatusOr<Json>&) { called = true; });
  }
  cluster.Pass();
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace galen::cluster_sim
