#include "kube/objects/node_device_health.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/data/yaml.h"
#include "base/files/posix_file_system.h"
#include "kube/resource.h"
#include "kube/test_json.h"

namespace galen::kube {
namespace {

using namespace std::chrono_literals;

WallTime At(std::string_view time) { return *ParseRfc3339(time); }

NodeDevice Gpu(std::string name, HealthState state) {
  NodeDevice device;
  device.identity.id = {"gpu.example.com", "node-7", std::move(name)};
  device.state = state;
  return device;
}

// One with every part set.
NodeDeviceHealth Full() {
  NodeDevice lost = Gpu("gpu-3", HealthState::kUnhealthy);
  lost.identity.serial = "1653922005112";
  lost.identity.model = "H200";
  lost.since = At("2026-11-21T14:02:11.304Z");
  lost.cause = {.code = "XidGpuLost",
                .message = "XID 79: GPU has fallen off the bus",
                .value = "79",
                .threshold = "0",
                .unit = "x",
                .owner = FaultOwner::kHardware};
  lost.deadline_seconds = 30;
  lost.deadline_source = "config";
  lost.deadline_rule = "pool node-7";
  lost.used_by = {{{"train", "trainer-0"}, "train", "trainer-0-gpu"}};
  NodeDevice half = Gpu("gpu-5", HealthState::kDegraded);
  half.share = 0.5;
  NodeDeviceHealth health;
  health.node = "node-7";
  health.observed_generation = 1;
  health.agent_version = "0.1.0";
  health.agent_role = "observer";
  health.agent_since = At("2026-11-21T14:00:00Z");
  health.conditions = {{"Ready", "True", "Running", "all parts run", At("2026-11-21T14:00:01Z")}};
  health.devices = {lost, half, Gpu("gpu-0", HealthState::kHealthy)};
  health.drivers = {{"gpu.example.com", "/run/gpu.sock", "1.2", "v1", At("2026-11-21T14:00:02Z")}};
  health.post_mortems = {{.pod = {{"train", "trainer-0"}, "u-1"},
                          .number = 2,
                          .end = "Failed",
                          .ended = At("2026-11-21T14:02:14.020Z"),
                          .container = "train",
                          .exit_code = 134,
                          .device = lost.identity.id,
                          .state = HealthState::kUnhealthy,
                          .code = "XidGpuLost",
                          .message = "XID 79",
                          .verdict = "Hardware",
                          .confidence = 0.98,
                          .summary = "hardware (0.98)"}};
  health.summary = {.devices = 3, .healthy = 1, .degraded = 1, .unhealthy = 1};
  return health;
}

TEST(NodeDeviceHealth, IsWrittenAsItIsDocumented) {
  EXPECT_EQ(EncodeNodeDeviceHealth(Full()), JsonOf(R"json({
    "apiVersion": "galen.dev/v1alpha1", "kind": "NodeDeviceHealth", "metadata": {"name": "node-7"},
    "status": {
      "observedGeneration": 1,
      "agent": {"version": "0.1.0", "role": "observer", "since": "2026-11-21T14:00:00Z"},
      "summary": {"devices": 3, "healthy": 1, "degraded": 1, "unhealthy": 1, "unknown": 0},
      "conditions": [{"type": "Ready", "status": "True", "reason": "Running",
                      "message": "all parts run", "lastTransitionTime": "2026-11-21T14:00:01Z"}],
      "devices": [
        {"driver": "gpu.example.com", "pool": "node-7", "device": "gpu-3", "serial": "1653922005112",
         "model": "H200", "state": "Unhealthy", "since": "2026-11-21T14:02:11.304Z",
         "cause": {"code": "XidGpuLost", "message": "XID 79: GPU has fallen off the bus",
                   "value": "79", "threshold": "0", "unit": "x", "owner": "Hardware"},
         "deadlineSeconds": 30, "deadlineSource": "config", "deadlineRule": "pool node-7",
         "usedBy": [{"namespace": "train", "pod": "trainer-0", "container": "train",
                     "claim": "trainer-0-gpu"}]},
        {"driver": "gpu.example.com", "pool": "node-7", "device": "gpu-5", "state": "Degraded",
         "share": "0.50"},
        {"driver": "gpu.example.com", "pool": "node-7", "device": "gpu-0", "state": "Healthy"}],
      "drivers": [{"name": "gpu.example.com", "endpoint": "/run/gpu.sock", "version": "1.2",
                   "health": "v1", "connectedSince": "2026-11-21T14:00:02Z"}],
      "postMortems": [{"namespace": "train", "pod": "trainer-0", "uid": "u-1", "number": 2,
                       "end": "Failed", "ended": "2026-11-21T14:02:14.020Z", "container": "train",
                       "exitCode": 134, "driver": "gpu.example.com", "pool": "node-7",
                       "device": "gpu-3", "state": "Unhealthy", "code": "XidGpuLost",
                       "message": "XID 79", "verdict": "Hardware", "confidence": "0.98",
                       "summary": "hardware (0.98)"}]
}
})json"));
}

TEST(NodeDeviceHealth, ReadsBackAsItWasWritten) {
  NodeDeviceHealth health = Full();
  health.uid = "u";
  health.resource_version = "9";
  EXPECT_EQ(*DecodeNodeDeviceHealth(EncodeNodeDeviceHealth(health)), health);
  EXPECT_FALSE(DecodeNodeDeviceHealth(JsonOf("{}")).ok());
}

TEST(NodeDeviceHealth, WhatIsOddInAnObjectIsReadAsNoInformation) {
  const auto health = DecodeNodeDeviceHealth(JsonOf(R"({"metadata":{"name":"n","uid":"u"},
      "status":{"devices":[{"driver":"d","state":"Splendid","share":"12","since":"never"}]}})"));
  ASSERT_TRUE(health.ok());
  EXPECT_EQ(health->devices[0].state, HealthState::kUnknown);
  EXPECT_EQ(health->devices[0].share, 1.0);
  EXPECT_EQ(health->devices[0].since, std::nullopt);
}

TEST(NodeDeviceHealth, ListsTheWorstFirstAndCutsTheRest) {
  NodeDeviceHealth health;
  for (int i = 0; i < 300; ++i) {
    health.devices.push_back(Gpu(fmt::format("gpu-{:03}", i), HealthState::kHealthy));
  }
  health.devices[299].state = HealthState::kUnhealthy;
  health.devices[298].state = HealthState::kUnknown;
  health.devices[297].state = HealthState::kDegraded;
  for (int i = 0; i < 20; ++i)
    health.devices[299].used_by.push_back({{"a", std::to_string(i)}, "", ""});
  SortAndBound(health);
  ASSERT_EQ(health.devices.size(), kNodeDevicesMax);
  EXPECT_EQ(health.devices[0].identity.id.device, "gpu-299");
  EXPECT_EQ(health.devices[0].used_by.size(), kDeviceUsesMax);
  EXPECT_EQ(health.devices[1].identity.id.device, "gpu-297");
  EXPECT_EQ(health.devices[2].identity.id.device, "gpu-298");
  EXPECT_EQ(health.devices[3].identity.id.device, "gpu-000");
}

TEST(NodeDeviceHealth, HasOneRowForADriverThatIsThereTwice) {
  NodeDeviceHealth health;
  health.drivers = {{"gpu.example.com", "/a.sock", "", "v1", At("2026-11-21T14:00:02Z")},
                    {"gpu.example.com", "/b.sock", "", "v1", At("2026-11-21T14:00:05Z")},
                    {"gpu.example.com", "/c.sock", "", "v1", {}},
                    {"a.example.com", "/d.sock", "", "none", {}}};
  SortAndBound(health);
  ASSERT_EQ(health.drivers.size(), 2u);
  EXPECT_EQ(health.drivers[0].name, "a.example.com");
  EXPECT_EQ(health.drivers[1].endpoint, "/b.sock");
}

// The object with every list and text past its bound, and quotes, which JSON doubles.
NodeDeviceHealth Largest() {
  const auto name = [](std::size_t size, int i) { return fmt::format("{:0>{}}", i, size); };
  const std::string quotes(5000, '"');
  NodeDeviceHealth health = Full();
  health.node = name(253, 0);
  health.conditions.assign(100, {name(316, 0), "Unknown", name(64, 0), quotes, health.agent_since});
  health.devices.clear();
  health.drivers.clear();
  for (int i = 0; i < 1000; ++i) {
    NodeDevice device = Full().devices[0];
    device.identity = {{name(63, 1), name(253, 1), name(63, i)}, quotes, quotes};
    device.cause = {"XidGpuLost" + quotes, quotes, quotes, quotes, quotes, FaultOwner::kPlatform};
    device.deadline_seconds = 86400;
    device.deadline_rule = "pool " + name(253, 1);
    for (int k = 0; k < 100; ++k) {
      device.used_by.push_back({{name(63, k), name(253, k)}, name(63, k), name(253, k)});
    }
    health.devices.push_back(device);
    health.drivers.push_back(
        {name(63, i), "/" + name(107, i), "v1", "v1alpha1", health.agent_since});
  }
  health.post_mortems.clear();
  for (int i = 0; i < 100; ++i) {
    NodePostMortem record = Full().post_mortems[0];
    record.pod = {{name(63, i), name(253, i)}, name(36, i)};
    record.container = name(63, i);
    record.device = {name(63, 1), name(253, 1), name(63, i)};
    record.code = record.message = record.summary = quotes;
    health.post_mortems.push_back(record);
  }
  return health;
}

// metadata.managedFields of one writer (fieldsV1), as server-side apply keeps them beside the
// object: one path for each field, an item of a list-map by its keys.
Json FieldsOf(const Json& value, const std::string& field) {
  static const std::map<std::string, std::vector<std::string>> kKeys = {
      {"devices", {"driver", "pool", "device"}},
      {"drivers", {"name"}},
      {"conditions", {"type"}},
      {"postMortems", {"uid", "number"}}};
  Json fields = Json::MakeObject({});
  if (value.is_object()) {
    for (const auto& [name, member] : value.members()) fields["f:" + name] = FieldsOf(member, name);
  }
  const auto keys = kKeys.find(field);
  if (keys == kKeys.end()) return fields;  // other lists belong to one writer as a whole
  for (const Json& item : value.items()) {
    Json key = Json::MakeObject({});
    for (const std::string& name : keys->second) key[name] = item[name];
    Json& path = fields["k:" + key.Dump()] = FieldsOf(item, "");
    path["."] = Json::MakeObject({});
  }
  return fields;
}

// At its bounds it must still be written, or a large node would never publish anything.
TEST(NodeDeviceHealth, FitsIntoEtcdAtItsBounds) {
  NodeDeviceHealth health = Largest();
  SortAndBound(health);
  const Json object = EncodeNodeDeviceHealth(health);
  const std::size_t bytes =
      object.Dump().size() + FieldsOf(object["status"], "status").Dump().size();
  EXPECT_LT(bytes, std::size_t{1536} * 1024);
  EXPECT_GT(bytes, std::size_t{1024} * 1024) << "there would be room for more";
}

TEST(NodeDeviceHealth, TheWorstDevicesKeepTheirUses) {
  NodeDeviceHealth health = Largest();
  health.devices.back().state = HealthState::kUnhealthy;
  for (std::size_t i = 0; i + 1 < health.devices.size(); ++i) {
    health.devices[i].state = HealthState::kHealthy;
  }
  const DeviceId worst = health.devices.back().identity.id;
  SortAndBound(health);
  EXPECT_EQ(health.devices[0].identity.id, worst);
  EXPECT_EQ(health.devices[0].used_by.size(), kDeviceUsesMax);
  EXPECT_EQ(health.devices[kNodeDevicesMax - 1].used_by.size(), 0u);
}

TEST(NodeDeviceHealth, AReportWithoutNewsSaysTheSame) {
  const NodeDeviceHealth before = Full();
  NodeDeviceHealth after = before;
  after.resource_version = "10";
  EXPECT_TRUE(SaysTheSame(before, after));
  after.devices[0].cause.code = "XidOther";
  EXPECT_FALSE(SaysTheSame(before, after));
}

// The CRD that is installed.

const Json& Crd() {
  static const Json crd = [] {
    PosixFileSystem files;
    return *ParseYaml(*files.Read(GALEN_SOURCE_DIR "/deploy/crds/nodedevicehealths.yaml"));
  }();
  return crd;
}
const Json& Schema() {
  return Crd()["spec"]["versions"][std::size_t{0}]["schema"]["openAPIV3Schema"];
}

// Whether `value` is what `schema` asks for; "" or where it is not.
std::string Mismatch(const Json& schema, const Json& value, const std::string& path) {
  const std::string& type = schema["type"].AsString();
  if (type == "string") {
    if (!value.is_string()) return path + " is not a string";
    const Json::Array& allowed = schema["enum"].items();
    const bool listed = std::ranges::find(allowed, value) != allowed.end();
    if (!allowed.empty() && !listed) return path + " is not one of the enum";
    const bool long_text =
        schema.Has("maxLength") &&
        value.AsString().size() > static_cast<std::size_t>(schema["maxLength"].AsInt());
    return long_text ? path + " is too long" : "";
  }
  if (type == "integer") return value.is_int() ? "" : path + " is not an integer";
  if (type == "array") {
    if (value.items().size() > static_cast<std::size_t>(schema["maxItems"].AsInt())) {
      return path + " is too long";
    }
    for (const Json& item : value.items()) {
      if (std::string wrong = Mismatch(schema["items"], item, path + "[]"); !wrong.empty())
        return wrong;
    }
    return "";
  }
  if (type != "object") return path + " has no type";
  for (const Json& name : schema["required"].items()) {
    if (!value.Has(name.AsString())) return path + " lacks " + name.AsString();
  }
  if (!schema.Has("properties")) return "";
  for (const auto& [name, member] : value.members()) {
    if (!schema["properties"].Has(name)) return path + "." + name + " would be pruned";
    std::string wrong = Mismatch(schema["properties"][name], member, path + "." + name);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

TEST(NodeDeviceHealthCrd, DefinesTheResourceThatWeUse) {
  const Json& spec = Crd()["spec"];
  EXPECT_EQ(spec["group"].AsString(), kNodeDeviceHealths.group);
  EXPECT_EQ(spec["names"]["plural"].AsString(), kNodeDeviceHealths.plural);
  EXPECT_EQ(spec["names"]["kind"].AsString(), kNodeDeviceHealths.kind);
  EXPECT_EQ(spec["scope"].AsString(), "Cluster");
  EXPECT_EQ(spec["versions"][std::size_t{0}]["name"].AsString(), kNodeDeviceHealths.version);
  EXPECT_TRUE(spec["versions"][std::size_t{0}]["subresources"].Has("status"));
  EXPECT_EQ(Crd()["metadata"]["name"].AsString(), "nodedevicehealths.galen.dev");
}

TEST(NodeDeviceHealthCrd, ItsSchemaTakesWhatWeWriteAndWouldPruneNothing) {
  EXPECT_EQ(Mismatch(Schema(), EncodeNodeDeviceHealth(Full()), ""), "");
  NodeDeviceHealth large = Full();
  for (int i = 0; i < 300; ++i)
    large.devices.push_back(Gpu(fmt::format("gpu-{}", i), HealthState::kHealthy));
  EXPECT_EQ(Mismatch(Schema(), EncodeNodeDeviceHealth(large), ""), ".status.devices is too long");
  SortAndBound(large);
  EXPECT_EQ(Mismatch(Schema(), EncodeNodeDeviceHealth(large), ""), "");
}

TEST(NodeDeviceHealthCrd, ItsSchemaTakesTheLargestThatWeWrite) {
  NodeDeviceHealth largest = Largest();
  SortAndBound(largest);
  EXPECT_EQ(Mismatch(Schema(), EncodeNodeDeviceHealth(largest), ""), "");
}

TEST(NodeDeviceHealthCrd, DevicesMergeByDriverPoolAndDevice) {
  const Json& devices = Schema()["properties"]["status"]["properties"]["devices"];
  EXPECT_EQ(devices["x-kubernetes-list-type"].AsString(), "map");
  EXPECT_EQ(devices["x-kubernetes-list-map-keys"].Dump(), R"(["driver","pool","device"])");
}

TEST(NodeDeviceHealthCrd, PrintsTheColumnsOfTheDesign) {
  std::string columns;
  for (const Json& column :
       Crd()["spec"]["versions"][std::size_t{0}]["additionalPrinterColumns"].items()) {
    if (column["priority"].AsInt() == 0) columns += column["name"].AsString() + " ";
  }
  EXPECT_EQ(columns, "Devices Degraded Unhealthy Unknown Worst Age ");
}

}  // namespace
}  // namespace galen::kube
