#include <gtest/gtest.h>

#include <string>

#include "api_sim/patch/patch.h"
#include "kube/test_json.h"

namespace galen::api_sim {
namespace {

// The object after the patch, or the status's text.
std::string Patched(const kube::Resource& resource, std::string_view object,
                    std::string_view patch) {
  Json value = kube::JsonOf(object);
  const Status status = ApplyStrategicPatch(resource, value, kube::JsonOf(patch));
  if (!status.ok()) {
    EXPECT_EQ(value, kube::JsonOf(object)) << "a failed patch must leave the object alone";
    return ToString(status);
  }
  return value.Dump();
}

std::string PatchedPod(std::string_view object, std::string_view patch) {
  return Patched(kube::kPods, object, patch);
}

TEST(StrategicPatch, MergesContainersByNameAndKeepsTheirOrder) {
  EXPECT_EQ(
      PatchedPod(R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"1"}]}})",
                 R"({"spec":{"containers":[{"name":"b","image":"2"},{"name":"c"}]}})"),
      R"({"spec":{"containers":[{"image":"1","name":"a"},{"image":"2","name":"b"},{"name":"c"}]}})");
}

TEST(StrategicPatch, MergesListsBelowMergedItems) {
  EXPECT_EQ(
      PatchedPod(
          R"({"spec":{"containers":[{"env":[{"name":"A","value":"1"},{"name":"B","value":"1"}],"name":"a"}]}})",
          R"({"spec":{"containers":[{"name":"a","env":[{"name":"B","value":"2"}]}]}})"),
      R"({"spec":{"containers":[{"env":[{"name":"A","value":"1"},{"name":"B","value":"2"}],"name":"a"}]}})");
}

TEST(StrategicPatch, PutsOneConditionBesideThoseOfOthers) {
  EXPECT_EQ(
      PatchedPod(
          R"({"status":{"conditions":[{"status":"True","type":"Ready"}]}})",
          R"({"status":{"conditions":[{"type":"galen.dev/DevicesHealthy","status":"False"}]}})"),
      R"({"status":{"conditions":[{"status":"True","type":"Ready"},{"status":"False","type":"galen.dev/DevicesHealthy"}]}})");
}

TEST(StrategicPatch, ReplacesListsThatHaveNoMergeKey) {
  EXPECT_EQ(PatchedPod(R"({"status":{"containerStatuses":[{"name":"a"},{"name":"b"}]}})",
                       R"({"status":{"containerStatuses":[{"name":"b","ready":true}]}})"),
            R"({"status":{"containerStatuses":[{"name":"b","ready":true}]}})");
  EXPECT_EQ(Patched(kube::kNodes, R"({"spec":{"taints":[{"key":"a"}]}})",
                    R"({"spec":{"taints":[{"key":"b"}]}})"),
            R"({"spec":{"taints":[{"key":"b"}]}})");
}

TEST(StrategicPatch, MergesTheOwnersOfEveryBuiltInKind) {
  for (const kube::Resource* kind :
       {&kube::kNamespaces, &kube::kNodes, &kube::kPods, &kube::kEvents, &kube::kServiceAccounts,
        &kube::kLeases, &kube::kResourceClaims, &kube::kResourceClaimTemplates,
        &kube::kDeviceClasses, &kube::kResourceSlices, &kube::kDeviceTaintRules,
        &kube::kCustomResourceDefinitions}) {
    EXPECT_EQ(Patched(*kind, R"({"metadata":{"ownerReferences":[{"uid":"a"}]}})",
                      R"({"metadata":{"ownerReferences":[{"uid":"b"}]}})"),
              R"({"metadata":{"ownerReferences":[{"uid":"a"},{"uid":"b"}]}})")
        << kind->kind;
  }
}

TEST(StrategicPatch, ReplacesTheDevicesOfAClaimWhole) {
  EXPECT_EQ(Patched(kube::kResourceClaims, R"({"status":{"devices":[{"device":"a"}]}})",
                    R"({"status":{"devices":[{"device":"b"}]}})"),
            R"({"status":{"devices":[{"device":"b"}]}})");
}

