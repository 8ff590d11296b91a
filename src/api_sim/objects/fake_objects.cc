// Tested by agent/app/manager_test.cc, among all that lean on its objects.
#include "api_sim/objects/fake_objects.h"

#include <fmt/core.h>

#include "api_sim/objects/pod_facts.h"
#include "base/data/yaml.h"

namespace galen::api_sim {
namespace {

// Like the server's: an object's own, and the same in every run.
Json Meta(const std::string& ns, const std::string& name) {
  Json meta = Json::MakeObject({{"name", name}, {"uid", "uid-" + ns + "-" + name}});
  if (!ns.empty()) meta["namespace"] = ns;
  return meta;
}

Json DevicesSpec(const std::string& device_class, int count) {
  Json spec =
      Yaml(R"({devices: {requests: [{name: gpu, exactly: {allocationMode: ExactCount}}]}})");
  Json& exactly = spec["devices"]["requests"].MutableItems()[0]["exactly"];
  exactly["deviceClassName"] = device_class;
  exactly["count"] = count;
  return spec;
}

Json Dra(const char* kind, const std::string& ns, const std::string& name, Json spec) {
  return Json::MakeObject({{"apiVersion", "resource.k8s.io/v1"},
                           {"kind", kind},
                           {"metadata", Meta(ns, name)},
                           {"spec", std::move(spec)}});
}

Json WithEntry(Json pod, const std::string& pod_claim, const char* field, const std::string& name) {
  pod["spec"]["resourceClaims"].Append(Json::MakeObject({{"name", pod_claim}, {field, name}}));
  return pod;
}

}  // namespace

Json Yaml(std::string_view text) { return ParseYaml(text).value(); }

Json FakeNode(const std::string& name) {
  Json node = Yaml(R"({apiVersion: v1, kind: Node, spec: {},
                       status: {conditions: [{type: Ready, status: "True"}]}})");
  node["metadata"] = Meta("", name);
  return node;
}

Json FakeClass(const std::string& name, const std::string& driver) {
  Json spec(Json::Object{});
  if (!driver.empty()) {
    const Json cel =
        Json::MakeObject({{"expression", fmt::format("device.driver == \"{}\"", driver)}});
    spec["selectors"].Append(Json::MakeObject({{"cel", cel}}));
  }
  return Dra("DeviceClass", "", name, std::move(spec));
}

Json FakeSlice(const std::string& driver, const std::string& node,
               const std::vector<std::string>& devices) {
  Json spec = Json::MakeObject({{"driver", driver}, {"nodeName", node}});
  spec["pool"] = Json::MakeObject({{"name", node}, {"generation", 1}, {"resourceSliceCount", 1}});
  for (const std::string& device : devices) {
    spec["devices"].Append(Json::MakeObject({{"name", device}}));
  }
  return Dra("ResourceSlice", "", node + "-" + driver, std::move(spec));
}

Json FakeClaim(const std::string& name, const std::string& device_class, int count) {
  return Dra("ResourceClaim", "default", name, DevicesSpec(device_class, count));
}

Json FakeTemplate(const std::string& name, const std::string& device_class, int count) {
  return Dra("ResourceClaimTemplate", "default", name,
             Json::MakeObject({{"spec", DevicesSpec(device_class, count)}}));
}

Json FakePod(const std::string& name) {
  Json pod = Yaml(R"({apiVersion: v1, kind: Pod, status: {phase: Pending},
                      spec: {containers: [{name: main, image: pause}]}})");
  pod["metadata"] = Meta("default", name);
  return pod;
}

Json WithClaim(Json pod, const std::string& pod_claim, const std::string& claim) {
  return WithEntry(std::move(pod), pod_claim, "resourceClaimName", claim);
}

Json WithTemplate(Json pod, const std::string& pod_claim, const std::string& claim_template) {
  return WithEntry(std::move(pod), pod_claim, "resourceClaimTemplateName", claim_template);
}

std::map<ObjectKey, Json> ByName(const std::vector<Json>& objects) {
  std::map<ObjectKey, Json> named;
  for (const Json& object : objects) named.emplace(KeyOf(object), object);
  return named;
}

}  // namespace galen::api_sim
