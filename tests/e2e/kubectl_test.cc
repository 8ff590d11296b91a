// Real kubectl, every version that this machine has, against a real galen-sim. sim_test.cc takes
// the same steps by our own client, also where there is no kubectl.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "base/data/json.h"
#include "cli/demo/embedded.h"
#include "tests/e2e/sim_cluster.h"

namespace galen::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kManifest = R"(
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-1-gpu}
spec:
  driver: gpu.example.com
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}, {name: gpu-1}]
---
apiVersion: v1
kind: Pod
metadata: {name: trainer-0, labels: {app: trainer}}
spec:
  containers:
  - {name: train, image: registry.example.com/train, resources: {claims: [{name: gpu}]}}
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]
---
apiVersion: v1
kind: Pod
metadata: {name: web-0, labels: {app: web}}
spec: {containers: [{name: web, image: registry.example.com/web}]}
)";

constexpr const char* kDefinition = R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: racks.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: racks, singular: rack, kind: Rack, shortNames: [rk]}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {slots: {type: integer}, row: {type: string}}
    additionalPrinterColumns:
    - {name: Row, type: string, jsonPath: .spec.row}
    - {name: Slots, type: integer, jsonPath: .spec.slots}
)";

// One kubectl and a cluster with one node.
class KubectlTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam().empty()) GTEST_SKIP() << "the API under a real kubectl: none is on PATH";
    ASSERT_TRUE(cluster_.serves()) << cluster_.program().Log();
  }

  Outcome Kubectl(std::vector<std::string> arguments) {
    return cluster_.Kubectl(GetParam(), std::move(arguments));
  }
  // Its standard output; a failure of the test when it does not succeed.
  std::string Ok(std::vector<std::string> arguments) {
    const std::string command = ::testing::PrintToString(arguments);
    const Outcome outcome = Kubectl(std::move(arguments));
    EXPECT_EQ(outcome.exit_code, 0) << GetParam() << " " << command << "\n"
                                    << outcome.output << outcome.error;
    return outcome.output;
  }
  void ApplyManifest() {
    Ok({"apply", "-f", stage_.Write("manifest.yaml", kManifest)});
    Ok({"wait", "--for=condition=Ready", "pod/trainer-0", "pod/web-0", "--timeout=20s"});
  }

  Stage stage_;
  SimCluster cluster_{stage_, {"--nodes", "1"}};
};

TEST_P(KubectlTest, AppliesAManifestAndItsPodsRun) {
  EXPECT_THAT(Ok({"apply", "-f", stage_.Write("manifest.yaml", kManifest)}),
              AllOf(HasSubstr("deviceclass.resource.k8s.io/gpu created"),
                    HasSubstr("pod/trainer-0 created")));
  EXPECT_THAT(Ok({"wait", "--for=condition=Ready", "pod/trainer-0", "--timeout=20s"}),
              HasSubstr("condition met"));
  EXPECT_THAT(Ok({"apply", "-f", stage_.Path("manifest.yaml")}),
              AllOf(HasSubstr("pod/trainer-0 unchanged"), Not(HasSubstr("created"))));
}

TEST_P(KubectlTest, ShowsPodsInEveryFormat) {
  ApplyManifest();
  EXPECT_THAT(Ok({"get", "pods"}), HasSubstr("trainer-0   1/1     Running   0"));
  EXPECT_THAT(Ok({"get", "pods", "-o", "wide"}), HasSubstr("node-1"));
  const StatusOr<Json> pod = Json::Parse(Ok({"get", "pod", "trainer-0", "-o", "json"}));
  ASSERT_TRUE(pod.ok()) << pod.status().message();
  EXPECT_EQ((*pod)["status"]["phase"].AsString(), "Running");
  EXPECT_THAT(Ok({"get", "pod", "trainer-0", "-o", "yaml"}), HasSubstr("  phase: Running\n"));
  EXPECT_EQ(Ok({"get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}"}), "node-1 node-1");
  EXPECT_EQ(Ok({"get", "pods", "-l", "app=web", "-o", "name"}), "pod/web-0\n");
  EXPECT_THAT(Ok({"get", "resourceclaims"}), HasSubstr("allocated,reserved"));
}

TEST_P(KubectlTest, DescribesAPodWithItsEvents) {
  ApplyManifest();
  EXPECT_THAT(Ok({"describe", "pod", "trainer-0"}),
              AllOf(HasSubstr("Node:             node-1/10.64.0.1"),
                    HasSubstr("Successfully assigned default/trainer-0 to node-1")));
  EXPECT_THAT(Ok({"get", "events"}), HasSubstr("Scheduled"));
}

// By the OpenAPI document that the server makes of its kinds, our own definition among them.
TEST_P(KubectlTest, ExplainsBuiltInKindsAndOurDefinition) {
  EXPECT_THAT(Ok({"explain", "pod.spec.resourceClaims"}), HasSubstr("resourceClaimTemplateName"));
  Ok({"apply", "-f", stage_.Write("definition.yaml", std::string(cli::kDeviceHealthCrd))});
  EXPECT_TRUE(stage_.Until([&] {
    return Kubectl({"explain", "nodedevicehealths.status.summary"})
               .output.find("How many devices are in which state") != std::string::npos;
  })) << Kubectl({"explain", "nodedevicehealths.status.summary"}).error;
}

