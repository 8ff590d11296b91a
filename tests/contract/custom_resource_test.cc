// Kinds that a CustomResourceDefinition adds.
#include <gtest/gtest.h>

#include "tests/contract/api.h"

namespace galen::contract {
namespace {

constexpr const char* kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

// A definition of a kind Gauge in a group of its own, established for the time of a test.
class GaugeDefinition {
 public:
  GaugeDefinition() : group_(FreshName("g") + ".example.com") {
    Json definition = ToJson(R"({"spec": {"scope": "Cluster",
      "names": {"plural": "gauges", "kind": "Gauge", "shortNames": ["gg"]},
      "versions": [{"name": "v1alpha1", "served": true, "storage": true,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
          {"name": "Level", "type": "integer", "jsonPath": ".spec.level"},
          {"name": "Ready", "type": "string",
           "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status", "priority": 1}],
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {
          "spec": {"type": "object", "required": ["level"], "properties": {
            "level": {"type": "integer", "minimum": 0, "maximum": 9},
            "unit": {"type": "string", "enum": ["bar", "psi"], "default": "bar"},
            "label": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
            "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "marks": {"type": "array", "maxItems": 2, "x-kubernetes-list-type": "map",
              "x-kubernetes-list-map-keys": ["name"],
              "items": {"type": "object", "required": ["name"], "properties": {
                "name": {"type": "string"}, "at": {"type": "integer", "default": 5}}}}}},
          "status": {"type": "object", "properties": {"conditions": {"type": "array",
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
            "items": {"type": "object", "required": ["type"], "properties": {
              "type": {"type": "string"}, "status": {"type": "string"}}}}}}}}}}]}})");
    definition["metadata"]["name"] = "gauges." + group_;
    definition["spec"]["group"] = group_;
    EXPECT_EQ(TheApi().Post(kDefinitions, definition).code, 201);
    EXPECT_TRUE(TheApi().WaitUntil([this] { return TheApi().Get(All()).code == 200; }));
  }
  ~GaugeDefinition() { TheApi().Delete(Path()); }

  std::string Path() const { return std::string(kDefinitions) + "/gauges." + group_; }
  std::string All() const { return "/apis/" + group_ + "/v1alpha1/gauges"; }
  std::string One(std::string_view name) const { return All() + "/" + std::string(name); }
  const std::string& group() const { return group_; }

  Json Make(std::string_view spec) const {
    Json gauge = ToJson(R"({"kind": "Gauge", "metadata": {"name": "a"}})");
    gauge["apiVersion"] = group_ + "/v1alpha1";
    gauge["spec"] = ToJson(spec);
    return gauge;
  }
  Reply Create(std::string_view spec) const { return TheApi().Post(All(), Make(spec)); }

 private:
  const std::string group_;
};

std::string FieldOf(const Reply& reply) {
  return reply.body["details"]["causes"][0]["field"].AsString();
}

TEST(CustomResource, IsEstablishedAndDiscovered) {
  const GaugeDefinition gauges;
  const Json definition = TheApi().Get(gauges.Path()).body;
  EXPECT_EQ(definition["status"]["acceptedNames"]["kind"].AsString(), "Gauge");
  EXPECT_EQ(definition["status"]["acceptedNames"]["listKind"].AsString(), "GaugeList");
  EXPECT_EQ(definition["status"]["storedVersions"][0].AsString(), "v1alpha1");
  bool found = false;
  EXPECT_TRUE(TheApi().WaitUntil([&] {
    const Json list = TheApi().Get("/apis/" + gauges.group() + "/v1alpha1").body;
    for (const Json& resource : list["resources"].items()) {
      found = found || resource["shortNames"][0].AsString() == "gg";
    }
    return found;
  }));
}

