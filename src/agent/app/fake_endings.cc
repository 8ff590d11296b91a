// Tested by post_mortem_test.cc and short_pods_test.cc.
#include "agent/app/fake_endings.h"

#include <gtest/gtest.h>

#include "history/post_mortem/post_mortem_store.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;

void PatchStatus(AgentNode& node, const std::string& pod, const Json& patch) {
  const auto request = kube::Patch(kube::kPods, "default", pod, kube::PatchType::kStrategic, patch,
                                   {.subresource = "status"});
  ASSERT_TRUE(node.cluster.Do(request).ok()) << pod;
}

void SetFinalizers(AgentNode& node, const std::string& pod, Json finalizers) {
  Json patch;
  patch["metadata"]["finalizers"] = std::move(finalizers);
  const auto request = kube::Patch(kube::kPods, "default", pod, kube::PatchType::kMerge, patch, {});
  ASSERT_TRUE(node.cluster.Do(request).ok()) << pod;
}

}  // namespace

FakeReport Well(const std::string& device) {
  return {.device = device, .timeout_seconds = kReportHoldsSeconds};
}

FakeReport Lost(const std::string& device, const std::string& message) {
  return {.device = device,
          .health = 2,
          .message = message,
          .timeout_seconds = kReportHoldsSeconds,
          .code = "XidGpuLost"};
}

void CrashContainer(AgentNode& node, const std::string& pod, int code, bool for_good) {
  Json ended = Json::MakeObject({{"exitCode", code},
                                 {"reason", "Error"},
                                 {"message", "Traceback:\n\tdevice \x1b[31mlost"},
                                 {"finishedAt", FormatRfc3339(node.cluster.loop().WallNow())}});
  Json status = api_sim::Yaml("{name: main, image: pause, imageID: \"\", ready: false}");
  status["restartCount"] = for_good ? 0 : 1;
  status[for_good ? "state" : "lastState"]["terminated"] = std::move(ended);
  if (!for_good) status["state"]["running"]["startedAt"] = "2026-11-21T14:00:09Z";
  Json patch;
  patch["status"]["containerStatuses"] = Json::MakeArray({std::move(status)});
  if (for_good) patch["status"]["phase"] = "Failed";
  PatchStatus(node, pod, patch);
}

void Hold(AgentNode& node, const std::string& pod) {
  SetFinalizers(node, pod, Json::MakeArray({Json("example.com/held")}));
}

void LetGo(AgentNode& node, const std::string& pod) { SetFinalizers(node, pod, Json()); }

void Succeed(AgentNode& node, const std::string& pod) {
  Json status = api_sim::Yaml("{name: main, image: pause, imageID: \"\", ready: false}");
  status["restartCount"] = 0;
  status["state"]["terminated"] =
      Json::MakeObject({{"exitCode", 0},
                        {"reason", "Completed"},
                        {"finishedAt", FormatRfc3339(node.cluster.loop().WallNow())}});
  Json patch;
  patch["status"]["containerStatuses"] = Json::MakeArray({std::move(status)});
  patch["status"]["phase"] = "Succeeded";
  PatchStatus(node, pod, patch);
}

void Evict(AgentNode& node, const std::string& pod) {
  PatchStatus(node, pod, api_sim::Yaml(R"({status: {phase: Failed, reason: Evicted,
      conditions: [{type: DisruptionTarget, status: "True", reason: TerminationByKubelet,
                    lastTransitionTime: "2026-11-21T14:00:09Z"}]}})"));
}

std::vector<history::PostMortem> RecordsOnDisk(AgentNode& node) {
  node.Pass(2s);
  node.KillAgent();
  const auto store =
      history::PostMortemStore::Open(node.files, {.directory = "/var/lib/galen/post-mortem"});
  return store.value()->All(node.cluster.loop().WallNow());
}

void GiveBack(AgentNode& node) {
  const Json nobody = api_sim::Yaml("{status: {reservedFor: null, allocation: null}}");
  for (const Json& claim : node.cluster.List(kube::kResourceClaims)) {
    const std::string& name = claim["metadata"]["name"].AsString();
    const auto given =
        node.cluster.Do(kube::Patch(kube::kResourceClaims, "default", name, kube::PatchType::kMerge,
                                    nobody, {.subresource = "status"}));
    EXPECT_TRUE(given.ok()) << ToString(given.status());
  }
}

}  // namespace galen::agent