TEST(StrategicPatch, NullRemovesAMember) {
  EXPECT_EQ(PatchedPod(R"({"metadata":{"labels":{"a":"1","b":"2"}}})",
                       R"({"metadata":{"labels":{"a":null,"c":null}}})"),
            R"({"metadata":{"labels":{"b":"2"}}})");
}

TEST(StrategicPatch, NullsAndDirectivesNeverEndUpInNewParts) {
  EXPECT_EQ(PatchedPod("{}", R"({"metadata":{"labels":{"a":null}},"spec":{"containers":[
                {"name":"a","env":[{"name":"E","$patch":"delete"}],"image":null}]}})"),
            R"({"metadata":{"labels":{}},"spec":{"containers":[{"env":[],"name":"a"}]}})");
}

TEST(StrategicPatch, DeletesAnItemByItsKey) {
  EXPECT_EQ(PatchedPod(R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
                       R"({"spec":{"containers":[{"name":"a","$patch":"delete"}]}})"),
            R"({"spec":{"containers":[{"name":"b"}]}})");
  EXPECT_EQ(Patched(kube::kResourceClaims,
                    R"({"status":{"reservedFor":[{"name":"p","uid":"1"},{"name":"p","uid":"2"}]}})",
                    R"({"status":{"reservedFor":[{"$patch":"delete","uid":"1"}]}})"),
            R"({"status":{"reservedFor":[{"name":"p","uid":"2"}]}})");
}

TEST(StrategicPatch, ReplacesAListOrAnObjectOnDemand) {
  EXPECT_EQ(PatchedPod(R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
                       R"({"spec":{"containers":[{"name":"c"},{"$patch":"replace"}]}})"),
            R"({"spec":{"containers":[{"name":"c"}]}})");
  EXPECT_EQ(PatchedPod(R"({"metadata":{"labels":{"a":"1"}}})",
                       R"({"metadata":{"labels":{"$patch":"replace","b":"2"}}})"),
            R"({"metadata":{"labels":{"b":"2"}}})");
  EXPECT_EQ(PatchedPod(R"({"metadata":{"labels":{"a":"1"}}})",
                       R"({"metadata":{"labels":{"$patch":"delete"}}})"),
            R"({"metadata":{"labels":{}}})");
  EXPECT_EQ(PatchedPod(R"({"metadata":{"labels":{"a":"1"}}})",
                       R"({"metadata":{"labels":{"$patch":"merge","b":"2"}}})"),
            R"({"metadata":{"labels":{"a":"1","b":"2"}}})");
}

TEST(StrategicPatch, FinalizersAreASetThatCanBeTakenFrom) {
  EXPECT_EQ(PatchedPod(R"({"metadata":{"finalizers":["a","b"]}})",
                       R"({"metadata":{"finalizers":["b","c"]}})"),
            R"({"metadata":{"finalizers":["a","b","c"]}})");
  EXPECT_EQ(PatchedPod(R"({"metadata":{"finalizers":["a","b"]}})",
                       R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a","x"]}})"),
            R"({"metadata":{"finalizers":["b"]}})");
  EXPECT_EQ(PatchedPod("{}", R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a"]}})"),
            R"({"metadata":{}})");
}

TEST(StrategicPatch, RetainKeysClearsTheOtherArmOfAOneOf) {
  EXPECT_EQ(
      PatchedPod(R"({"spec":{"resourceClaims":[{"name":"gpu","resourceClaimName":"old"}]}})",
                 R"({"spec":{"resourceClaims":[{"$retainKeys":["name","resourceClaimTemplateName"],
                           "name":"gpu","resourceClaimTemplateName":"t"}]}})"),
      R"({"spec":{"resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"t"}]}})");
  EXPECT_EQ(PatchedPod("{}", R"({"spec":{"$retainKeys":["a"],"b":1}})"),
            "InvalidArgument: spec: $retainKeys lacks \"b\", which the patch sets");
}

