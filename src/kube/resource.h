// Kinds of the Kubernetes API as values: where they live in its URLs and what they are called. A
// new kind is a line here.
#pragma once

#include <compare>
#include <string>

namespace galen::kube {

// The four names of a kind and its scope; a value that is compared and used as a key.
struct Resource {
  std::string group;  // "" is the core group
  std::string version;
  // As in URLs: "pods".
  std::string plural;
  // As in objects: "Pod".
  std::string kind;
  bool namespaced = true;

  auto operator<=>(const Resource&) const = default;
  std::string api_version() const { return group.empty() ? version : group + "/" + version; }
};

// Served by kube-apiserver. resource.k8s.io/v1 since 1.34; its DeviceTaintRule since 1.37.
inline const Resource kNamespaces{"", "v1", "namespaces", "Namespace", false};
inline const Resource kNodes{"", "v1", "nodes", "Node", false};
inline const Resource kPods{"", "v1", "pods", "Pod", true};
inline const Resource kEvents{"", "v1", "events", "Event", true};
inline const Resource kServiceAccounts{"", "v1", "serviceaccounts", "ServiceAccount", true};
inline const Resource kLeases{"coordination.k8s.io", "v1", "leases", "Lease", true};
inline const Resource kResourceClaims{"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim",
                                      true};
inline const Resource kResourceClaimTemplates{"resource.k8s.io", "v1", "resourceclaimtemplates",
                                              "ResourceClaimTemplate", true};
inline const Resource kDeviceClasses{"resource.k8s.io", "v1", "deviceclasses", "DeviceClass",
                                     false};
inline const Resource kResourceSlices{"resource.k8s.io", "v1", "resourceslices", "ResourceSlice",
                                      false};
inline const Resource kDeviceTaintRules{"resource.k8s.io", "v1", "devicetaintrules",
                                        "DeviceTaintRule", false};
inline const Resource kCustomResourceDefinitions{
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false};
// Ours: deploy/crds/nodedevicehealths.yaml.
inline const Resource kNodeDeviceHealths{"galen.dev", "v1alpha1", "nodedevicehealths",
                                         "NodeDeviceHealth", false};

}  // namespace galen::kube
