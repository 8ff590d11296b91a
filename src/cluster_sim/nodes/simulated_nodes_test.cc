#include "cluster_sim/nodes/simulated_nodes.h"

#include <gtest/gtest.h>

#include "api_sim/objects/fake_objects.h"
#include "api_sim/objects/pod_facts.h"
#include "base/files/fake_file_system.h"
#include "cluster_sim/app/fake_cluster.h"

namespace galen::cluster_sim {
namespace {

using std::chrono::seconds;

std::string Phase(FakeCluster& cluster, const std::string& pod) {
  return cluster.Pod(pod)["status"]["phase"].AsString();
}

std::string Ready(FakeCluster& cluster, const std::string& node) {
  const Json object = cluster.Get(kube::kNodes, node);
  return api_sim::FindCondition(object["status"]["conditions"], "Ready")["status"].AsString();
}

TEST(SimulatedNodes, AppearAndAreReady) {
  FakeCluster cluster({.nodes = {{.name = "node-1", .labels = {{"zone", "a"}}}}});
  EXPECT_EQ(Ready(cluster, "node-1"), "True");
  EXPECT_EQ(cluster.Get(kube::kNodes, "node-1")["metadata"]["labels"]["zone"].AsString(), "a");
}

TEST(SimulatedNodes, TakeAsManyPodsAsTheyAreMadeFor) {
  FakeCluster cluster({.nodes = {{.name = "small"}, {.name = "large", .pods_max = 512}}});
  const auto pods = [&](const std::string& node) {
    return cluster.Get(kube::kNodes, node)["status"]["allocatable"]["pods"].AsString();
  };
  EXPECT_EQ(pods("small"), "110");
  EXPECT_EQ(pods("large"), "512");
}

TEST(SimulatedNodes, ComeBackWhenSomebodyDeletesThem) {
  FakeCluster cluster({.nodes = {{.name = "node-1"}}});
  cluster.Delete(kube::kNodes, "node-1", "");
  cluster.Pass();
  EXPECT_EQ(Ready(cluster, "node-1"), "True");
}

TEST(SimulatedNodes, CanBeMadeNotReady) {
  FakeCluster cluster({.nodes = {{.name = "node-1"}}});
  ASSERT_TRUE(cluster.app().nodes().SetReady("node-1", false).ok());
  cluster.Pass();
  EXPECT_EQ(Ready(cluster, "node-1"), "False");
  EXPECT_EQ(cluster.app().nodes().SetReady("node-9", false).code(), Code::kNotFound);
}

TEST(SimulatedNodes, HaveTheVersionOfTheirServer) {
  FakeCluster cluster({.nodes = {{.name = "node-1"}}});
  const Json version = *cluster.Do({.method = "GET", .path = "/version"});
  EXPECT_EQ(cluster.Get(kube::kNodes, "node-1")["status"]["nodeInfo"]["kubeletVersion"],
            version["gitVersion"]);
}

TEST(SimulatedNodes, ThatALaterLifeDoesNotSimulateAreUnknownUntilOneDoes) {
  FakeFileSystem files;
  const ClusterApp::Options two{.api = {.files = &files, .data_directory = "/data"},
                                .nodes = {{.name = "node-1"}, {.name = "node-2"}}};
  ClusterApp::Options one = two;
  one.nodes.pop_back();
  {
    FakeCluster cluster(two);
  }
  {
    FakeCluster cluster(one);
    EXPECT_EQ(Ready(cluster, "node-1"), "True");
    EXPECT_EQ(Ready(cluster, "node-2"), "Unknown");
  }
  FakeCluster cluster(two);
  EXPECT_EQ(Ready(cluster, "node-2"), "True");
}

TEST(SimulatedNodes, RunWhatIsBoundToThem) {
  FakeCluster cluster({.nodes = {{.name = "node-1"}}});
  cluster.Create(kube::kPods, api_sim::FakePod("a"));
  cluster.Pass();
  EXPECT_EQ(Phase(cluster, "a"), "Running");
}

TEST(SimulatedNodes, LetAPodGoWhenItIsDeleted) {
  FakeCluster cluster({.nodes = {{.name = "node-1"}}});
  cluster.Create(kube::kPods, api_sim::FakePod("a"));
  cluster.Pass();
  cluster.Delete(kube::kPods, "a", "default");
  cluster.Pass();
  EXPECT_TRUE(cluster.Pod("a").is_null());
}

TEST(SimulatedNodes, CrashAContainerThatThenRunsAgain) {
  FakeCluster cluster({.nodes = {{.name = "node-1"}}});
  cluster.Create(kube::kPods, api_sim::FakePod("a"));
  cluster.Pass();
  cluster.app().nodes().Crash({"default", "a"}, "main", 134);
  cluster.app().nodes().Crash({"default", "a"}, "main", 137);
  cluster.Pass(seconds(5));
  const Json status = cluster.Pod("a")["status"]["containerStatuses"].items().at(0);
  EXPECT_EQ(status["restartCount"].AsInt(), 2);
  EXPECT_EQ(status["lastState"]["terminated"]["exitCode"].AsInt(), 137);
}

TEST(SimulatedNodes, AForeignConditionOfAPodSurvivesTheirWrites) {
  FakeCluster cluster({.nodes = {{.name = "node-1"}}});
  cluster.Create(kube::kPods, api_sim::FakePod("a"));
  cluster.Pass();
  const Json patch =
      api_sim::Yaml("{status: {conditions: [{type: galen.dev/DevicesHealthy, status: 'False'}]}}");
  kube::PatchOptions on_status;
  on_status.subresource = "status";
  ASSERT_TRUE(cluster
                  .Do(kube::Patch(kube::kPods, "default", "a", kube::PatchType::kStrategic, patch,
                                  on_status))
                  .ok());
  cluster.app().nodes().Crash({"default", "a"}, "main", 1);
  cluster.Pass();
  const Json pod = cluster.Pod("a");
  EXPECT_EQ(
      api_sim::FindCondition(pod["status"]["conditions"], "galen.dev/DevicesHealthy")["status"]
          .AsString(),
      "False");
}

TEST(SimulatedNodes, AVirtualNodesPodsAreLeftToOthers) {
  FakeCluster cluster({.nodes = {{.name = "virtual-1", .is_virtual = true}}});
  cluster.Create(kube::kPods, api_sim::FakePod("a"));
  cluster.Pass();
  EXPECT_EQ(cluster.Pod("a")["spec"]["nodeName"].AsString(), "virtual-1");
  EXPECT_EQ(Phase(cluster, "a"), "Pending");
  cluster.Delete(kube::kPods, "a", "default");
  cluster.Pass();
  EXPECT_TRUE(api_sim::IsBeingDeleted(cluster.Pod("a")));
}

TEST(SimulatedNodes, RefuseNamesThatAreNoneOrTaken) {
  FakeCluster cluster;
  SimulatedNodes& nodes = cluster.app().nodes();
  EXPECT_TRUE(nodes.Add({.name = "node-1"}).ok());
  EXPECT_EQ(nodes.Add({.name = "node-1"}).code(), Code::kAlreadyExists);
  EXPECT_EQ(nodes.Add({.name = "Node 1"}).code(), Code::kInvalidArgument);
}

// Fails the first time, and keeps who is prepared.
class FakePreparation final : public PodPreparation {
 public:
  void Prepare(const Json& pod, std::function<void(const Status&)> done) override {
    if (!failed_) {
      failed_ = true;
      return done(Unavailable("driver is not registered"));
    }
    prepared.insert(api_sim::KeyOf(pod).name);
    done(OkStatus());
  }
  void Unprepare(const Json& pod, std::function<void(const Status&)> done) override {
    prepared.erase(api_sim::KeyOf(pod).name);
    done(OkStatus());
  }

