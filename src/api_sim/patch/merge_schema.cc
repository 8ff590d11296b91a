#include "api_sim/patch/merge_schema.h"

#include <algorithm>
#include <iterator>

namespace galen::api_sim {
namespace {

constexpr auto kByKey = ListMerge::kByKey;
constexpr auto kAsSet = ListMerge::kSet;

// Facts from https://github.com/kubernetes/api at v1.36 (core/v1 and resource/v1 types.go) and from
// apimachinery's ObjectMeta.
constexpr FieldRule kRules[] = {
    {"ObjectMeta", "ownerReferences", "", kByKey, "uid"},
    {"ObjectMeta", "finalizers", "", kAsSet, ""},

    {"Pod", "metadata", "ObjectMeta"},
    {"Pod", "spec", "PodSpec"},
    {"Pod", "status", "PodStatus"},
    {"PodSpec", "volumes", "", kByKey, "name"},
    {"PodSpec", "containers", "Container", kByKey, "name"},
    {"PodSpec", "initContainers", "Container", kByKey, "name"},
    {"PodSpec", "ephemeralContainers", "Container", kByKey, "name"},
    {"PodSpec", "imagePullSecrets", "", kByKey, "name"},
    {"PodSpec", "hostAliases", "", kByKey, "ip"},
    {"PodSpec", "topologySpreadConstraints", "", kByKey, "topologyKey"},
    {"PodSpec", "schedulingGates", "", kByKey, "name"},
    {"PodSpec", "resourceClaims", "", kByKey, "name"},
    {"PodSpec", "evictionResponders", "", kByKey, "name"},
    {"Container", "ports", "", kByKey, "containerPort"},
    {"Container", "env", "", kByKey, "name"},
    {"Container", "volumeMounts", "", kByKey, "mountPath"},
    {"Container", "volumeDevices", "", kByKey, "devicePath"},
    {"PodStatus", "conditions", "", kByKey, "type"},
    {"PodStatus", "hostIPs", "", kByKey, "ip"},
    {"PodStatus", "podIPs", "", kByKey, "ip"},
    {"PodStatus", "resourceClaimStatuses", "", kByKey, "name"},
    {"PodStatus", "nodeAllocatableResourceClaimStatuses", "NodeAllocatableClaim", kByKey,
     "resourceClaimName"},
    {"NodeAllocatableClaim", "mapping", "", kByKey, "name"},
    {"NodeAllocatableClaim", "overhead", "", kByKey, "name"},

    {"Node", "metadata", "ObjectMeta"},
    {"Node", "spec", "NodeSpec"},
    {"Node", "status", "NodeStatus"},
    {"NodeSpec", "podCIDRs", "", kAsSet, ""},
    {"NodeStatus", "conditions", "", kByKey, "type"},
    {"NodeStatus", "addresses", "", kByKey, "type"},

    {"Namespace", "metadata", "ObjectMeta"},
    {"Namespace", "status", "NamespaceStatus"},
    {"NamespaceStatus", "conditions", "", kByKey, "type"},

    {"ServiceAccount", "metadata", "ObjectMeta"},
    {"ServiceAccount", "secrets", "", kByKey, "name"},

    {"ResourceClaim", "metadata", "ObjectMeta"},
    {"ResourceClaim", "status", "ResourceClaimStatus"},
    {"ResourceClaimStatus", "reservedFor", "", kByKey, "uid"},
    {"ResourceClaimTemplate", "metadata", "ObjectMeta"},
    {"ResourceClaimTemplate", "spec", "ResourceClaimTemplateSpec"},
    {"ResourceClaimTemplateSpec", "metadata", "ObjectMeta"},
    {"DeviceTaintRule", "metadata", "ObjectMeta"},
    {"DeviceTaintRule", "status", "DeviceTaintRuleStatus"},
    {"DeviceTaintRuleStatus", "conditions", "", kByKey, "type"},

    {"Event", "metadata", "ObjectMeta"},
    {"Lease", "metadata", "ObjectMeta"},
    {"DeviceClass", "metadata", "ObjectMeta"},
    {"ResourceSlice", "metadata", "ObjectMeta"},
    {"CustomResourceDefinition", "metadata", "ObjectMeta"},
};

// Groups that kube-apiserver serves from compiled types; all others are custom resources.
constexpr std::string_view kBuiltInGroups[] = {"", "apiextensions.k8s.io", "coordination.k8s.io",
                                               "events.k8s.io", "resource.k8s.io"};

}  // namespace

std::string_view RootType(const kube::Resource& resource) {
  const bool built_in =
      std::ranges::find(kBuiltInGroups, resource.group) != std::end(kBuiltInGroups);
  return built_in ? std::string_view(resource.kind) : std::string_view();
}

FieldRule RuleOf(std::string_view type, std::string_view field) {
  // A few dozen rows, looked at once for each member of a patch: no index is needed.
  const auto* it = std::ranges::find_if(
      kRules, [&](const FieldRule& rule) { return rule.type == type && rule.field == field; });
  return it != std::end(kRules) ? *it : FieldRule{type, field, ""};
}

}  // namespace galen::api_sim
