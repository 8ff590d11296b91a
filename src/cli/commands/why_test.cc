#include "cli/commands/why.h"

#include <gtest/gtest.h>

#include "protos/galen/inspect/v1/inspect.pb.h"

namespace galen::cli {
namespace {

TEST(Why, TakesAPodInTheThreeWaysPeopleWriteIt) {
  EXPECT_EQ(*ParsePod("trainer-0", "train"), (ObjectKey{"train", "trainer-0"}));
  EXPECT_EQ(*ParsePod("pod/trainer-0", "train"), (ObjectKey{"train", "trainer-0"}));
  EXPECT_EQ(*ParsePod("train/trainer-0", ""), (ObjectKey{"train", "trainer-0"}));
  EXPECT_EQ(*ParsePod("trainer-0", ""), (ObjectKey{"", "trainer-0"}));
}

TEST(Why, RefusesWhatNamesNoPod) {
  for (const std::string text : {"", "pod/", "a/b/c"}) {
    EXPECT_EQ(ParsePod(text, "").status().code(), Code::kInvalidArgument) << text;
  }
  const auto elsewhere = ParsePod("serve/llm-0", "train");
  ASSERT_FALSE(elsewhere.ok());
  EXPECT_NE(elsewhere.status().message().find("train"), std::string::npos);
}

TEST(Why, OfADeviceSaysWhoHoldsIt) {
  DeviceView held, idle;
  held.identity.id = {"gpu.example.com", "node-7", "gpu-1"};
  held.node = "node-7";
  held.holders = {{{"train", "trainer-0"}, "trainer-0-gpu", "gpu"}};
  idle.identity.id = {"gpu.example.com", "node-7", "gpu-2"};
  idle.node = "node-7";
  Fleet fleet;
  fleet.devices = {held, idle};
  EXPECT_EQ(DeviceHint(fleet, "gpu-1"),
            "; gpu-1 is a device of node-7 that Pod train/trainer-0 holds: `galen why "
            "train/trainer-0`");
  EXPECT_EQ(DeviceHint(fleet, "gpu-2"),
            "; gpu-2 is a device of node-7 that no Pod holds: `galen get devices gpu-2` shows it");
  EXPECT_EQ(DeviceHint(fleet, "trainer-1"), "");
  DeviceView other = held;
  other.identity.id.driver = "nic.example.com";
  fleet.devices.push_back(other);
  EXPECT_EQ(DeviceHint(fleet, "gpu-1"),
            "; gpu-1 is the name of 2 devices of node-7: `galen get devices gpu-1` lists who "
            "holds each");
  other.identity.id.pool = other.node = "node-8";
  fleet.devices.push_back(other);
  EXPECT_EQ(DeviceHint(fleet, "gpu-1"),
            "; gpu-1 is a device of 2 nodes: `galen get devices gpu-1` lists who holds each");
}

// A monitor of another namespace holds every GPU by admin access, and comes first by name.
TEST(Why, NamesOnlyTheClaimsThatThisPodReserves) {
  inspect::v1::Device device;
  device.set_device("gpu-1");
  const auto hold = [&](const char* ns, const char* pod, const char* uid, const char* claim) {
    inspect::v1::Holder& holder = *device.add_holders();
    holder.set_namespace_(ns);
    holder.set_pod(pod);
    holder.set_pod_uid(uid);
    holder.set_claim(claim);
  };
  hold("monitoring", "watcher-x", "m", "all-gpus");
  hold("train", "trainer-0", "old", "gpu-of-the-former-pod");
  hold("train", "trainer-0", "u", "trainer-0-share");
  hold("train", "trainer-0", "u", "trainer-0-gpu");
  hold("train", "trainer-0", "u", "trainer-0-gpu");  // by a second container
  hold("train", "trainer-1", "v", "trainer-1-gpu");
  EXPECT_EQ(FromProto(device, {{"train", "trainer-0"}, "u"}).claim,
            "trainer-0-gpu, trainer-0-share");
  EXPECT_EQ(FromProto(device, {{"monitoring", "watcher-x"}, ""}).claim, "all-gpus") << "is gone";
  EXPECT_EQ(FromProto(device, {{"train", "trainer-2"}, "w"}).claim, "") << "its claim is freed";
}

TEST(Why, TakesOfTheApiServerOnlyTheClaimsOfThisVeryPod) {
  DeviceView held, other;
  held.identity.id.device = "gpu-1";
  held.holders = {{{"monitoring", "watcher-x"}, "all-gpus", "gpu", "m"},
                  {{"train", "trainer-0"}, "gpu-of-the-former-pod", "gpu", "old"},
                  {{"train", "trainer-0"}, "trainer-0-gpu", "gpu", "u"},
                  {{"train", "trainer-0"}, "trainer-0-share", "gpu", "u"}};
  other.identity.id.device = "gpu-2";
  other.holders = {{{"train", "trainer-0"}, "gpu-of-the-former-pod", "gpu", "old"}};
  Fleet fleet;
  fleet.devices = {held, other};
  const auto devices = DevicesOf(fleet, {{"train", "trainer-0"}, "u"});
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].identity.id.device, "gpu-1");
  EXPECT_EQ(devices[0].claim, "trainer-0-gpu, trainer-0-share");
}