// Had it been taken, deleting it would have taken every node's Lease along.
TEST(CustomResource, CannotTakeABuiltInKindsPlace) {
  Json definition = ToJson(R"({"metadata": {"name": "leases.coordination.k8s.io"},
    "spec": {"group": "coordination.k8s.io", "scope": "Namespaced",
      "names": {"plural": "leases", "kind": "Lease"},
      "versions": [{"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object"}}}]}})");
  const Reply reply = TheApi().Post(kDefinitions, definition);
  EXPECT_EQ(reply.code, 422) << reply.text;
  TheApi().Delete(std::string(kDefinitions) + "/leases.coordination.k8s.io");
  EXPECT_EQ(TheApi().Get("/apis/coordination.k8s.io/v1/leases").code, 200);
}

TEST(CustomResource, GetsItsDefaults) {
  const GaugeDefinition gauges;
  const Reply reply = gauges.Create(R"({"level": 1, "marks": [{"name": "x"}]})");
  ASSERT_EQ(reply.code, 201) << reply.text;
  EXPECT_EQ(reply.body["spec"]["unit"].AsString(), "bar");
  EXPECT_EQ(reply.body["spec"]["marks"][0]["at"].AsInt(), 5);
  EXPECT_EQ(reply.body["metadata"]["generation"].AsInt(), 1);
}

TEST(CustomResource, IsCheckedAgainstItsSchema) {
  const GaugeDefinition gauges;
  const std::pair<const char*, const char*> faults[] = {
      {R"({})", "spec.level"},
      {R"({"level": "high"})", "spec.level"},
      {R"({"level": 10})", "spec.level"},
      {R"({"level": -1})", "spec.level"},
      {R"({"level": 1, "unit": "mm"})", "spec.unit"},
      {R"({"level": 1, "label": "ABC"})", "spec.label"},
      {R"({"level": 1, "label": "toolong"})", "spec.label"},
      {R"({"level": 1, "marks": [{"at": 1}]})", "spec.marks[0].name"},
      {R"({"level": 1, "marks": [{"name": "x"}, {"name": "x"}]})", "spec.marks[1]"},
      {R"({"level": 1, "marks": [{"name": "x"}, {"name": "y"}, {"name": "z"}]})", "spec.marks"}};
  for (const auto& [spec, field] : faults) {
    const Reply reply = gauges.Create(spec);
    EXPECT_EQ(reply.code, 422) << spec;
    EXPECT_EQ(FieldOf(reply), field) << spec;
  }
}

TEST(CustomResource, LosesWhatItsSchemaDoesNotKnow) {
  const GaugeDefinition gauges;
  const Json gauge = gauges.Create(R"({"level": 1, "bogus": 1, "open": {"any": {"a": 1}}})").body;
  EXPECT_FALSE(gauge["spec"].Has("bogus"));
  EXPECT_EQ(gauge["spec"]["open"]["any"]["a"].AsInt(), 1);
}

TEST(CustomResource, StatusIsAPartOfItsOwn) {
  const GaugeDefinition gauges;
  Json made = gauges.Make(R"({"level": 1})");
  made["status"] = ToJson(R"({"conditions": [{"type": "Ready", "status": "True"}]})");
  EXPECT_FALSE(TheApi().Post(gauges.All(), made).body.Has("status"));
  const Reply reply = TheApi().Patch(gauges.One("a") + "/status", kMergePatch, R"({
      "metadata": {"labels": {"a": "b"}}, "spec": {"level": 5},
      "status": {"conditions": [{"type": "Ready", "status": "True"}]}})");
  ASSERT_EQ(reply.code, 200);
  EXPECT_EQ(reply.body["spec"]["level"].AsInt(), 1);
  EXPECT_FALSE(reply.body["metadata"]["labels"].Has("a"));
  EXPECT_EQ(reply.body["metadata"]["generation"].AsInt(), 1);
  EXPECT_EQ(reply.body["status"]["conditions"][0]["status"].AsString(), "True");
}

