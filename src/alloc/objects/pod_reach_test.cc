#include "alloc/objects/pod_reach.h"

#include <gtest/gtest.h>

namespace galen::alloc {
namespace {

class PodReachTest : public ::testing::Test {
 protected:
  Json node_ = Json::Parse(R"({"metadata": {"name": "n", "labels": {"zone": "a"}}, "spec": {},
      "status": {"conditions": [{"type": "DiskPressure", "status": "False"},
                                {"type": "Ready", "status": "True"}]}})")
                   .value();

  std::string Refusal(std::string_view pod_spec = "{}") const {
    const Json pod = Json::MakeObject({{"spec", Json::Parse(pod_spec).value()}});
    return RefusalOf(ReadPodReach(pod), ReadNodeState(node_));
  }
  void Taint(const std::string& key, const std::string& effect) {
    node_["spec"]["taints"].Append(
        Json::MakeObject({{"key", key}, {"value", "v"}, {"effect", effect}}));
  }
};

TEST_F(PodReachTest, AReadyNodeTakesAPodThatAsksForNothing) { EXPECT_EQ(Refusal(), ""); }

TEST_F(PodReachTest, ANodeThatIsNotReadyOrCordonedTakesNobody) {
  node_["spec"]["unschedulable"] = true;
  EXPECT_EQ(Refusal(), "cordoned");
  node_["status"]["conditions"].MutableItems()[1]["status"] = "Unknown";
  EXPECT_EQ(Refusal(), "not ready");
  node_["status"] = Json();
  EXPECT_EQ(Refusal(), "not ready");
}

TEST_F(PodReachTest, ATaintNeedsItsToleration) {
  Taint("k", "NoSchedule");
  EXPECT_EQ(Refusal(), "untolerated taint k");
  EXPECT_EQ(Refusal(R"({"tolerations": [{"key": "k", "operator": "Exists"}]})"), "");
  EXPECT_EQ(Refusal(R"({"tolerations": [{"key": "k", "value": "v"}]})"), "");
  EXPECT_EQ(Refusal(R"({"tolerations": [{"key": "k", "value": "w"}]})"), "untolerated taint k");
  EXPECT_EQ(Refusal(R"({"tolerations": [{"operator": "Exists", "effect": "NoExecute"}]})"),
            "untolerated taint k");
}

TEST_F(PodReachTest, ATaintOfWhichOnlyTheSecondIsToleratedRefuses) {
  Taint("a", "NoExecute");
  Taint("b", "NoSchedule");
  EXPECT_EQ(Refusal(R"({"tolerations": [{"key": "b", "operator": "Exists"}]})"),
            "untolerated taint a");
}

TEST_F(PodReachTest, PreferencesKeepNobodyAway) {
  Taint("k", "PreferNoSchedule");
  EXPECT_EQ(Refusal(), "");
}

TEST_F(PodReachTest, LabelsAndAffinityMustBothMatch) {
  constexpr std::string_view kOther = "not among the nodes the Pod selects";
  EXPECT_EQ(Refusal(R"({"nodeSelector": {"zone": "a"}})"), "");
  EXPECT_EQ(Refusal(R"({"nodeSelector": {"zone": "b"}})"), kOther);
  EXPECT_EQ(Refusal(R"({"nodeSelector": {"zone": "a", "rack": "1"}})"), kOther);
  const std::string affinity = R"("affinity": {"nodeAffinity": {
      "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
      {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["VALUE"]}]}]}}})";
  const auto with = [&](const std::string& value) {
    std::string text = affinity;
    return "{" + text.replace(text.find("VALUE"), 5, value) + "}";
  };
  EXPECT_EQ(Refusal(with("a")), "");
  EXPECT_EQ(Refusal(with("c")), kOther);
}

TEST_F(PodReachTest, ASelectorThatCannotBeEvaluatedMatchesNoNode) {
  EXPECT_EQ(Refusal(R"({"affinity": {"nodeAffinity": {
      "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
      {"matchExpressions": [{"key": "zone", "operator": "Near", "values": ["a"]}]}]}}}})"),
            "not among the nodes the Pod selects");
}

TEST_F(PodReachTest, ClaimsThatHaveDevicesBindThePodOnlyAfterAllElse) {
  PodReach reach;
  NodeSelectorTerm zone;
  zone.expressions.push_back(
      {.key = "zone", .op = NodeRequirement::Operator::kIn, .values = {"b"}});
  reach.held = {{.terms = {zone}}};
  EXPECT_EQ(RefusalOf(reach, ReadNodeState(node_)),
            "not where its other claims have their devices");
  EXPECT_EQ(RefusalBeforeClaims(reach, ReadNodeState(node_)), "");
}

}  // namespace
}  // namespace galen::alloc
