#include "cluster_sim/controllers/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api_sim/objects/fake_objects.h"
#include "api_sim/objects/pod_facts.h"
#include "cluster_sim/allocation/test_devices.h"
#include "cluster_sim/app/fake_cluster.h"
#include "cluster_sim/controllers/claim_controller.h"

namespace galen::cluster_sim {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Two nodes; the first has two GPUs.
class SchedulerTest : public ::testing::Test {
 protected:
  SchedulerTest() : cluster_({.nodes = {{.name = "node-1"}, {.name = "node-2"}}}) {
    cluster_.AddClass("gpu", "gpu");
    cluster_.AddSlice(api_sim::FakeSlice("gpu", "node-1", {"gpu-0", "gpu-1"}));
    cluster_.Create(kube::kResourceClaimTemplates, api_sim::FakeTemplate("one", "gpu"));
  }
  void AddPod(const Json& pod) {
    cluster_.Create(kube::kPods, pod);
    cluster_.Pass();
  }
  void AddGpuPod(const std::string& name) {
    AddPod(api_sim::WithTemplate(api_sim::FakePod(name), "gpu", "one"));
  }
  std::string NodeOf(const std::string& pod) {
    return cluster_.Pod(pod)["spec"]["nodeName"].AsString();
  }

  FakeCluster cluster_;
};

TEST_F(SchedulerTest, BindsAPodAndReservesItsAllocatedClaim) {
  AddGpuPod("a");
  EXPECT_EQ(NodeOf("a"), "node-1");
  const Json pod = cluster_.Pod("a");
  const Json claim = cluster_.Claim(api_sim::PodClaims(pod).at(0).object_name.value());
  const Json& result = claim["status"]["allocation"]["devices"]["results"][std::size_t{0}];
  EXPECT_EQ(result["device"].AsString(), "gpu-0");
  EXPECT_EQ(result["request"].AsString(), "gpu");
  EXPECT_EQ(api_sim::Holders(claim),
            (std::vector<PodRef>{{api_sim::KeyOf(pod), api_sim::UidOf(pod)}}));
  EXPECT_TRUE(api_sim::HasFinalizer(claim, api_sim::kDeleteProtection));
  EXPECT_EQ(
      api_sim::FindCondition(pod["status"]["conditions"], "PodScheduled")["status"].AsString(),
      "True");
  EXPECT_TRUE(cluster_.HasEvent("Scheduled", "a"));
}

TEST_F(SchedulerTest, APodWithoutDevicesWaitsSaysWhyAndGoesWhenOneIsFree) {
  for (const char* name : {"a", "b", "c"}) AddGpuPod(name);
  EXPECT_EQ(NodeOf("c"), "");
  EXPECT_THAT(cluster_.WhyPending("c"), StartsWith("Unschedulable: 0/2 nodes are available"));
  EXPECT_THAT(cluster_.WhyPending("c"), HasSubstr("2 in use"));
  EXPECT_TRUE(cluster_.HasEvent("FailedScheduling", "c"));
  cluster_.Delete(kube::kPods, "a", "default");
  cluster_.Pass();
  EXPECT_EQ(NodeOf("c"), "node-1");
}

TEST_F(SchedulerTest, AWaitingPodGoesWhenADriverOffersDevices) {
  for (const char* name : {"a", "b", "c"}) AddGpuPod(name);
  cluster_.AddSlice(api_sim::FakeSlice("gpu", "node-2", {"gpu-9"}));
  cluster_.Pass();
  EXPECT_EQ(NodeOf("c"), "node-2");
}

TEST_F(SchedulerTest, ManyPodsShareANamedClaimOnItsNode) {
  cluster_.Create(kube::kResourceClaims, api_sim::FakeClaim("shared", "gpu"));
  for (const char* name : {"a", "b", "c"}) {
    cluster_.Create(kube::kPods, api_sim::WithClaim(api_sim::FakePod(name), "gpu", "shared"));
  }
  cluster_.Pass(std::chrono::seconds(5));
  for (const char* name : {"a", "b", "c"}) EXPECT_EQ(NodeOf(name), "node-1") << name;
  EXPECT_EQ(api_sim::Holders(cluster_.Claim("shared")).size(), 3U);
}

TEST_F(SchedulerTest, AnExtendedResourceGetsAClaimThatThePodsStatusMaps) {
  Json cards = api_sim::FakeClass("cards", "gpu");
  cards["spec"]["extendedResourceName"] = "example.com/card";
  cluster_.Create(kube::kDeviceClasses, cards);
  Json pod = api_sim::FakePod("plain");
  pod["spec"]["containers"].MutableItems()[0]["resources"]["limits"]["example.com/card"] = 1;
  AddPod(pod);
  EXPECT_EQ(NodeOf("plain"), "node-1") << cluster_.WhyPending("plain");
  const Json status = cluster_.Pod("plain")["status"]["extendedResourceClaimStatus"];
  const std::string name = status["resourceClaimName"].AsString();
  EXPECT_THAT(name, StartsWith("plain-extended-resources-"));
  EXPECT_EQ(status["requestMappings"][0]["containerName"].AsString(), "main");
  const Json claim = cluster_.Claim(name);
  EXPECT_EQ(claim["status"]["allocation"]["devices"]["results"][0]["request"].AsString(),
            status["requestMappings"][0]["requestName"].AsString());
  EXPECT_EQ(HeldDevices(claim["status"]["allocation"]).size(), 1U);
  EXPECT_EQ(api_sim::Holders(claim).size(), 1U);
  // Its devices and the claim go with the Pod.
  cluster_.Delete(kube::kPods, "plain", "default", 0);
  cluster_.Pass(std::chrono::seconds(5));
  EXPECT_TRUE(cluster_.Claim(name).is_null());
}

TEST_F(SchedulerTest, AnExtendedResourceThatIsTakenIsWaitedFor) {
  Json cards = api_sim::FakeClass("cards", "gpu");
  cards["spec"]["extendedResourceName"] = "example.com/card";
  cluster_.Create(kube::kDeviceClasses, cards);
  for (const char* name : {"a", "b"}) AddGpuPod(name);
  Json pod = api_sim::FakePod("plain");
  pod["spec"]["containers"].MutableItems()[0]["resources"]["limits"]["example.com/card"] = 1;
  AddPod(pod);
  EXPECT_EQ(NodeOf("plain"), "");
  EXPECT_THAT(cluster_.WhyPending("plain"),
              HasSubstr("1 wanted, 0 of 2 devices to be had (2 in use)"));
  EXPECT_EQ(cluster_.List(kube::kResourceClaims).size(), 2U) << "none is made in vain";
  cluster_.Delete(kube::kPods, "a", "default", 0);
  cluster_.Pass(std::chrono::seconds(5));
  EXPECT_EQ(NodeOf("plain"), "node-1");
}

TEST_F(SchedulerTest, AnExpressionThatDoesNotCompileIsAnErrorThatSaysWhere) {
  Json wrong = api_sim::FakeClass("wrong", "");
  wrong["spec"]["selectors"] = api_sim::Yaml("[{cel: {expression: device.drivr == 'gpu'}}]");
  cluster_.Create(kube::kDeviceClasses, wrong);
  cluster_.Create(kube::kResourceClaims, api_sim::FakeClaim("c", "wrong"));
  AddPod(api_sim::WithClaim(api_sim::FakePod("a"), "gpu", "c"));
  const std::string why = cluster_.WhyPending("a");
  EXPECT_THAT(why, StartsWith("SchedulerError: "));
  EXPECT_THAT(why, HasSubstr("drivr"));
  EXPECT_TRUE(cluster_.HasEvent("FailedScheduling", "a"));
}

TEST_F(SchedulerTest, PodsOfOtherSchedulersAndGatedOnesAreLeftAlone) {
  Json foreign = api_sim::FakePod("foreign");
  foreign["spec"]["schedulerName"] = "my-scheduler";
  AddPod(foreign);
  Json gated = api_sim::FakePod("gated");
  gated["spec"]["schedulingGates"] = api_sim::Yaml("[{name: x.io/hold}]");
  AddPod(gated);
  EXPECT_EQ(NodeOf("foreign"), "");
  EXPECT_EQ(NodeOf("gated"), "");
}

TEST_F(SchedulerTest, ATaintedDeviceIsNotHandedOut) {
  cluster_.Create(kube::kDeviceTaintRules, api_sim::Yaml(R"({apiVersion: resource.k8s.io/v1,
      kind: DeviceTaintRule, metadata: {name: broken}, spec: {deviceSelector: {device: gpu-0},
      taint: {key: example.com/broken, effect: NoSchedule}}})"));
  cluster_.Pass();
  AddGpuPod("a");
  const Json claim =
      cluster_.Claim(api_sim::PodClaims(cluster_.Pod("a")).at(0).object_name.value());
  EXPECT_EQ(HeldDevices(claim["status"]["allocation"]).at(0).device, "gpu-1");
  AddGpuPod("b");
  EXPECT_THAT(cluster_.WhyPending("b"), HasSubstr("1 in use, 1 tainted (example.com/broken)"));
  cluster_.Delete(kube::kDeviceTaintRules, "broken", "");
  cluster_.Pass();
  EXPECT_EQ(NodeOf("b"), "node-1");
}

TEST_F(SchedulerTest, ANodeThatIsNotReadyGetsNobodyUntilItIs) {
  ASSERT_TRUE(cluster_.app().nodes().SetReady("node-1", false).ok());
  cluster_.Pass();
  AddGpuPod("a");
  EXPECT_THAT(cluster_.WhyPending("a"), HasSubstr("not ready"));
  ASSERT_TRUE(cluster_.app().nodes().SetReady("node-1", true).ok());
  cluster_.Pass();
  EXPECT_EQ(NodeOf("a"), "node-1");
}

TEST_F(SchedulerTest, AMessageThatStaysTheSameIsWrittenOnce) {
  for (const char* name : {"a", "b", "c"}) AddGpuPod(name);
  const Json before = cluster_.Pod("c");
  cluster_.Create(kube::kDeviceClasses, api_sim::FakeClass("other", "x"));
  cluster_.Pass(std::chrono::minutes(1));
  EXPECT_EQ(cluster_.Pod("c"), before);
}

TEST_F(SchedulerTest, AClaimStuckOnANodeThatWillNotDoIsTakenBack) {
  FakeCluster cluster;
  cluster.AddClass("gpu", "gpu");
  cluster.Create(kube::kResourceClaims, api_sim::FakeClaim("c", "gpu"));
  const Json pod =
      cluster.Create(kube::kPods, api_sim::WithClaim(api_sim::FakePod("a"), "gpu", "c"));
  cluster.Pass();
  Json claim = cluster.Claim("c");
  claim["status"] = api_sim::Yaml(R"({allocation: {nodeSelector: {nodeSelectorTerms: [{matchFields:
      [{key: metadata.name, operator: In, values: [gone]}]}]},
      devices: {results: [{request: gpu, driver: gpu, pool: gone, device: gpu-0}]}}})");
  claim["status"]["reservedFor"] = Json::MakeArray(
      {Json::MakeObject({{"resource", "pods"}, {"name", "a"}, {"uid", api_sim::UidOf(pod)}})});
  ASSERT_TRUE(cluster.Do(kube::Update(kube::kResourceClaims, claim, "status")).ok());
  ASSERT_TRUE(cluster.app().nodes().Add({.name = "node-1"}).ok());
  cluster.AddSlice(api_sim::FakeSlice("gpu", "node-1", {"gpu-0"}));
  cluster.Pass();
  EXPECT_EQ(cluster.Pod("a")["spec"]["nodeName"].AsString(), "node-1");
  EXPECT_EQ(HeldDevices(cluster.Claim("c")["status"]["allocation"]).at(0).pool, "node-1");
}

