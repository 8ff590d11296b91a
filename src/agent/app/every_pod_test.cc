// Each kind of Pod of fake_pod_kinds.h in both roles: its device is shown wherever the API allows
// it. docs/guide/every-pod.md has the same kinds as a table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <tuple>

#include "agent/app/fake_pod_kinds.h"
#include "base/files/posix_file_system.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAreArray;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Lines = std::vector<std::string>;

// A name that the API server or a controller made up ends in "…" here.
std::string WithoutSuffix(std::string text) {
  for (const std::string begin : {"p-gpu-", "p-extended-resources-"}) {
    const std::size_t at = text.find(begin);
    if (at == std::string::npos) continue;
    const std::size_t end = std::min(text.find('/', at), text.size());
    text.replace(at + begin.size(), end - at - begin.size(), "…");
  }
  return text;
}

// "main claim:gpu gpu.example.com/gpu=gpu-0 Unhealthy: XID 79", one a line.
Lines EntriesOf(const Json& pod, const char* list) {
  Lines lines;
  for (const Json& status : pod["status"][list].items()) {
    for (const Json& entry : status["allocatedResourcesStatus"].items()) {
      for (const Json& resource : entry["resources"].items()) {
        const std::string& message = resource["message"].AsString();
        lines.push_back(status["name"].AsString() + " " + WithoutSuffix(entry["name"].AsString()) +
                        " " + resource["resourceID"].AsString() + " " +
                        resource["health"].AsString() + (message.empty() ? "" : ": " + message));
      }
    }
  }
  return lines;
}

// The lines that a manager writes once gpu-0 is lost; an observer leaves the lists to the kubelet.
Lines Expected(const Lines& entries, Role role) {
  Lines lines;
  if (role == Role::kObserver) return lines;
  for (const std::string& entry : entries) {
    const bool lost = entry.find("gpu-0") != std::string::npos;
    lines.push_back(entry + (lost ? " Unhealthy: XID 79" : " Healthy"));
  }
  return lines;
}

// Who uses gpu-0, as the node's object says: "pod container claim".
Lines UsedBy(const Json& node_health) {
  Lines lines;
  for (const Json& device : node_health["devices"].items()) {
    if (device["device"].AsString() != "gpu-0") continue;
    EXPECT_EQ(device["state"].AsString(), "Unhealthy");
    for (const Json& use : device["usedBy"].items()) {
      const std::string& container = use["container"].AsString();
      const std::string claim = WithoutSuffix(use["claim"].AsString());
      lines.push_back(use["pod"].AsString() + " " + (container.empty() ? "-" : container) + " " +
                      claim);
    }
  }
  return lines;
}

// Reasons of the Events on this very Pod.
Lines EventsOn(AgentNode& node, const std::string& uid) {
  Lines reasons;
  for (const Json& event : node.cluster.List(kube::kEvents)) {
    if (event["involvedObject"]["uid"].AsString() != uid) continue;
    if (event["source"]["component"].AsString() != "galen-agent") continue;
    reasons.push_back(event["reason"].AsString() + ": " + event["message"].AsString());
  }
  return reasons;
}

class EveryPod : public ::testing::TestWithParam<std::tuple<std::size_t, Role>> {};

TEST_P(EveryPod, ShowsItsDeviceWhereverTheApiAllowsIt) {
  const PodKind& kind = PodKinds()[std::get<0>(GetParam())];
  const Role role = std::get<1>(GetParam());
  PodScene scene(role);
  AgentNode& node = scene.node;
  kind.make(scene);
  node.Pass(5s);
  ASSERT_EQ(node.cluster.Pod("p")["status"]["phase"].AsString(), "Running")
      << node.cluster.WhyPending("p");
  ASSERT_EQ(node.Annotation("p"), "gpu-0 Healthy" + kind.tail);
  ASSERT_EQ(node.Condition("p"), "True AllHealthy");

  scene.gpus.Report({{.device = "gpu-0", .health = 2, .message = "XID 79", .code = "XidGpuLost"}});
  node.Pass(3s);

  const Json pod = node.cluster.Pod("p");
  EXPECT_THAT(node.Annotation("p"),
              AllOf(StartsWith("gpu-0 Unhealthy since "), EndsWith(": XID 79" + kind.tail)));
  EXPECT_EQ(node.Condition("p"), "False XidGpuLost");
  EXPECT_THAT(EventsOn(node, pod["metadata"]["uid"].AsString()),
              Contains(AllOf(StartsWith("DeviceUnhealthy: "), HasSubstr("gpu-0"))));
  EXPECT_THAT(EntriesOf(pod, "containerStatuses"), ElementsAreArray(Expected(kind.main, role)));
  EXPECT_THAT(EntriesOf(pod, "initContainerStatuses"), ElementsAreArray(Expected(kind.init, role)));
  EXPECT_THAT(EntriesOf(pod, "ephemeralContainerStatuses"), IsEmpty()) << "the API forbids it";
  EXPECT_THAT(UsedBy(node.NodeHealth()), ElementsAreArray(kind.used_by));
  for (const std::string& other : kind.others) {
    EXPECT_EQ(node.Condition(other), "False XidGpuLost") << other;
  }
  EXPECT_THAT(node.app->troubles(), IsEmpty()) << "no write was refused";
}

std::string NameOf(const ::testing::TestParamInfo<EveryPod::ParamType>& info) {
  std::string name;
  bool begins = true;
  for (const char c : PodKinds()[std::get<0>(info.param)].name) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) == 0) {
      begins = true;
      continue;
    }
    name += static_cast<char>(begins ? std::toupper(letter) : letter);
    begins = false;
  }
  return name + (std::get<1>(info.param) == Role::kManager ? "Manager" : "Observer");
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryPod,
                         ::testing::Combine(::testing::Range<std::size_t>(0, PodKinds().size()),
                                            ::testing::Values(Role::kObserver, Role::kManager)),
                         NameOf);

TEST(EveryPodGuide, HasARowForEachKind) {
  const std::string page =
      PosixFileSystem().Read(GALEN_SOURCE_DIR "/docs/guide/every-pod.md").value();
  for (const PodKind& kind : PodKinds()) {
    EXPECT_THAT(page, HasSubstr("\n| " + kind.name + " |")) << "docs/guide/every-pod.md";
  }
}

}  // namespace
}  // namespace galen::agent
