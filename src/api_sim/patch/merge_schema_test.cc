#include "api_sim/patch/merge_schema.h"

#include <gtest/gtest.h>

namespace galen::api_sim {
namespace {

TEST(MergeSchema, KnowsTheBuiltInKindsAndNoOthers) {
  EXPECT_EQ(RootType(kube::kPods), "Pod");
  EXPECT_EQ(RootType(kube::kResourceClaims), "ResourceClaim");
  EXPECT_EQ(RootType(kube::kNodeDeviceHealths), "");
}

TEST(MergeSchema, LeadsFromTheKindToTheMergeKeyOfAListInside) {
  EXPECT_EQ(RuleOf("Pod", "spec").child, "PodSpec");
  const FieldRule containers = RuleOf("PodSpec", "containers");
  EXPECT_EQ(containers.merge, ListMerge::kByKey);
  EXPECT_EQ(containers.key, "name");
  EXPECT_EQ(RuleOf(containers.child, "ports").key, "containerPort");
  EXPECT_EQ(RuleOf("ObjectMeta", "finalizers").merge, ListMerge::kSet);
}

TEST(MergeSchema, ListsItDoesNotNameAreAtomic) {
  EXPECT_EQ(RuleOf("NodeSpec", "taints").merge, ListMerge::kAtomic);
  EXPECT_EQ(RuleOf("PodSpec", "tolerations").merge, ListMerge::kAtomic);
  EXPECT_EQ(RuleOf("PodStatus", "containerStatuses").merge, ListMerge::kAtomic);
  EXPECT_EQ(RuleOf("ResourceClaimStatus", "devices").merge, ListMerge::kAtomic);
  EXPECT_EQ(RuleOf("", "anything").child, "");
}

TEST(MergeSchema, EveryBuiltInKindWeUseMergesItsMetadata) {
  for (const kube::Resource* kind :
       {&kube::kNamespaces, &kube::kNodes, &kube::kPods, &kube::kEvents, &kube::kServiceAccounts,
        &kube::kLeases, &kube::kResourceClaims, &kube::kResourceClaimTemplates,
        &kube::kDeviceClasses, &kube::kResourceSlices, &kube::kDeviceTaintRules,
        &kube::kCustomResourceDefinitions}) {
    EXPECT_EQ(RuleOf(RootType(*kind), "metadata").child, "ObjectMeta") << kind->kind;
  }
}

}  // namespace
}  // namespace galen::api_sim
