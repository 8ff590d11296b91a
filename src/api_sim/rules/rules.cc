// Tested by tests/contract/object_test.cc and, kind by kind, by the others of tests/contract.
#include "api_sim/rules/rules.h"

#include "api_sim/objects/custom_definition.h"
#include "api_sim/rules/kind_rules.h"
#include "base/data/base64.h"

namespace galen::api_sim {
namespace {

bool Is(const Kind& kind, const kube::Resource& resource) { return kind.resource == resource; }

void PrepareNamespace(Json& ns) {
  // Upstream gives every namespace its finalizer and a label with its name, to select by.
  ns["spec"]["finalizers"] = Json::MakeArray({"kubernetes"});
  ns["status"]["phase"] = "Active";
  ns["metadata"]["labels"]["kubernetes.io/metadata.name"] = ns["metadata"]["name"];
}

// stringData is for people's convenience: it is stored as data.
void PrepareSecret(Json& secret) {
  const Json plain = std::as_const(secret)["stringData"];
  for (const auto& [key, value] : plain.members()) {
    secret["data"][key] = EncodeBase64(value.AsString());
  }
  secret.Erase("stringData");
}

// An Event is in its object's namespace; those of Nodes and other objects without a namespace are
// in "default" (pkg/apis/core/validation/events.go upstream).
Faults CheckEvent(const Json& event) {
  const std::string& own = event["metadata"]["namespace"].AsString();
  const std::string& ns = event["involvedObject"]["namespace"].AsString();
  if (ns.empty() ? own == "default" : own == ns) return {};
  return {InvalidFault("involvedObject.namespace", ns, "does not match event.namespace")};
}

}  // namespace

void PrepareNew(const Kind& kind, Json& object, WallTime now) {
  if (Is(kind, kube::kNamespaces)) PrepareNamespace(object);
  if (Is(kind, kube::kPods)) PrepareNewPod(object);
  if (kind.resource.kind == "Secret") PrepareSecret(object);
  if (Is(kind, kube::kDeviceTaintRules)) StampRuleTaint(object, now);
  if (Is(kind, kube::kResourceSlices)) StampSliceTaints(object, now);
  if (Is(kind, kube::kResourceClaims)) FillRequestCounts(object["spec"]);
  if (Is(kind, kube::kResourceClaimTemplates)) FillRequestCounts(object["spec"]["spec"]);
  if (Is(kind, kube::kCustomResourceDefinitions)) PrepareDefinition(object, now);
}

void PrepareChanged(const Kind& kind, const Json& before, Json& after, WallTime now) {
  if (Is(kind, kube::kDeviceTaintRules)) StampRuleTaint(after, now);
  if (Is(kind, kube::kResourceSlices)) StampSliceTaints(after, now);
  if (Is(kind, kube::kResourceClaims)) FillRequestCounts(after["spec"]);
  if (Is(kind, kube::kResourceClaimTemplates)) FillRequestCounts(after["spec"]["spec"]);
  if (Is(kind, kube::kCustomResourceDefinitions)) PrepareDefinition(after, now);
  if (kind.resource.kind == "Secret") PrepareSecret(after);
  if (Is(kind, kube::kPods)) KeepPodQosClass(before, after);
}

Faults CheckObject(const Kind& kind, const Json& object) {
  if (Is(kind, kube::kPods)) return CheckPod(object);
  if (Is(kind, kube::kResourceClaims)) return CheckClaimSpec(object["spec"], "spec");
  if (Is(kind, kube::kResourceClaimTemplates)) {
    return CheckClaimSpec(object["spec"]["spec"], "spec.spec");
  }
  if (Is(kind, kube::kResourceSlices)) return CheckSlice(object);
  if (Is(kind, kube::kEvents)) return CheckEvent(object);
  if (Is(kind, kube::kDeviceTaintRules)) return CheckTaintRule(object);
  if (Is(kind, kube::kCustomResourceDefinitions)) return CheckDefinition(object);
  return {};
}

Faults CheckNew(const Kind& kind, const Json& object) {
  return Is(kind, kube::kPods) ? CheckNewPod(object) : Faults{};
}

Faults CheckChange(const Kind& kind, const Json& before, const Json& after,
                   const std::string& subresource) {
  if (Is(kind, kube::kPods)) return CheckPodChange(before, after, subresource);
  if (Is(kind, kube::kResourceClaims)) return CheckClaimChange(before, after);
  if (Is(kind, kube::kResourceSlices)) return CheckSliceChange(before, after);
  if (Is(kind, kube::kResourceClaimTemplates) && before["spec"] != after["spec"])
    return {InvalidFault("spec", after["spec"], "field is immutable")};
  return {};
}

bool StatusWritesMeta(const Kind& kind) {
  return Is(kind, kube::kPods) || Is(kind, kube::kNodes) || Is(kind, kube::kNamespaces);
}

}  // namespace galen::api_sim
