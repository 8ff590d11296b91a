#include "cluster_sim/controllers/cluster_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api_sim/objects/fake_objects.h"
#include "api_sim/objects/pod_facts.h"
#include "cluster_sim/app/fake_cluster.h"

namespace galen::cluster_sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ClusterViewTest : public ::testing::Test {
 protected:
  static ObjectKey Key(const std::string& name) { return {"default", name}; }

  FakeCluster cluster_{{.nodes = {{.name = "node-1"}}}};
  Random random_{7};
  ClusterView view_{cluster_.loop(), cluster_.client(), random_, NullLog()};
};

TEST_F(ClusterViewTest, IsSyncedOnlyWhenEveryKindIsKnown) {
  int calls = 0;
  view_.OnSynced([&] {
    ++calls;
    EXPECT_TRUE(view_.synced());
  });
  EXPECT_FALSE(view_.synced());
  view_.Start();
  cluster_.Pass();
  EXPECT_TRUE(view_.synced());
  EXPECT_EQ(calls, 1);
}

TEST_F(ClusterViewTest, FilesPodsUnderTheirNodeWhileTheyRun) {
  view_.Start();
  Json pod = api_sim::FakePod("a");
  pod["spec"]["restartPolicy"] = "Never";
  cluster_.Create(kube::kPods, pod);
  Json gated = api_sim::FakePod("b");
  gated["spec"]["schedulingGates"] = api_sim::Yaml("[{name: x.io/hold}]");
  cluster_.Create(kube::kPods, gated);
  cluster_.Pass();
  EXPECT_THAT(view_.pods.Lookup(ClusterView::kByNode, "node-1"), ElementsAre(Key("a")));
  EXPECT_THAT(view_.pods.Lookup(ClusterView::kByNode, ""), ElementsAre(Key("b")));
  cluster_.app().nodes().Crash(Key("a"), "main", 0);
  cluster_.Pass();
  EXPECT_THAT(view_.pods.Lookup(ClusterView::kByNode, "node-1"), IsEmpty());
}

TEST_F(ClusterViewTest, FilesClaimsUnderTheirPodsAndDevicesAndPodsUnderTheirClaims) {
  view_.Start();
  cluster_.AddClass("gpu", "gpu");
  cluster_.AddSlice(api_sim::FakeSlice("gpu", "node-1", {"gpu-0"}));
  cluster_.Create(kube::kResourceClaimTemplates, api_sim::FakeTemplate("one", "gpu"));
  cluster_.Create(kube::kPods, api_sim::WithTemplate(api_sim::FakePod("a"), "gpu", "one"));
  cluster_.Pass();
  const Json pod = cluster_.Pod("a");
  const std::string claim = api_sim::PodClaims(pod).at(0).object_name.value();
  EXPECT_THAT(view_.claims.Lookup(ClusterView::kByPod, api_sim::UidOf(pod)),
              ElementsAre(Key(claim)));
  EXPECT_THAT(view_.pods.Lookup(ClusterView::kByClaim, "default/" + claim), ElementsAre(Key("a")));
  EXPECT_THAT(view_.pods.Lookup(ClusterView::kByTemplate, "default/one"), ElementsAre(Key("a")));
}

}  // namespace
}  // namespace galen::cluster_sim
