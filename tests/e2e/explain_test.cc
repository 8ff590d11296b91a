// `galen explain` against a cluster: before and after the scheduler decided.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/fleet_stage.h"

namespace galen::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kTemplate = R"({apiVersion: resource.k8s.io/v1,
    kind: ResourceClaimTemplate, metadata: {name: one, namespace: default}, spec: {spec: {devices:
    {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}}})";
constexpr std::string_view kPod = R"({apiVersion: v1, kind: Pod, metadata: {name: NAME, namespace:
    default}, spec: {containers: [{name: c, image: pause, resources: {claims: [{name: gpu}]}}],
    resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]}})";

// A node with one GPU.
class ExplainTest : public ::testing::Test {
 protected:
  ExplainTest() {
    fleet_.Create(kube::kDeviceClasses, "", R"({metadata: {name: gpu}, spec: {selectors:
        [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}})");
    fleet_.Create(kube::kResourceSlices, "", R"({metadata: {name: s}, spec: {driver:
        gpu.example.com, nodeName: node-1, pool: {name: node-1, generation: 1, resourceSliceCount:
        1}, devices: [{name: gpu-0}]}})");
  }
  static std::string PodNamed(const std::string& name) {
    std::string text(kPod);
    return text.replace(text.find("NAME"), 4, name);
  }
  Outcome Explain(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "explain");
    return fleet_.Galen(arguments);
  }

  FleetStage fleet_{{"--nodes", "1"}};
};

TEST_F(ExplainTest, SaysBeforeAnythingIsAppliedWhereItWouldGo) {
  const std::string file =
      fleet_.stage().Write("pod.yaml", std::string(kTemplate) + "\n---\n" + PodNamed("early"));
  const Outcome end = Explain({"-f", file});
  EXPECT_EQ(end.exit_code, 0) << end.error;
  EXPECT_EQ(end.output,
            "Pod default/early can be placed now: on node-1; on node-1 it would get gpu-0.\n");
}

TEST_F(ExplainTest, NamesWhoHoldsTheDevicesAndWhatWouldHelp) {
  fleet_.Create(kube::kResourceClaimTemplates, "default", std::string(kTemplate));
  fleet_.Create(kube::kPods, "default", PodNamed("first"));
  ASSERT_TRUE(fleet_.GalenSays({"explain", "pod", "first"}, "is on node-1 already"));
  const auto placed = Json::Parse(fleet_.Galen({"-o", "json", "explain", "pod", "first"}).output);
  ASSERT_TRUE(placed.ok());
  EXPECT_EQ((*placed)["prospect"].AsString(), "Placed");
  EXPECT_EQ(Explain({"pod", "first", "--if", "drain=node-1"}).exit_code, 64);
  fleet_.Create(kube::kPods, "default", PodNamed("second"));
  const Outcome end = Explain({"pod", "second"});
  EXPECT_EQ(end.exit_code, 2) << end.error;
  EXPECT_THAT(end.output, AllOf(StartsWith("Pod default/second cannot be placed now.\n"),
                                HasSubstr("1  held by other claims  default/first\n"),
                                HasSubstr("would fit if    default/first ends\n")));
  const auto json = Json::Parse(fleet_.Galen({"-o", "json", "explain", "pod", "second"}).output);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ((*json)["prospect"].AsString(), "Later");
  EXPECT_EQ((*json)["requests"][0]["steps"][0]["code"].AsString(), "InUse");
}

TEST_F(ExplainTest, SaysWhatADrainWouldCostAndThatOneMoreNodeMendsIt) {
  fleet_.Create(kube::kResourceClaimTemplates, "default", std::string(kTemplate));
  fleet_.Create(kube::kPods, "default", PodNamed("first"));
  ASSERT_TRUE(fleet_.GalenSays({"explain", "pod", "first"}, "is on node-1 already"));
  const Outcome cost = Explain({"--if", "quarantine=gpu.example.com/node-1/gpu-0"});
  EXPECT_EQ(cost.exit_code, 2) << cost.error;
  EXPECT_THAT(cost.output,
              AllOf(HasSubstr("1 claim loses devices, and others were found for 0 of them"),
                    HasSubstr("default/first")));
  EXPECT_EQ(Explain({"--if", "drain=node-1", "--if", "add-node=node-1"}).exit_code, 0);
  const std::string file = fleet_.stage().Write("pod.yaml", PodNamed("second"));
  EXPECT_EQ(Explain({"-f", file}).exit_code, 2);
  EXPECT_EQ(Explain({"-f", file, "--if", "delete=default/first"}).exit_code, 0);
  EXPECT_EQ(Explain({"--if", "drain=nowhere"}).exit_code, 1);
}

TEST_F(ExplainTest, AWrongUseIsSixtyFourAndWhatIsMissingIsNamed) {
  EXPECT_EQ(Explain({}).exit_code, 64);
  EXPECT_EQ(Explain({"node", "x"}).exit_code, 64);
  EXPECT_EQ(Explain({"pod", "x", "-f", "y"}).exit_code, 64);
  EXPECT_EQ(Explain({"-f", "/nowhere.yaml"}).exit_code, 64);
  EXPECT_EQ(Explain({"-f", "/tmp"}).exit_code, 64);
  EXPECT_EQ(Explain({"-f", fleet_.stage().Write("scalar.yaml", "hello")}).exit_code, 64);
  EXPECT_EQ(Explain({"--if", "explode=node-1"}).exit_code, 64);
  const Outcome missing = Explain({"claim", "nope"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.error, HasSubstr("no ResourceClaim nope in any namespace"));
}

}  // namespace
}  // namespace galen::e2e