// An answer that arrives late, in order.
class LateCall final : public net::HttpCall, net::HttpResponseSink {
 public:
  LateCall(Loop& loop, net::HttpClient& client, net::HttpRequest request,
           net::HttpResponseSink& sink)
      : loop_(loop), sink_(sink), inner_(client.Send(std::move(request), *this)) {}

 private:
  static constexpr Duration kDelay = std::chrono::milliseconds(150);

  void OnHead(int status, const net::Headers& headers) override {
    Later([this, status, headers] { sink_.OnHead(status, headers); });
  }
  void OnData(std::string_view bytes) override {
    Later([this, text = std::string(bytes)] { sink_.OnData(text); });
  }
  void OnEnd(const Status& status, const net::Headers& trailers) override {
    Later([this, status, trailers] { sink_.OnEnd(status, trailers); });
  }
  void Later(Task task) { parts_.push_back(loop_.After(kDelay, std::move(task))); }

  Loop& loop_;
  net::HttpResponseSink& sink_;
  std::vector<Timer> parts_;
  std::unique_ptr<net::HttpCall> inner_;
};

// Passes requests on; watches are late, and some writes or their answers are lost.
class LossyTransport final : public net::HttpClient {
 public:
  LossyTransport(Loop& loop, net::HttpClient& inner, Random& random)
      : loop_(loop), inner_(inner), random_(random) {}

