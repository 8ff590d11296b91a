// Our own definition, deploy/crds/nodedevicehealths.yaml, as API servers take it: what it lets in,
// what it refuses, how it is shown.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/data/yaml.h"
#include "tests/contract/api.h"

namespace galen::contract {
namespace {

constexpr const char* kDefinitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr const char* kDefinition =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodedevicehealths.galen.dev";
constexpr const char* kAll = "/apis/galen.dev/v1alpha1/nodedevicehealths";

// Defined once for all of these tests, and gone after them.
class NodeDeviceHealth : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::ifstream file(GALEN_SOURCE_DIR "/deploy/crds/nodedevicehealths.yaml");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const StatusOr<Json> definition = ParseYaml(text);
    ASSERT_TRUE(definition.ok()) << definition.status().message();
    const Reply reply = TheApi().Post(kDefinitionsPath, *definition);
    ASSERT_EQ(reply.code, 201) << reply.text;
    ASSERT_TRUE(TheApi().WaitUntil([] { return TheApi().Get(kAll).code == 200; }));
  }
  static void TearDownTestSuite() {
    TheApi().Delete(kDefinition);
    EXPECT_TRUE(TheApi().WaitUntil([] { return TheApi().Get(kDefinition).code == 404; }));
  }

  NodeDeviceHealth() : name_(FreshName("node")) {
    Json object = ToJson(R"({"apiVersion": "galen.dev/v1alpha1", "kind": "NodeDeviceHealth"})");
    object["metadata"]["name"] = name_;
    EXPECT_EQ(TheApi().Post(kAll, object).code, 201);
  }
  ~NodeDeviceHealth() override { TheApi().Delete(Path()); }

  std::string Path() const { return std::string(kAll) + "/" + name_; }
  Reply Say(std::string_view status) const {
    Json patch = Json::MakeObject({{"status", ToJson(status)}});
    return TheApi().Patch(Path() + "/status", kMergePatch, patch.Dump());
  }
  Reply Apply(const char* manager, std::string_view status) const {
    Json object = ToJson(R"({"apiVersion": "galen.dev/v1alpha1", "kind": "NodeDeviceHealth"})");
    object["metadata"]["name"] = name_;
    object["status"] = ToJson(status);
    return TheApi().Send("PATCH", Path() + "/status?fieldManager=" + manager, object, kApplyPatch);
  }

 private:
  const std::string name_;
};

constexpr const char* kWhole = R"({
    "agent": {"version": "1.0", "role": "observer", "since": "2026-01-01T00:00:00Z"},
    "summary": {"devices": 2, "healthy": 1, "degraded": 0, "unhealthy": 1, "unknown": 0},
    "devices": [
      {"driver": "gpu.example.com", "pool": "n", "device": "gpu-3", "state": "Unhealthy",
       "since": "2026-01-01T00:00:00Z", "deadlineSeconds": 30, "deadlineSource": "config",
       "deadlineRule": "pool n",
       "cause": {"code": "XidGpuLost", "message": "lost", "owner": "Hardware"},
       "usedBy": [{"namespace": "serve", "pod": "llm-0", "container": "main", "claim": "gpu"}]},
      {"driver": "gpu.example.com", "pool": "n", "device": "gpu-4", "state": "Healthy"}],
    "drivers": [{"name": "gpu.example.com", "endpoint": "/run/dra.sock", "health": "v1"}]})";

TEST_F(NodeDeviceHealth, DefinitionIsEstablishedAndStructural) {
  const Json definition = TheApi().Get(kDefinition).body;
  std::map<std::string, std::string> conditions;
  for (const Json& condition : definition["status"]["conditions"].items()) {
    conditions[condition["type"].AsString()] = condition["status"].AsString();
  }
  EXPECT_EQ(conditions["NamesAccepted"], "True");
  EXPECT_EQ(conditions["Established"], "True");
  EXPECT_FALSE(conditions.contains("NonStructuralSchema"));
  EXPECT_EQ(definition["status"]["acceptedNames"]["shortNames"][0].AsString(), "ndh");
}

TEST_F(NodeDeviceHealth, TakesWhatAnAgentSays) {
  const Reply reply = Say(kWhole);
  ASSERT_EQ(reply.code, 200) << reply.text;
  EXPECT_EQ(TheApi().Get(Path()).body["status"], ToJson(kWhole));
}

