#include <gtest/gtest.h>

#include "api_sim/serving/fake_api_client.h"
#include "api_sim/storage/presentation.h"

namespace galen::api_sim {
namespace {

class TableTest : public testing::Test {
 protected:
  Json Cell(const char* group, const char* plural, const char* column, std::string_view object) {
    const KindRef kind = kinds_.Find(group, "v1", plural);
    const Json cells = TableCells(*kind, ToJson(object), now_);
    for (std::size_t i = 0; i < kind->columns.size(); ++i) {
      if (kind->columns[i].name == column) return cells[i];
    }
    return "no such column";
  }
  Json Pod(const char* column, std::string_view object) { return Cell("", "pods", column, object); }
  Json Node(const char* column, std::string_view object) {
    return Cell("", "nodes", column, object);
  }

  KindTable kinds_;
  WallTime now_ = ParseRfc3339("2026-11-21T14:02:00Z").value();
};

TEST_F(TableTest, APodsStatusIsItsWorstNews) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"status": {"phase": "Running"}})", "Running"},
      {R"({"status": {"phase": "Failed", "reason": "Evicted"}})", "Evicted"},
      {R"({"status": {"phase": "Running"}, "metadata": {"deletionTimestamp": "x"}})",
       "Terminating"},
      {R"({"status": {"containerStatuses": [{"state": {"terminated": {"exitCode": 3}}}]}})",
       "ExitCode:3"},
      {R"({"status": {"containerStatuses": [{"state": {"terminated": {"signal": 9}}}]}})",
       "Signal:9"},
      {R"({"spec": {"initContainers": [{}, {}]}, "status": {"initContainerStatuses": [
           {"state": {"terminated": {"exitCode": 0}}}, {"state": {"running": {}}}]}})",
       "Init:1/2"},
      {R"({"spec": {"initContainers": [{}]}, "status": {"initContainerStatuses": [
           {"state": {"waiting": {"reason": "ImagePullBackOff"}}}]}})",
       "Init:ImagePullBackOff"}};
  for (const auto& [pod, status] : cases) EXPECT_EQ(Pod("Status", pod).AsString(), status) << pod;
}

TEST_F(TableTest, RestartsSayWhenTheLastOneWas) {
  EXPECT_EQ(Pod("Restarts", R"({"status": {"containerStatuses": [
      {"restartCount": 2, "lastState": {"terminated": {"finishedAt": "2026-11-21T14:01:30Z"}}},
      {"restartCount": 1}]}})")
                .AsString(),
            "3 (30s ago)");
  EXPECT_EQ(Pod("Restarts", "{}").AsString(), "0");
}

TEST_F(TableTest, ANodeIsReadyOrNotAndMayBeCordoned) {
  constexpr const char* kReady =
      R"({"status": {"conditions": [{"type": "Ready", "status": "True"}]},
          "metadata": {"labels": {"node-role.kubernetes.io/worker": ""}}})";
  EXPECT_EQ(Node("Status", kReady).AsString(), "Ready");
  EXPECT_EQ(Node("Roles", kReady).AsString(), "worker");
  EXPECT_EQ(Node("Status", R"({"spec": {"unschedulable": true}})").AsString(),
            "Unknown,SchedulingDisabled");
  EXPECT_EQ(Node("Internal-IP",
                 R"({"status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}})")
                .AsString(),
            "10.0.0.1");
}

TEST_F(TableTest, AnEventSaysWhenAndAboutWhat) {
  constexpr const char* kEvent = R"({"lastTimestamp": "2026-11-21T14:00:00Z", "count": 4,
      "involvedObject": {"kind": "Pod", "name": "p"}, "source": {"component": "c", "host": "h"}})";
  EXPECT_EQ(Cell("", "events", "Last Seen", kEvent).AsString(), "2m");
  EXPECT_EQ(Cell("", "events", "Object", kEvent).AsString(), "pod/p");
  EXPECT_EQ(Cell("", "events", "Source", kEvent).AsString(), "c, h");
  EXPECT_EQ(Cell("", "events", "Count", kEvent).AsInt(), 4);
}

TEST_F(TableTest, AClaimIsPendingAllocatedOrReserved) {
  const auto state = [this](std::string_view claim) {
    return Cell("resource.k8s.io", "resourceclaims", "State", claim).AsString();
  };
  EXPECT_EQ(state("{}"), "pending");
  EXPECT_EQ(state(R"({"status": {"allocation": {}}})"), "allocated");
  EXPECT_EQ(state(R"({"status": {"allocation": {}, "reservedFor": [{}]}})"), "allocated,reserved");
}

}  // namespace
}  // namespace galen::api_sim