  void Lose(double share) { share_ = share; }

  std::unique_ptr<net::HttpCall> Send(net::HttpRequest request,
                                      net::HttpResponseSink& sink) override {
    if (request.method == "GET") {
      return std::make_unique<LateCall>(loop_, inner_, std::move(request), sink);
    }
    if (!random_.Chance(share_)) return inner_.Send(std::move(request), sink);
    auto lost = std::make_unique<LostCall>();
    // Half of them arrive; only the answer is lost.
    if (random_.Chance(0.5)) lost->inner = inner_.Send(std::move(request), lost->deaf);
    lost->end = loop_.After(std::chrono::milliseconds(20),
                            [&sink] { sink.OnEnd(Unavailable("connection lost"), {}); });
    return lost;
  }

 private:
  struct DeafSink final : net::HttpResponseSink {
    void OnHead(int, const net::Headers&) override {}
    void OnData(std::string_view) override {}
    void OnEnd(const Status&, const net::Headers&) override {}
  };
  struct LostCall final : net::HttpCall {
    DeafSink deaf;
    std::unique_ptr<net::HttpCall> inner;
    Timer end;
  };

  Loop& loop_;
  net::HttpClient& inner_;
  Random& random_;
  double share_ = 0;
};

// Random Pods come and go while writes of the controllers get lost and their view lags.
class SchedulerStorm : public ::testing::TestWithParam<int> {
 protected:
  // No device may be in two claims, whatever got lost.
  void CheckDevices() {
    std::map<DeviceId, std::string> holders;
    for (const Json& claim : cluster_.List(kube::kResourceClaims)) {
      for (const DeviceId& device : HeldDevices(claim["status"]["allocation"])) {
        const auto [it, fresh] = holders.emplace(device, api_sim::KeyOf(claim).name);
        EXPECT_TRUE(fresh) << ToString(device) << " is held by " << it->second << " and "
                           << api_sim::KeyOf(claim).name;
      }
    }
  }
  void AddRandomPod(int number) {
    Json pod = api_sim::FakePod("pod-" + std::to_string(number));
    pod = random_.Chance(0.3)
              ? api_sim::WithClaim(pod, "gpu", random_.Chance(0.5) ? "red" : "blue")
              : api_sim::WithTemplate(pod, "gpu", random_.Chance(0.5) ? "one" : "two");
    cluster_.Create(kube::kPods, pod);
  }
  void DeleteRandomPod() {
    const std::vector<Json> pods = cluster_.List(kube::kPods);
    if (pods.empty()) return;
    const Json& pod = pods[random_.Below(pods.size())];
    if (!api_sim::IsBeingDeleted(pod))
      cluster_.Delete(kube::kPods, api_sim::KeyOf(pod).name, "default");
  }