TEST_F(NodeDeviceHealth, RefusesWhatItsSchemaForbids) {
  const std::pair<const char*, const char*> faults[] = {
      {R"({"agent": {"role": "king"}})", "status.agent.role"},
      {R"({"summary": {"devices": -1}})", "status.summary.devices"},
      {R"({"devices": [{"pool": "p", "device": "d", "state": "Healthy"}]})",
       "status.devices[0].driver"},
      {R"({"devices": [{"driver": "a", "pool": "p", "device": "d", "state": "Broken"}]})",
       "status.devices[0].state"},
      {R"({"devices": [{"driver": "a", "pool": "p", "device": "d", "state": "Degraded",
           "share": "1.50"}]})",
       "status.devices[0].share"},
      {R"({"devices": [{"driver": "a", "pool": "p", "device": "d", "state": "Healthy",
           "since": "yesterday"}]})",
       "status.devices[0].since"},
      {R"({"devices": [{"driver": "a", "pool": "p", "device": "d", "state": "Healthy",
           "deadlineSeconds": 0}]})",
       "status.devices[0].deadlineSeconds"},
      {R"({"devices": [{"driver": "a", "pool": "p", "device": "d", "state": "Healthy"},
                       {"driver": "a", "pool": "p", "device": "d", "state": "Unknown"}]})",
       "status.devices[1]"},
      {R"({"drivers": [{"name": "a", "health": "v2"}]})", "status.drivers[0].health"}};
  for (const auto& [status, field] : faults) {
    const Reply reply = Say(status);
    EXPECT_EQ(reply.code, 422) << status;
    EXPECT_EQ(reply.body["details"]["causes"][0]["field"].AsString(), field) << reply.text;
  }
}

TEST_F(NodeDeviceHealth, HoldsAtMost256Devices) {
  const auto say = [this](int count) {
    Json status = ToJson(R"({"devices": []})");
    for (int i = 0; i < count; ++i) {
      Json device = ToJson(R"({"driver": "a", "pool": "p", "state": "Healthy"})");
      device["device"] = "gpu-" + std::to_string(i);
      status["devices"].Append(std::move(device));
    }
    return Say(status.Dump()).code;
  };
  EXPECT_EQ(say(257), 422);
  EXPECT_EQ(say(256), 200);
}

TEST_F(NodeDeviceHealth, StatusLosesWhatIsNotDefinedAndCountsNoGeneration) {
  const Reply reply = Say(R"({"bogus": 1, "summary": {"devices": 1, "broken": 1}})");
  ASSERT_EQ(reply.code, 200) << reply.text;
  EXPECT_EQ(reply.body["status"], ToJson(R"({"summary": {"devices": 1}})"));
  EXPECT_EQ(reply.body["metadata"]["generation"].AsInt(), 1);
}

TEST_F(NodeDeviceHealth, DevicesAreAppliedByDriverPoolAndName) {
  constexpr const char* kOne =
      R"({"devices": [{"driver": "a", "pool": "p", "device": "d", "state": "Healthy"}]})";
  constexpr const char* kOther =
      R"({"devices": [{"driver": "b", "pool": "p", "device": "d", "state": "Unknown"}]})";
  ASSERT_EQ(Apply("one", kOne).code, 200);
  const Reply both = Apply("two", kOther);
  EXPECT_EQ(both.body["status"]["devices"].items().size(), 2u) << both.text;
  const Reply conflict = Apply("two", R"({"devices": [
      {"driver": "a", "pool": "p", "device": "d", "state": "Unknown"}]})");
  EXPECT_EQ(conflict.code, 409);
  EXPECT_EQ(conflict.body["details"]["causes"][0]["field"].AsString(),
            R"(.status.devices[device="d",driver="a",pool="p"].state)");
  const Reply left = Apply("one", R"({})");
  ASSERT_EQ(left.body["status"]["devices"].items().size(), 1u) << left.text;
  EXPECT_EQ(left.body["status"]["devices"][0]["driver"].AsString(), "b");
}

TEST_F(NodeDeviceHealth, IsATableOfTheWorst) {
  Say(kWhole);
  const Json table = TheApi()
                         .Send("GET", Path(), {}, kJson,
                               {{"accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}})
                         .body;
  std::string shown;
  const Json::Array& columns = table["columnDefinitions"].items();
  // The age, last, is another each time.
  for (std::size_t i = 1; i + 1 < columns.size(); ++i) {
    shown += columns[i]["name"].AsString() + "=" + table["rows"][0]["cells"][i].Dump() + " ";
  }
  EXPECT_EQ(shown,
            "Devices=2 Degraded=0 Unhealthy=1 Unknown=0 Worst=\"Unhealthy\" "
            "Reason=\"XidGpuLost\" ");
}

}  // namespace
}  // namespace galen::contract