TEST(CustomResource, CountsTheGenerationsOfItsSpec) {
  const GaugeDefinition gauges;
  gauges.Create(R"({"level": 1})");
  const Reply labelled =
      TheApi().Patch(gauges.One("a"), kMergePatch, R"({"metadata": {"labels": {"a": "b"}}})");
  EXPECT_EQ(labelled.body["metadata"]["generation"].AsInt(), 1);
  const Reply raised = TheApi().Patch(gauges.One("a"), kMergePatch, R"({"spec": {"level": 2}})");
  EXPECT_EQ(raised.body["metadata"]["generation"].AsInt(), 2);
}

TEST(CustomResource, UpdateMustNameItsVersion) {
  const GaugeDefinition gauges;
  gauges.Create(R"({"level": 1})");
  const Reply reply = TheApi().Put(gauges.One("a"), gauges.Make(R"({"level": 2})"));
  EXPECT_EQ(reply.code, 422);
  EXPECT_EQ(FieldOf(reply), "metadata.resourceVersion");
}

TEST(CustomResource, TakesNoStrategicPatch) {
  const GaugeDefinition gauges;
  gauges.Create(R"({"level": 1})");
  EXPECT_EQ(TheApi().Patch(gauges.One("a"), kStrategicPatch, R"({"spec": {"level": 2}})").code,
            415);
}

TEST(CustomResource, IsAppliedByTheKeysOfItsSchema) {
  const GaugeDefinition gauges;
  const auto apply = [&](const char* manager, const char* spec) {
    return TheApi().Send("PATCH", gauges.One("a") + "?fieldManager=" + manager, gauges.Make(spec),
                         kApplyPatch);
  };
  apply("one", R"({"level": 1, "marks": [{"name": "x", "at": 1}]})");
  const Reply both = apply("two", R"({"level": 1, "marks": [{"name": "y", "at": 2}]})");
  ASSERT_EQ(both.code, 200) << both.text;
  EXPECT_EQ(both.body["spec"]["marks"].items().size(), 2u);
  const Reply left = apply("one", R"({"level": 1})");
  ASSERT_EQ(left.body["spec"]["marks"].items().size(), 1u);
  EXPECT_EQ(left.body["spec"]["marks"][0]["name"].AsString(), "y");
}

TEST(CustomResource, IsATableOfItsPrinterColumns) {
  const GaugeDefinition gauges;
  gauges.Create(R"({"level": 7})");
  const Json table = TheApi()
                         .Send("GET", gauges.All(), {}, kJson,
                               {{"accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}})
                         .body;
  ASSERT_EQ(table["columnDefinitions"].items().size(), 3u);
  EXPECT_EQ(table["columnDefinitions"][1]["name"].AsString(), "Level");
  EXPECT_EQ(table["columnDefinitions"][2]["priority"].AsInt(), 1);
  EXPECT_EQ(table["rows"][0]["cells"][0].AsString(), "a");
  EXPECT_EQ(table["rows"][0]["cells"][1].AsInt(), 7);
}

TEST(CustomResource, GoesWithItsDefinition) {
  std::string all;
  {
    const GaugeDefinition gauges;
    gauges.Create(R"({"level": 1})");
    all = gauges.All();
  }
  EXPECT_TRUE(TheApi().WaitUntil([&] { return TheApi().Get(all).code == 404; }));
}

TEST(CustomResourceDefinition, MustBeNamedAfterItsPluralAndGroup) {
  const Reply reply = TheApi().Post(kDefinitions, ToJson(R"({"metadata": {"name": "wrong"},
      "spec": {"group": "x.example.com", "scope": "Cluster",
      "names": {"plural": "xs", "kind": "X"}, "versions": [{"name": "v1", "served": true,
      "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]}})"));
  EXPECT_EQ(reply.code, 422);
  EXPECT_EQ(FieldOf(reply), "metadata.name");
}

}  // namespace
}  // namespace galen::contract
