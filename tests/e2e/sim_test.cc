// galen-sim from outside, by our own client over TLS: works on every machine, kubectl or not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <optional>

#include "base/data/yaml.h"
#include "base/files/posix_file_system.h"
#include "kube/client.h"
#include "kube/request.h"
#include "kube/transport.h"
#include "tests/e2e/sim_cluster.h"

namespace galen::e2e {
namespace {

using ::testing::HasSubstr;

const kube::Resource kConfigMaps{"", "v1", "configmaps", "ConfigMap", true};

// Our client, let in by a kubeconfig.
class Visitor {
 public:
  Visitor(Stage& stage, const std::string& kubeconfig)
      : stage_(stage),
        dialer_(net::MakeDialer(stage.loop())),
        exec_(kube::MakeExecRunner(stage.loop())) {
    auto config = kube::LoadKubeconfig(files_, {}, {.path = kubeconfig, .context = ""});
    transport_ = kube::Transport::Create(stage.loop(), NullLog(), *dialer_, files_, *exec_,
                                         std::move(config).value())
                     .value();
    client_.emplace(stage.loop(), *transport_);
  }

  StatusOr<Json> Do(net::HttpRequest request) {
    std::optional<StatusOr<Json>> answer;
    const auto call = client_->Do(std::move(request),
                                  [&answer](StatusOr<Json> result) { answer = std::move(result); });
    stage_.Until([&answer] { return answer.has_value(); });
    return answer ? *std::move(answer) : DeadlineExceeded("no answer");
  }
  Json Create(const kube::Resource& resource, std::string_view yaml) {
    const std::string ns = resource.namespaced ? "default" : "";
    const StatusOr<Json> created = Do(kube::Create(resource, ns, ParseYaml(yaml).value()));
    EXPECT_TRUE(created.ok()) << ToString(created.status());
    return created.ok() ? *created : Json();
  }
  // Holds a watch of all Pods open; true once the server has begun to answer.
  bool HoldWatch() {
    watch_ = client_->Stream(kube::Watch(kube::kPods, "", {}), watch_sink_);
    return stage_.Until([this] { return watch_sink_.begun; });
  }
  Json Pod(const std::string& name) {
    const StatusOr<Json> pod = Do(kube::Get(kube::kPods, "default", name));
    return pod.ok() ? *pod : Json();
  }

 private:
  struct WatchSink final : net::HttpResponseSink {
    void OnHead(int, const net::Headers&) override { begun = true; }
    void OnData(std::string_view) override {}
    void OnEnd(const Status&, const net::Headers&) override {}
    bool begun = false;
  };

  Stage& stage_;
  PosixFileSystem files_;
  std::unique_ptr<net::Dialer> dialer_;
  std::unique_ptr<kube::ExecRunner> exec_;
  std::unique_ptr<kube::Transport> transport_;
  std::optional<kube::Client> client_;
  WatchSink watch_sink_;
  std::unique_ptr<net::HttpCall> watch_;
};

void CreateGpuPod(Visitor& visitor) {
  visitor.Create(kube::kDeviceClasses, R"({metadata: {name: gpu}, spec: {selectors: [
      {cel: {expression: 'device.driver == "gpu.example.com"'}}]}})");
  visitor.Create(kube::kResourceSlices, R"({metadata: {name: node-1-gpu}, spec: {
      driver: gpu.example.com, nodeName: node-1, devices: [{name: gpu-0}],
      pool: {name: node-1, generation: 1, resourceSliceCount: 1}}})");
  visitor.Create(kube::kResourceClaimTemplates, R"({metadata: {name: one}, spec: {spec: {devices: {
      requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}}})");
  visitor.Create(kube::kPods, R"({metadata: {name: trainer-0}, spec: {
      containers: [{name: main, image: pause, resources: {claims: [{name: gpu}]}}],
      resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]}})");
}

TEST(Sim, RunsAPodWithAClaimAndLetsItGo) {
  Stage stage;
  SimCluster cluster(stage, {"--nodes", "1"});
  ASSERT_TRUE(cluster.serves());
  Visitor visitor(stage, cluster.kubeconfig());
  CreateGpuPod(visitor);
  const auto phase = [&] { return visitor.Pod("trainer-0")["status"]["phase"].AsString(); };
  EXPECT_TRUE(stage.Until([&] { return phase() == "Running"; })) << phase();
  EXPECT_TRUE(visitor.Do(kube::Delete(kube::kPods, "default", "trainer-0")).ok());
  EXPECT_TRUE(stage.Until([&] { return visitor.Pod("trainer-0").is_null(); }));
}