TEST(StrategicPatch, SetElementOrderSortsNamedItemsAndLeavesOthersInPlace) {
  // kubectl apply: b was there, x is somebody else's, c is new, the person wants c before b.
  EXPECT_EQ(PatchedPod(R"({"spec":{"containers":[{"name":"x"},{"name":"b"}]}})",
                       R"({"spec":{"$setElementOrder/containers":[{"name":"c"},{"name":"b"}],
                           "containers":[{"name":"c"}]}})"),
            R"({"spec":{"containers":[{"name":"c"},{"name":"x"},{"name":"b"}]}})");
  EXPECT_EQ(PatchedPod(R"({"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"x"}]}})",
                       R"({"spec":{"$setElementOrder/containers":[{"name":"b"},{"name":"a"}]}})"),
            R"({"spec":{"containers":[{"name":"b"},{"name":"a"},{"name":"x"}]}})");
  EXPECT_EQ(
      PatchedPod(R"({"metadata":{"finalizers":["a","b"]}})",
                 R"({"metadata":{"$setElementOrder/finalizers":["c","a"],"finalizers":["c"]}})"),
      R"({"metadata":{"finalizers":["c","a","b"]}})");
}

TEST(StrategicPatch, SetElementOrderMustNameWhatThePatchSets) {
  EXPECT_EQ(
      PatchedPod("{}", R"({"spec":{"$setElementOrder/containers":[{"name":"a"}],
                                 "containers":[{"name":"b"}]}})"),
      "InvalidArgument: spec: $setElementOrder/containers: lacks an item of the patch's own list");
  EXPECT_EQ(
      PatchedPod("{}", R"({"spec":{"$setElementOrder/tolerations":[]}})"),
      "InvalidArgument: spec: $setElementOrder/tolerations: the list does not merge, so it has "
      "no order to set");
}

TEST(StrategicPatch, SaysWhatIsWrongWithAPatch) {
  EXPECT_EQ(PatchedPod("{}", R"({"spec":{"containers":[{"image":"x"}]}})"),
            "InvalidArgument: spec: containers: an item lacks its merge key \"name\"");
  EXPECT_EQ(PatchedPod("{}", R"({"spec":{"containers":["x"]}})"),
            "InvalidArgument: spec: containers: each item must be an object");
  EXPECT_EQ(
      PatchedPod("{}", R"({"spec":{"$patch":"remove"}})"),
      "InvalidArgument: spec: $patch is \"remove\", must be \"merge\", \"replace\" or \"delete\"");
  EXPECT_EQ(PatchedPod("{}", "[]"),
            "InvalidArgument: a strategic merge patch must be a JSON object");
}

TEST(StrategicPatch, TheRefusalOfCustomKindsNamesWhatToUseInstead) {
  EXPECT_EQ(Patched(kube::kNodeDeviceHealths, "{}", "{}"),
            "Unimplemented: strategic merge patches are for built-in kinds, "
            "nodedevicehealths.galen.dev is a custom one: use application/merge-patch+json or "
            "application/apply-patch+yaml");
}

TEST(StrategicPatch, BoundsTheListsItMerges) {
  Json items = Json::Array{};
  for (std::size_t i = 0; i <= kMergeListItemsMax; ++i) {
    items.Append(Json::MakeObject({{"name", std::to_string(i)}}));
  }
  const Json patch = Json::MakeObject({{"spec", Json::MakeObject({{"containers", items}})}});
  Json pod = kube::JsonOf("{}");
  EXPECT_EQ(ApplyStrategicPatch(kube::kPods, pod, patch).code(), Code::kInvalidArgument);
}

TEST(StrategicPatch, BoundsTheListsOfItsDirectives) {
  Json names = Json::Array{};
  for (std::size_t i = 0; i <= kMergeListItemsMax; ++i) names.Append(std::to_string(i));
  for (const char* directive : {"$deleteFromPrimitiveList/finalizers", "$retainKeys"}) {
    Json pod = kube::JsonOf(R"({"metadata":{"finalizers":["a"]}})");
    const Json patch = Json::MakeObject({{"metadata", Json::MakeObject({{directive, names}})}});
    EXPECT_EQ(ApplyStrategicPatch(kube::kPods, pod, patch).code(), Code::kInvalidArgument)
        << directive;
  }
}

}  // namespace
}  // namespace galen::api_sim