  std::set<std::string> prepared;

 private:
  bool failed_ = false;
};

TEST(SimulatedNodes, PrepareClaimsBeforeThePodRunsAndUnprepareThemAfterwards) {
  FakePreparation preparation;
  FakeCluster cluster({.nodes = {{.name = "node-1"}}, .preparation = &preparation});
  cluster.Create(kube::kPods, api_sim::FakePod("a"));
  cluster.Pass();
  EXPECT_EQ(Phase(cluster, "a"), "Running");
  EXPECT_TRUE(preparation.prepared.contains("a"));
  cluster.Delete(kube::kPods, "a", "default");
  cluster.Pass();
  EXPECT_TRUE(cluster.Pod("a").is_null());
  EXPECT_TRUE(preparation.prepared.empty());
}

TEST(SimulatedNodes, UnprepareWhatAnEarlierLifePrepared) {
  FakeFileSystem files;
  FakePreparation preparation;
  const ClusterApp::Options options{.api = {.files = &files, .data_directory = "/data"},
                                    .nodes = {{.name = "node-1"}},
                                    .preparation = &preparation};
  {
    FakeCluster cluster(options);
    cluster.Create(kube::kPods, api_sim::FakePod("a"));
    cluster.Pass();
    ASSERT_TRUE(preparation.prepared.contains("a"));
  }
  FakeCluster cluster(options);
  cluster.Delete(kube::kPods, "a", "default");
  cluster.Pass();
  EXPECT_TRUE(cluster.Pod("a").is_null());
  EXPECT_TRUE(preparation.prepared.empty());
}

}  // namespace
}  // namespace galen::cluster_sim
