#include "bench/manifest.h"

namespace galen::bench {
namespace {

Json Meta(std::string_view name, bool namespaced) {
  Json meta = Json::MakeObject({{"name", name}});
  if (namespaced) meta["namespace"] = kNamespace;
  return meta;
}

Manifest Object(const kube::Resource& resource, std::string_view name, Json spec) {
  Json object = Json::MakeObject({{"apiVersion", resource.api_version()},
                                  {"kind", resource.kind},
                                  {"metadata", Meta(name, resource.namespaced)}});
  if (!spec.is_null()) object["spec"] = std::move(spec);
  return {resource, std::move(object)};
}

Json ClassSpec(const std::string& driver) {
  const Json selector = Json::MakeObject(
      {{"cel", Json::MakeObject({{"expression", "device.driver == \"" + driver + "\""}})}});
  return Json::MakeObject({{"selectors", Json::MakeArray({selector})}});
}

Json TemplateSpec(const PodPlan& plan) {
  const Json exactly = Json::MakeObject({{"deviceClassName", plan.driver},
                                         {"allocationMode", "ExactCount"},
                                         {"count", plan.devices}});
  const Json request = Json::MakeObject({{"name", "device"}, {"exactly", exactly}});
  const Json devices = Json::MakeObject({{"requests", Json::MakeArray({request})}});
  return Json::MakeObject({{"spec", Json::MakeObject({{"devices", devices}})}});
}

Json PodSpec(const std::string& driver) {
  const Json claim = Json::MakeObject({{"name", "device"}, {"resourceClaimTemplateName", driver}});
  const Json use = Json::MakeObject({{"name", "device"}});
  const Json container =
      Json::MakeObject({{"name", "work"},
                        {"image", "example.com/work:1"},
                        {"resources", Json::MakeObject({{"claims", Json::MakeArray({use})}})}});
  // Measured on a virtual node, too.
  const Json toleration = Json::MakeObject({{"key", "galen.dev/virtual"}, {"operator", "Exists"}});
  return Json::MakeObject({{"resourceClaims", Json::MakeArray({claim})},
                           {"containers", Json::MakeArray({container})},
                           {"tolerations", Json::MakeArray({toleration})}});
}

}  // namespace

std::string PodName(int index) { return "pod-" + std::to_string(index); }

Manifest Namespace() { return Object(kube::kNamespaces, kNamespace, nullptr); }

std::vector<Manifest> ClassOf(const PodPlan& plan) {
  return {Object(kube::kDeviceClasses, plan.driver, ClassSpec(plan.driver)),
          Object(kube::kResourceClaimTemplates, plan.driver, TemplateSpec(plan))};
}

std::vector<Manifest> PodsOf(const PodPlan& plan) {
  std::vector<Manifest> pods;
  for (int i = plan.first; i < plan.first + plan.count; ++i) {
    pods.push_back(Object(kube::kPods, PodName(i), PodSpec(plan.driver)));
  }
  return pods;
}

}  // namespace galen::bench
