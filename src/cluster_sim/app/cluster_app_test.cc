#include <gtest/gtest.h>

#include "api_sim/objects/fake_objects.h"
#include "api_sim/objects/pod_facts.h"
#include "base/files/fake_file_system.h"
#include "cluster_sim/app/fake_cluster.h"
#include "cluster_sim/app/sim_app.h"

namespace galen::cluster_sim {
namespace {

TEST(ClusterApp, APodWithAClaimGoesAllTheWayToRunning) {
  FakeCluster cluster({.nodes = {{.name = "node-1"}}});
  cluster.AddClass("gpu", "gpu");
  cluster.AddSlice(api_sim::FakeSlice("gpu", "node-1", {"gpu-0"}));
  cluster.Create(kube::kResourceClaimTemplates, api_sim::FakeTemplate("one", "gpu"));
  cluster.Create(kube::kPods, api_sim::WithTemplate(api_sim::FakePod("a"), "gpu", "one"));
  cluster.Pass();
  EXPECT_EQ(cluster.Pod("a")["status"]["phase"].AsString(), "Running");
}

TEST(ClusterApp, ThreeHundredPodsOnTenNodesAllRun) {
  ClusterApp::Options options;
  for (int i = 0; i < 10; ++i) options.nodes.push_back({.name = "node-" + std::to_string(i)});
  FakeCluster cluster(std::move(options));
  for (int i = 0; i < 300; ++i)
    cluster.Create(kube::kPods, api_sim::FakePod("p" + std::to_string(i)));
  cluster.Pass(std::chrono::seconds(10));
  std::map<std::string, int> phases;
  for (const Json& pod : cluster.List(kube::kPods)) ++phases[pod["status"]["phase"].AsString()];
  EXPECT_EQ(phases, (std::map<std::string, int>{{"Running", 300}}));
}

TEST(ClusterApp, ControllersWorkWhenTheApiWantsToKnowWhoAsks) {
  FakeLoop loop;
  Random chance(1);
  const auto app = ClusterApp::Create(
      loop, chance, NullLog(),
      {.api = {.users_by_token = {{"secret", api_sim::Administrator("admin")}}}});
  ASSERT_TRUE(app.ok());
  loop.Advance(std::chrono::seconds(1));
  EXPECT_TRUE((*app)->ready());
}

TEST(ClusterApp, WithoutControllersNobodySchedules) {
  FakeCluster cluster({.nodes = {{.name = "node-1"}}, .run_controllers = false});
  cluster.Create(kube::kPods, api_sim::FakePod("a"));
  cluster.Pass();
  EXPECT_EQ(cluster.Pod("a")["spec"]["nodeName"].AsString(), "");
}

TEST(ClusterApp, GoesOnAfterARestartWhereItWas) {
  FakeFileSystem files;
  FakeLoop loop;
  Random chance(1);
  const ClusterApp::Options options{.api = {.files = &files, .data_directory = "/data"},
                                    .nodes = {{.name = "node-1"}}};
  const auto get_pod = [&](ClusterApp& app) {
    api_sim::LocalTransport transport(loop, app.api());
    kube::Client client(loop, transport);
    Json pod;
    const auto call =
        client.Do(kube::Get(kube::kPods, "default", "a"), [&pod](const StatusOr<Json>& answer) {
          if (answer.ok()) pod = *answer;
        });
    loop.Advance(std::chrono::seconds(1));
    return pod;
  };
  Json before;
  {
    const auto app = ClusterApp::Create(loop, chance, NullLog(), options).value();
    api_sim::LocalTransport transport(loop, app->api());
    kube::Client client(loop, transport);
    Json pod = api_sim::FakePod("a");
    pod["metadata"].Erase("uid");
    const auto call = client.Do(kube::Create(kube::kPods, "default", pod),
                                [](const StatusOr<Json>& answer) { EXPECT_TRUE(answer.ok()); });
    loop.Advance(std::chrono::seconds(2));
    before = get_pod(*app);
  }
  const auto app = ClusterApp::Create(loop, chance, NullLog(), options).value();
  loop.Advance(std::chrono::seconds(2));
  EXPECT_EQ(before["status"]["phase"].AsString(), "Running");
  EXPECT_EQ(get_pod(*app), before);
}

TEST(ClusterApp, ABadNodeNameIsAnErrorBeforeAnythingRuns) {
  FakeLoop loop;
  Random chance(1);
  const auto app = ClusterApp::Create(loop, chance, NullLog(), {.nodes = {{.name = "Not A Name"}}});
  EXPECT_EQ(app.status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace galen::cluster_sim