  Random random_{static_cast<std::uint64_t>(GetParam())};
  FakeCluster cluster_{
      {.nodes = {{.name = "node-1"}, {.name = "node-2"}}, .run_controllers = false},
      static_cast<std::uint64_t>(GetParam())};
  api_sim::LocalTransport local_{cluster_.loop(), cluster_.app().api()};
  LossyTransport lossy_{cluster_.loop(), local_, random_};
  kube::Client client_{cluster_.loop(), lossy_};
  ClusterView view_{cluster_.loop(), client_, random_, NullLog()};
  ClaimController claims_{cluster_.loop(), view_, client_, random_, NullLog()};
  Scheduler scheduler_{cluster_.loop(), view_, client_, random_, NullLog()};
};

TEST_P(SchedulerStorm, NeverHandsADeviceOutTwiceAndSettlesInTheEnd) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  view_.Start();
  cluster_.AddClass("gpu", "gpu");
  for (const char* node : {"node-1", "node-2"}) {
    cluster_.AddSlice(api_sim::FakeSlice("gpu", node, {"gpu-0", "gpu-1", "gpu-2"}));
  }
  cluster_.Create(kube::kResourceClaimTemplates, api_sim::FakeTemplate("one", "gpu"));
  cluster_.Create(kube::kResourceClaimTemplates, api_sim::FakeTemplate("two", "gpu", 2));
  cluster_.Create(kube::kResourceClaims, api_sim::FakeClaim("red", "gpu"));
  cluster_.Create(kube::kResourceClaims, api_sim::FakeClaim("blue", "gpu", 2));
  lossy_.Lose(0.3);
  for (int step = 0; step < 40; ++step) {
    random_.Chance(0.6) ? AddRandomPod(step) : DeleteRandomPod();
    cluster_.Pass(std::chrono::milliseconds(random_.Below(200)));
    CheckDevices();
  }
  lossy_.Lose(0);
  cluster_.Pass(std::chrono::minutes(1));
  CheckDevices();
  for (const Json& pod : cluster_.List(kube::kPods)) {
    const bool bound = !pod["spec"]["nodeName"].AsString().empty();
    const Json& scheduled = api_sim::FindCondition(pod["status"]["conditions"], "PodScheduled");
    EXPECT_TRUE(bound || scheduled["reason"].AsString() == "Unschedulable") << pod.Dump();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SchedulerStorm, ::testing::Range(1, 9));

}  // namespace
}  // namespace galen::cluster_sim
