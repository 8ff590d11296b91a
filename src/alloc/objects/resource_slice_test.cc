#include "alloc/objects/resource_slice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace galen::alloc {
namespace {

using ::testing::HasSubstr;

Json SliceJson(std::string_view text) { return Json::Parse(text).value(); }
Quantity SliceAmount(std::string_view text) { return Quantity::Parse(text).value(); }

TEST(ResourceSlice, IsReadWhole) {
  const auto slice = ReadResourceSlice(SliceJson(R"({
    "metadata": {"name": "s"},
    "spec": {"driver": "d.io", "pool": {"name": "p", "generation": 3, "resourceSliceCount": 2},
      "perDeviceNodeSelection": true, "skipNodeOperations": ["Prepare"],
      "sharedCounters": [{"name": "gpu-0", "counters": {"memory": {"value": "80Gi"}}}],
      "devices": [{"name": "a", "nodeName": "n", "bindsToNode": true, "allowMultipleAllocations": true,
        "bindingConditions": ["Ready"], "bindingFailureConditions": ["Failed"],
        "taints": [{"key": "k", "value": "v", "effect": "NoExecute"}],
        "consumesCounters": [{"counterSet": "gpu-0", "counters": {"memory": {"value": "10Gi"}},
                              "compatibilityGroups": ["mig"]}],
        "capacity": {"memory": {"value": "10Gi", "requestPolicy": {"default": "1Gi",
          "validRange": {"min": "1Gi", "max": "8Gi", "step": "1Gi"}}},
          "slots": {"value": 4, "requestPolicy": {"validValues": ["1", "2"]}}}}]}})"));
  ASSERT_TRUE(slice.ok()) << ToString(slice.status());
  EXPECT_EQ(slice->pool, "p");
  EXPECT_EQ(slice->generation, 3);
  EXPECT_EQ(slice->slice_count, 2);
  EXPECT_EQ(slice->per_device_node_selection, true);
  EXPECT_EQ(slice->skip_node_operations, std::vector<std::string>{"Prepare"});
  EXPECT_EQ(slice->shared_counters,
            (std::vector<CounterSet>{{"gpu-0", {{"memory", SliceAmount("80Gi")}}}}));
  const Device& device = slice->devices.at(0);
  EXPECT_EQ(device.nodes.node, "n");
  EXPECT_TRUE(device.binds_to_node);
  EXPECT_TRUE(device.facts.allow_multiple_allocations);
  EXPECT_EQ(device.binding_conditions, std::vector<std::string>{"Ready"});
  EXPECT_EQ(device.binding_failure_conditions, std::vector<std::string>{"Failed"});
  EXPECT_EQ(
      device.taints,
      (std::vector<DeviceTaint>{{.key = "k", .value = "v", .effect = TaintEffect::kNoExecute}}));
  EXPECT_EQ(
      device.consumes_counters,
      (std::vector<CounterConsumption>{{"gpu-0", {{"memory", SliceAmount("10Gi")}}, {"mig"}}}));
  ASSERT_EQ(device.capacity.size(), 2u);
  EXPECT_EQ(device.capacity[0].policy,
            (RequestPolicy{.otherwise = SliceAmount("1Gi"),
                           .valid_range = CapacityRange{SliceAmount("1Gi"), SliceAmount("8Gi"),
                                                        SliceAmount("1Gi")}}));
  EXPECT_EQ(device.capacity[1].value, Quantity::Of(4)) << "a number is a quantity, too";
  EXPECT_EQ(device.capacity[1].policy->valid_values,
            (std::vector{Quantity::Of(1), Quantity::Of(2)}));
  EXPECT_NE(Find(device.facts.capacity, "d.io", "memory"), nullptr);
}

TEST(ResourceSlice, KeepsEveryKindOfAttribute) {
  const auto slice =
      ReadResourceSlice(SliceJson(R"({"spec": {"driver": "d.io", "devices": [{"name": "a",
    "attributes": {"i": {"int": 7}, "b": {"bool": false}, "s": {"string": ""}, "v": {"version": "1.2.3"},
      "is": {"ints": [1, 2]}, "bs": {"bools": [true]}, "ss": {"strings": ["x"]}, "vs": {"versions": ["1.0.0"]},
      "bad": {"version": "1"}, "odd": {"float": 1.5}, "x.io/i": {"int": 8}}}]}})"));
  ASSERT_TRUE(slice.ok());
  const auto get = [&](const char* domain, const char* id) {
    return *Find(slice->devices[0].facts.attributes, domain, id);
  };
  EXPECT_EQ(get("d.io", "i"), AttributeValue(std::int64_t{7}));
  EXPECT_EQ(get("d.io", "b"), AttributeValue(false));
  EXPECT_EQ(get("d.io", "s"), AttributeValue(std::string()));
  EXPECT_EQ(std::get<SemanticVersion>(get("d.io", "v")).text, "1.2.3");
  EXPECT_EQ(get("d.io", "is"), AttributeValue(std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(get("d.io", "bs"), AttributeValue(std::vector<bool>{true}));
  EXPECT_EQ(get("d.io", "ss"), AttributeValue(std::vector<std::string>{"x"}));
  EXPECT_EQ(std::get<std::vector<SemanticVersion>>(get("d.io", "vs")).size(), 1u);
  EXPECT_EQ(get("d.io", "bad"), AttributeValue(UnknownKind()));
  EXPECT_EQ(get("d.io", "odd"), AttributeValue(UnknownKind()));
  EXPECT_EQ(get("x.io", "i"), AttributeValue(std::int64_t{8}));
}

TEST(ResourceSlice, TakesTheFullNameOfTwo) {
  for (
      const char* text :
      {R"({"spec": {"driver": "d", "devices": [{"attributes": {"d/x": {"int": 1}, "x": {"int": 2}}}]}})",
       R"({"spec": {"driver": "z", "devices": [{"attributes": {"x": {"int": 2}, "z/x": {"int": 1}}}]}})"}) {
    const auto slice = ReadResourceSlice(SliceJson(text));
    const auto& attributes = slice->devices[0].facts.attributes;
    ASSERT_EQ(attributes.size(), 1u);
    EXPECT_EQ(attributes[0].second, AttributeValue(std::int64_t{1}));
  }
}

TEST(ResourceSlice, NamesTheFieldThatCannotBeRead) {
  const auto slice = ReadResourceSlice(SliceJson(
      R"({"metadata": {"name": "s"}, "spec": {"devices": [{"name": "a", "capacity": {"memory": {"value": "80GB!"}}}]}})"));
  EXPECT_EQ(slice.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(slice.status().message(),
              HasSubstr("ResourceSlice s: spec.devices[a]: capacity[memory]"));
  EXPECT_FALSE(
      ReadResourceSlice(
          SliceJson(R"({"spec": {"sharedCounters": [{"name": "c", "counters": {"m": {}}}]}})"))
          .ok());
}

TEST(NodeScope, IsDecidedByTheFirstThatIsSet) {
  const Node node{.name = "n"};
  EXPECT_TRUE(*Reaches({.node = "n"}, node));
  EXPECT_FALSE(*Reaches({.node = "m", .all = true}, node));
  EXPECT_TRUE(*Reaches({.node = "", .all = true}, node));
  EXPECT_TRUE(*Reaches({.selector = SelectorOfNode("n")}, node));
  EXPECT_FALSE(*Reaches({}, node));
  EXPECT_FALSE(Reaches({.selector = NodeSelector{.terms = {{.fields = {{}}}}}}, node).ok());
}

TEST(TaintRule, SelectsByDriverAndPool) {
  const ResourceSlice slice{.driver = "d", .pool = "p"};
  const auto rule = [](std::string_view selector) {
    return ReadTaintRule(SliceJson(
        std::string(
            R"({"metadata": {"name": "r"}, "spec": {"taint": {"key": "k", "effect": "NoSchedule"})") +
        std::string(selector) + "}}"));
  };
  EXPECT_FALSE(SelectsFrom(rule(""), slice));
  EXPECT_TRUE(SelectsFrom(rule(R"(, "deviceSelector": {})"), slice));
  EXPECT_FALSE(SelectsFrom(rule(R"(, "deviceSelector": {"driver": "e"})"), slice));
  EXPECT_FALSE(SelectsFrom(rule(R"(, "deviceSelector": {"pool": "q"})"), slice));
  EXPECT_EQ(rule(R"(, "deviceSelector": {"device": "x"})").device, "x");
  EXPECT_EQ(rule("").taint.effect, TaintEffect::kNoSchedule);
}

}  // namespace
}  // namespace galen::alloc
