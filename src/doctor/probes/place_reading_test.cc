#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/probes/api_probe.h"

namespace galen::doctor {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Json Read(const char* text) {
  StatusOr<Json> json = Json::Parse(text);
  EXPECT_TRUE(json.ok()) << text;
  return json.ok() ? std::move(*json) : Json();
}

PodSeen PlaceOf(const char* spec) {
  PodSeen pod;
  ReadPlace(Read(spec), pod);
  return pod;
}

TEST(PlaceReading, APodThatMountsTheKubeletsRegistryIsADrivers) {
  EXPECT_TRUE(
      PlaceOf(R"({"volumes": [{"hostPath": {"path": "/var/lib/kubelet/plugins_registry"}}]})")
          .is_driver);
  EXPECT_TRUE(PlaceOf(R"({"volumes": [{"hostPath": {"path": "/var/lib/kubelet/device-plugins"}}]})")
                  .is_driver);
  EXPECT_FALSE(
      PlaceOf(R"({"volumes": [{"hostPath": {"path": "/var/log"}}, {"emptyDir": {}}]})").is_driver);
}

TEST(PlaceReading, ProbesBesideAVendorsDriverAreADriversToo) {
  EXPECT_TRUE(PlaceOf(R"({"volumes": [{"hostPath": {"path": "/run/galen/health"}}]})").is_driver);
}

TEST(PlaceReading, PriorityGraceAndTolerationsAreTheSpecs) {
  const PodSeen pod = PlaceOf(R"({"priority": 2000001000, "terminationGracePeriodSeconds": 600,
    "tolerations": [{"operator": "Exists"},
      {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute", "tolerationSeconds": 60}]})");
  EXPECT_EQ(pod.priority, 2'000'001'000);
  EXPECT_EQ(pod.grace, 10min);
  ASSERT_THAT(pod.tolerations, SizeIs(2));
  EXPECT_FALSE(pod.tolerations[0].lasts.has_value());
  EXPECT_EQ(pod.tolerations[1].lasts, Duration(60s));
  EXPECT_EQ(PlaceOf("{}").grace, 30s) << "as the API server has it by default";
}

TEST(PlaceReading, ContainersWithoutRequestsAreNamed) {
  EXPECT_THAT(PlaceOf(R"({"containers": [
      {"name": "a", "resources": {"requests": {"cpu": "10m"}}},
      {"name": "b", "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}}},
      {"name": "c"}]})")
                  .without_requests,
              ElementsAre("a", "c"));
  EXPECT_THAT(PlaceOf("{}").without_requests, IsEmpty());
}

TEST(PlaceReading, ADaemonSetSaysHowItReplacesItsPodsAndHowFarItIs) {
  const DaemonSetSeen set = ReadDaemonSet(Read(R"({"spec": {"updateStrategy": {
    "type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "20%"}}},
    "status": {"desiredNumberScheduled": 8, "updatedNumberScheduled": 3}})"));
  EXPECT_FALSE(set.by_hand);
  EXPECT_EQ(set.at_once, "20%");
  EXPECT_EQ(set.nodes, 8);
  EXPECT_EQ(set.updated, 3);
  EXPECT_EQ(ReadDaemonSet(Read(R"({"spec": {"updateStrategy": {"rollingUpdate": {
    "maxUnavailable": 4}}}})"))
                .at_once,
            "4");
  EXPECT_TRUE(ReadDaemonSet(Read(R"({"spec": {"updateStrategy": {"type": "OnDelete"}}})")).by_hand);
  EXPECT_EQ(ReadDaemonSet(Json()).at_once, "1");
}

}  // namespace
}  // namespace galen::doctor
