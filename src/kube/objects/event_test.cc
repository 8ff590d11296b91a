#include "kube/objects/event.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "kube/merge_patch.h"
#include "kube/test_json.h"

namespace galen::kube {
namespace {

using namespace std::chrono_literals;

const EventSubject kEventPod{.kind = "Pod", .key = {"train", "trainer-0"}, .uid = "u-1"};

Event DeviceUnhealthy() {
  Event event;
  event.key = EventKey(kEventPod, "DeviceUnhealthy", "gpu-3");
  event.subject = kEventPod;
  event.warning = true;
  event.reason = "DeviceUnhealthy";
  event.message = "XID 79: GPU has fallen off the bus";
  event.component = "galen-agent";
  event.host = "node-7";
  event.first = event.last = *ParseRfc3339("2026-11-21T14:02:11Z");
  return event;
}

TEST(EventKey, IsTheSameForTheSameThingAndDiffersOtherwise) {
  const ObjectKey key = EventKey(kEventPod, "DeviceUnhealthy", "gpu-3");
  EXPECT_EQ(key.ns, "train");
  EXPECT_TRUE(key.name.starts_with("trainer-0.")) << key.name;
  EXPECT_EQ(key, EventKey(kEventPod, "DeviceUnhealthy", "gpu-3"));
  EXPECT_NE(key, EventKey(kEventPod, "DeviceUnhealthy", "gpu-4"));
  EXPECT_NE(key, EventKey(kEventPod, "DeviceUnknown", "gpu-3"));
  EventSubject reborn = kEventPod;
  reborn.uid = "u-2";
  EXPECT_NE(key, EventKey(reborn, "DeviceUnhealthy", "gpu-3"));
}

TEST(EventKey, NeverChangesBetweenVersionsOfUs) {
  EXPECT_EQ(EventKey(kEventPod, "DeviceUnhealthy", "gpu-3").name, "trainer-0.1aa2e34839da50eb");
}

TEST(EventKey, IsANameThatKubernetesTakes) {
  EventSubject subject = kEventPod;
  subject.key.name = std::string(235, 'a') + "." + std::string(17, 'b');
  const ObjectKey key = EventKey(subject, "R", "");
  EXPECT_TRUE(IsDnsSubdomain(key.name)) << key.name;
}

TEST(EventKey, NodesHaveTheirEventsInDefault) {
  EXPECT_EQ(EventKey({.kind = "Node", .key = {"", "node-7"}, .uid = "node-7"}, "R", "").ns,
            "default");
}

TEST(Event, IsWrittenAsKubectlReadsIt) {
  EXPECT_EQ(EncodeEvent(DeviceUnhealthy()), JsonOf(R"({
    "apiVersion": "v1", "kind": "Event",
    "metadata": {"name": "trainer-0.1aa2e34839da50eb", "namespace": "train"},
    "involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": "trainer-0", "namespace": "train",
                       "uid": "u-1"},
    "type": "Warning", "reason": "DeviceUnhealthy",
    "message": "XID 79: GPU has fallen off the bus",
    "source": {"component": "galen-agent", "host": "node-7"},
    "count": 1, "firstTimestamp": "2026-11-21T14:02:11Z", "lastTimestamp": "2026-11-21T14:02:11Z"
  })"));
}

TEST(Event, ReadsBackAsItWasWritten) {
  Json object = EncodeEvent(DeviceUnhealthy());
  object["metadata"]["uid"] = "eu";
  EXPECT_EQ(*DecodeEvent(object), DeviceUnhealthy());
  EXPECT_FALSE(DecodeEvent(JsonOf("{}")).ok());
}

TEST(Event, OneOfTheNewerApiHasItsTimeElsewhere) {
  const StatusOr<Event> event = DecodeEvent(
      JsonOf(R"({"metadata":{"name":"e","uid":"u"},"eventTime":"2026-11-21T14:02:11.304000Z"})"));
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(FormatRfc3339(event->last, 3), "2026-11-21T14:02:11.304Z");
  EXPECT_EQ(event->count, 1);
}

TEST(Event, CutsALongMessage) {
  Event event = DeviceUnhealthy();
  event.message = std::string(5000, 'x');
  EXPECT_LE(EncodeEvent(event)["message"].AsString().size(), kEventMessageBytesMax);
}

TEST(Event, HappeningAgainCountsAndKeepsTheBeginning) {
  const Event before = DeviceUnhealthy();
  const WallTime later = before.last + 5min;
  const Event again = Again(before, 2, "XID 119: GSP", later);
  EXPECT_EQ(again.count, before.count + 2);
  EXPECT_EQ(again.first, before.first);
  EXPECT_EQ(again.last, later);
  EXPECT_EQ(again.key, before.key);

  const Json patch = EventPatch(before, again);
  EXPECT_EQ(patch, JsonOf(R"({"count":3,"lastTimestamp":"2026-11-21T14:07:11Z",
                              "message":"XID 119: GSP"})"));
  Json stored = EncodeEvent(before);
  EXPECT_EQ(ApplyMergePatch(stored, patch), OkStatus());
  EXPECT_EQ(stored, EncodeEvent(again));
}

}  // namespace
}  // namespace galen::kube