TEST(Sim, TakesEveryKindOfPatch) {
  Stage stage;
  SimCluster cluster(stage, {});
  ASSERT_TRUE(cluster.serves());
  Visitor visitor(stage, cluster.kubeconfig());
  visitor.Create(kConfigMaps, "{metadata: {name: m}, data: {a: '1'}}");
  const auto patch = [&](kube::PatchType type, std::string_view yaml) {
    kube::PatchOptions options;
    if (type == kube::PatchType::kApply) options.field_manager = "tester";
    options.force = type == kube::PatchType::kApply;
    const StatusOr<Json> patched = visitor.Do(
        kube::Patch(kConfigMaps, "default", "m", type, ParseYaml(yaml).value(), options));
    return patched.ok() ? (*patched)["data"]["a"].AsString() : ToString(patched.status());
  };
  EXPECT_EQ(patch(kube::PatchType::kMerge, "{data: {a: merge}}"), "merge");
  EXPECT_EQ(patch(kube::PatchType::kJson, "[{op: replace, path: /data/a, value: json}]"), "json");
  EXPECT_EQ(patch(kube::PatchType::kStrategic, "{data: {a: strategic}}"), "strategic");
  EXPECT_EQ(patch(kube::PatchType::kApply,
                  "{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {a: apply}}"),
            "apply");
}

TEST(Sim, ItsKubeconfigIsForItsOwnerOnlyAndNobodyElseComesIn) {
  Stage stage;
  SimCluster cluster(stage, {});
  ASSERT_TRUE(cluster.serves());
  struct stat info = {};
  ASSERT_EQ(::stat(cluster.kubeconfig().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  std::string forged = stage.Read("kubeconfig");
  const auto token = forged.find("token: ");
  ASSERT_NE(token, std::string::npos);
  forged.replace(token + 7, 8, "00000000");
  Visitor stranger(stage, stage.Write("forged", forged));
  EXPECT_EQ(stranger.Do(kube::Get(kube::kNamespaces, "", "default")).status().code(),
            Code::kUnauthenticated);
}

TEST(Sim, KeepsWhatItKnowsOverAKillWithNine) {
  Stage stage;
  const std::string data = stage.Path("data");
  std::string uid;
  std::string server;
  {
    SimCluster cluster(stage, {"--nodes", "1", "--data", data});
    ASSERT_TRUE(cluster.serves());
    Visitor visitor(stage, cluster.kubeconfig());
    uid = visitor.Create(kConfigMaps, "{metadata: {name: m}}")["metadata"]["uid"].AsString();
    cluster.program().Signal(SIGKILL);
    ASSERT_TRUE(stage.Until([&] { return !cluster.program().running(); }));
  }
  ASSERT_TRUE(std::rename(stage.Path("kubeconfig").c_str(), stage.Path("old").c_str()) == 0);
  SimCluster cluster(stage, {"--nodes", "1", "--data", data});
  ASSERT_TRUE(cluster.serves()) << cluster.program().Log();
  Visitor visitor(stage, cluster.kubeconfig());
  const StatusOr<Json> map = visitor.Do(kube::Get(kConfigMaps, "default", "m"));
  ASSERT_TRUE(map.ok()) << ToString(map.status());
  EXPECT_EQ((*map)["metadata"]["uid"].AsString(), uid);
}

TEST(Sim, StopsWhenAskedEvenWhileSomebodyWatches) {
  Stage stage;
  SimCluster cluster(stage, {"--nodes", "1"});
  ASSERT_TRUE(cluster.serves());
  Visitor visitor(stage, cluster.kubeconfig());
  ASSERT_TRUE(visitor.HoldWatch());
  cluster.program().Signal(SIGTERM);
  EXPECT_TRUE(stage.Until([&] { return !cluster.program().running(); }, std::chrono::seconds(10)));
  EXPECT_EQ(cluster.program().exit_code(), 0);
}

TEST(Sim, RefusesBadFlagsWith64BeforeAnythingIsWritten) {
  Stage stage;
  const std::string sim = BuiltProgram("galen-sim");
  const std::string out = stage.Path("kubeconfig");
  const Outcome remote = stage.Run({sim, "--listen", "0.0.0.0:0", "--kubeconfig-out", out});
  EXPECT_EQ(remote.exit_code, 64);
  EXPECT_THAT(remote.error, HasSubstr("--allow-remote"));
  const Outcome unknown = stage.Run({sim, "--nonsense"});
  EXPECT_EQ(unknown.exit_code, 64);
  const Outcome name = stage.Run({sim, "--node", "No_Name", "--kubeconfig-out", out});
  EXPECT_EQ(name.exit_code, 64);
  EXPECT_FALSE(stage.HasFile("kubeconfig"));
}

}  // namespace
}  // namespace galen::e2e