TEST_P(KubectlTest, ShowsWhyAPodWaits) {
  std::string clever = kManifest;
  clever.replace(clever.find("device.driver =="), 16, "device.driver !=");
  Ok({"apply", "-f", stage_.Write("clever.yaml", clever)});
  EXPECT_TRUE(stage_.Until([&] {
    return Kubectl({"describe", "pod", "trainer-0"}).output.find("FailedScheduling") !=
           std::string::npos;
  }));
  EXPECT_THAT(Ok({"get", "pod", "trainer-0", "-o", "jsonpath={.status.conditions[*].message}"}),
              HasSubstr("request gpu: 1 wanted, 0 of 2 devices to be had (2 not of the class)"));
}

TEST_P(KubectlTest, AppliesOnTheServerAndRespectsOtherOwners) {
  const std::string map =
      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: \"1\"}\n";
  const std::string path = stage_.Write("map.yaml", map);
  Ok({"apply", "--server-side", "-f", path});
  std::string changed = map;
  changed.replace(changed.find("\"1\""), 3, "\"2\"");
  stage_.Write("map.yaml", changed);
  const Outcome conflict = Kubectl({"apply", "--server-side", "--field-manager=other", "-f", path});
  EXPECT_NE(conflict.exit_code, 0);
  EXPECT_THAT(conflict.error, HasSubstr("conflict"));
  Ok({"apply", "--server-side", "--field-manager=other", "--force-conflicts", "-f", path});
  EXPECT_EQ(Ok({"get", "configmap", "m", "-o", "jsonpath={.data.a}"}), "2");
}

TEST_P(KubectlTest, PatchesInThreeWaysAndLabels) {
  ApplyManifest();
  Ok({"patch", "pod", "web-0", "--type=merge", "-p", R"({"metadata":{"labels":{"by":"merge"}}})"});
  EXPECT_EQ(Ok({"get", "pod", "web-0", "-o", "jsonpath={.metadata.labels.by}"}), "merge");
  Ok({"patch", "pod", "web-0", "--type=json", "-p",
      R"([{"op":"replace","path":"/metadata/labels/by","value":"json"}])"});
  EXPECT_EQ(Ok({"get", "pod", "web-0", "-o", "jsonpath={.metadata.labels.by}"}), "json");
  Ok({"patch", "pod", "web-0", "--type=strategic", "-p",
      R"({"spec":{"containers":[{"name":"web","image":"registry.example.com/new"}]}})"});
  EXPECT_EQ(Ok({"get", "pod", "web-0", "-o", "jsonpath={.spec.containers[*].image}"}),
            "registry.example.com/new");
  Ok({"label", "pod", "web-0", "tier=front"});
  Ok({"annotate", "pod", "web-0", "note=kept"});
  EXPECT_EQ(Ok({"get", "pods", "-l", "tier=front", "-o", "name"}), "pod/web-0\n");
}

TEST_P(KubectlTest, DeletesAPodWithGraceAndItsClaimGoesToo) {
  ApplyManifest();
  EXPECT_THAT(Ok({"delete", "pod", "trainer-0", "--grace-period=5"}), HasSubstr("deleted"));
  EXPECT_NE(Kubectl({"get", "pod", "trainer-0"}).exit_code, 0);
  EXPECT_TRUE(stage_.Until([&] { return Ok({"get", "resourceclaims", "-o", "name"}).empty(); }));
}

TEST_P(KubectlTest, KnowsTheKindsAndTakesNewOnes) {
  EXPECT_THAT(Ok({"api-resources"}),
              AllOf(HasSubstr("resourceclaimtemplates"), HasSubstr("devicetaintrules")));
  Ok({"apply", "-f", stage_.Write("crd.yaml", kDefinition)});
  Ok({"wait", "--for=condition=Established", "crd/racks.example.com", "--timeout=20s"});
  Ok({"apply", "-f",
      stage_.Write("rack.yaml",
                   "apiVersion: example.com/v1\nkind: Rack\nmetadata: {name: r1}\n"
                   "spec: {row: north, slots: 8}\n")});
  const std::string table = Ok({"get", "rk"});
  EXPECT_THAT(table, HasSubstr("NAME   ROW     SLOTS"));
  EXPECT_THAT(table, HasSubstr("r1     north   8"));
}

TEST_P(KubectlTest, WatchesWhatHappensFromNowOn) {
  ApplyManifest();
  Program& watch = stage_.Start(
      GetParam(), {"get", "pods", "--watch-only", "--request-timeout=20s"},
      {.environment = {"KUBECONFIG=" + cluster_.kubeconfig(), "HOME=" + stage_.directory()}});
  // The watch has begun once a change is seen; until then the label is changed again and again.
  int number = 0;
  EXPECT_TRUE(stage_.Until([&] {
    Ok({"label", "pod", "web-0", "--overwrite", "n=" + std::to_string(++number)});
    return watch.Log().find("web-0") != std::string::npos;
  }));
  EXPECT_THAT(watch.Log(), Not(HasSubstr("trainer-0")));
  watch.Signal(SIGKILL);
}

// Without kubectl each test is counted once, as not run.
std::vector<std::string> KubectlsOrNone() {
  std::vector<std::string> found = FindKubectls();
  if (found.empty()) found.emplace_back();
  return found;
}

INSTANTIATE_TEST_SUITE_P(Versions, KubectlTest, ::testing::ValuesIn(KubectlsOrNone()),
                         [](const auto& test) {
                           std::string name = std::filesystem::path(test.param).filename();
                           for (char& c : name) {
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           }
                           return name.empty() ? "none" : name;
                         });

}  // namespace
}  // namespace galen::e2e