// A StatefulSet makes its Pods again under their names, and a Job is called as its Pod may be.
TEST(Why, TakesOnlyTheEventsOfThisVeryPod) {
  const Json pod = Json::Parse(R"({"metadata": {"name": "trainer-0", "uid": "u"}})").value();
  const auto event = [](const char* kind, const char* uid, const char* message, const char* time) {
    return Json::MakeObject(
        {{"involvedObject",
          Json::MakeObject({{"kind", kind}, {"name", "trainer-0"}, {"uid", uid}})},
         {"reason", "DeviceUnhealthy"},
         {"message", message},
         {"lastTimestamp", time}});
  };
  const std::vector<Json> events = {event("Pod", "u", "the second", "2026-11-21T14:02:12Z"),
                                    event("Pod", "of-the-former", "XID 79", "2026-11-21T13:00:00Z"),
                                    event("Job", "u", "of another kind", "2026-11-21T14:02:12Z"),
                                    event("Pod", "", "of nobody", "2026-11-21T14:02:12Z"),
                                    event("Pod", "u", "the first", "2026-11-21T14:02:11Z"),
                                    event("Pod", "u", "the third", "2026-11-21T14:02:12Z")};
  std::vector<std::string> texts;
  for (const ExplainedStep& step : StepsOf(events, pod)) texts.push_back(step.text);
  EXPECT_EQ(texts,
            (std::vector<std::string>{"DeviceUnhealthy: the first", "DeviceUnhealthy: the second",
                                      "DeviceUnhealthy: the third"}));
}

// The API has a mirror of it, with a UID of its own.
TEST(Why, TakesWhatTheKubeletSaysOfAStaticPod) {
  const Json pod = Json::Parse(R"({"metadata": {"name": "web-node-7", "uid": "u", "annotations":
      {"kubernetes.io/config.mirror": "hash"}}})")
                       .value();
  const Json pulled = Json::Parse(R"({"involvedObject": {"kind": "Pod", "uid": "hash"},
      "reason": "Pulled", "message": "", "lastTimestamp": "2026-11-21T14:02:11Z"})")
                          .value();
  EXPECT_EQ(StepsOf({pulled}, pod).size(), 1u);
}

TEST(Why, SaysWhyTheAgentWasNotAskedAndHowToAskIt) {
  kube::Pod pod;
  pod.meta.key = {"train", "trainer-0"};
  const Status refusal = PermissionDenied("the agent's socket /run/galen/agent.sock is root's");
  EXPECT_EQ(NoteOf(refusal, "node-7", CommandAtNode(pod, "galen-agent-x2v")),
            "The agent was not asked: the agent's socket /run/galen/agent.sock is root's. This is "
            "what the API server knows; the agent of node node-7 knows more:\n"
            "  kubectl -n galen-system exec galen-agent-x2v -- galen why -n train trainer-0");
  EXPECT_EQ(CommandAtNode(pod, ""),
            "kubectl -n galen-system exec AGENT-POD -- galen why -n train trainer-0");
  EXPECT_TRUE(NoteOf(refusal, "", "").ends_with("This is what the API server knows."));
}

TEST(Why, SaysToProgramsTooThatTheAnswerIsPartial) {
  Explanation explanation{
      .pod = {"serve", "llm-0"}, .node = "node-7", .devices = {}, .steps = {}, .note = ""};
  EXPECT_FALSE(ToJson(explanation).Has("note"));
  explanation.note = "The agent was not asked: no socket.";
  EXPECT_EQ(ToJson(explanation)["note"].AsString(), explanation.note);
}

TEST(Why, GivesProgramsTheVerdictWithItsEvidence) {
  Explanation explanation{
      .pod = {"train", "trainer-0"}, .node = "node-7", .devices = {}, .steps = {}, .note = ""};
  EXPECT_FALSE(ToJson(explanation).Has("verdict"));
  explanation.verdict = Verdict{.kind = VerdictKind::kApplication,
                                .confidence = 0.85,
                                .supporting = {{.rule = "program-fault",
                                                .supports = VerdictKind::kApplication,
                                                .weight = 0.85,
                                                .sentence = "the program's own fault"}},
                                .opposing = {}};
  const Json verdict = ToJson(explanation)["verdict"];
  EXPECT_EQ(verdict["kind"].AsString(), "Application");
  EXPECT_EQ(verdict["summary"].AsString(), "application (0.85): the program's own fault");
  EXPECT_EQ(verdict["supporting"][0]["rule"].AsString(), "program-fault");
}

TEST(Why, GivesProgramsTheDeviceAndTheSentenceOfEachStep) {
  const Explanation explanation{.pod = {"serve", "llm-0"},
                                .node = "node-7",
                                .devices = {},
                                .steps = {{.time = *ParseRfc3339("2026-11-21T14:02:11Z"),
                                           .kind = "change",
                                           .text = "Healthy → Unhealthy",
                                           .source = "gpu.example.com, report 8",
                                           .device = "gpu.example.com/node-7/gpu-3",
                                           .message = "XID 79: GPU has fallen off the bus"},
                                          {.time = *ParseRfc3339("2026-11-21T14:02:12Z"),
                                           .kind = "event",
                                           .text = "Scheduled",
                                           .source = "scheduler",
                                           .to_the_second = true}},
                                .note = ""};
  const Json json = ToJson(explanation);
  EXPECT_EQ(json["steps"][0]["device"].AsString(), "gpu.example.com/node-7/gpu-3");
  EXPECT_EQ(json["steps"][0]["message"].AsString(), "XID 79: GPU has fallen off the bus");
  EXPECT_EQ(json["steps"][1]["time"].AsString(), "2026-11-21T14:02:12Z");
  EXPECT_EQ(json["steps"][1]["device"].AsString(), "") << "of no single device";
}

}  // namespace
}  // namespace galen::cli
