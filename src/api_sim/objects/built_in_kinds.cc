// Tested by kinds_test.cc and tests/contract/table_test.cc.
// The rows of the kind table that a cluster has before anyone defines more: what this product reads
// and writes, and what kubectl needs beside it. Columns, short names and selectable fields are
// those of Kubernetes 1.37.
#include "api_sim/objects/built_in_types.h"
#include "api_sim/objects/kinds.h"

namespace galen::api_sim {
namespace {

const Column kName{.name = "Name", .format = "name", .path = ".metadata.name"};
const Column kAge{.name = "Age", .type = "date", .path = ".metadata.creationTimestamp"};

// A column that code computes from the object, see table.cc.
Column Made(std::string name, int priority = 0, std::string type = "string") {
  return {.name = std::move(name), .type = std::move(type), .priority = priority};
}

// A column that shows one field of the object.
Column At(std::string name, std::string path) {
  return {.name = std::move(name), .path = std::move(path)};
}

// The common part of most kinds; the caller fills in the rest.
Kind Row(const kube::Resource& resource, std::string singular, std::vector<std::string> short_names,
         std::vector<Column> columns) {
  Kind kind{.resource = resource,
            .singular = std::move(singular),
            .list_kind = resource.kind + "List",
            .short_names = std::move(short_names),
            .categories = {},
            .subresources = {},
            .selectable_fields = {},
            .columns = std::move(columns)};
  kind.schema = BuiltInSchema(resource.kind);
  return kind;
}

Kind PodKind() {
  Kind kind = Row(kube::kPods, "pod", {"po"},
                  {kName, Made("Ready"), Made("Status"), Made("Restarts"), kAge, Made("IP", 1),
                   Made("Node", 1), Made("Nominated Node", 1), Made("Readiness Gates", 1)});
  // `kubectl get all` shows Pods.
  kind.categories = {"all"};
  // Bind a Pod to its node, evict it as disruption budgets allow, and add a container to a running
  // Pod (`kubectl debug`).
  kind.subresources = {"binding", "ephemeralcontainers", "eviction"};
  kind.selectable_fields = {
      "spec.nodeName", "spec.restartPolicy", "spec.schedulerName",      "spec.hostNetwork",
      "status.phase",  "status.podIP",       "spec.serviceAccountName", "status.nominatedNodeName"};
  kind.has_status = kind.counts_generations = true;
  return kind;
}

Kind NodeKind() {
  Kind kind = Row(kube::kNodes, "node", {"no"},
                  {kName, Made("Status"), Made("Roles"), kAge, Made("Version"),
                   Made("Internal-IP", 1), Made("External-IP", 1), Made("OS-Image", 1),
                   Made("Kernel-Version", 1), Made("Container-Runtime", 1)});
  kind.selectable_fields = {"spec.unschedulable"};
  kind.has_status = true;
  return kind;
}

Kind EventKind() {
  Kind kind = Row(kube::kEvents, "event", {"ev"},
                  {Made("Last Seen"),
                   At("Type", ".type"),
                   At("Reason", ".reason"),
                   Made("Object"),
                   Made("Subobject", 1),
                   Made("Source", 1),
                   At("Message", ".message"),
                   Made("First Seen", 1),
                   Made("Count", 1),
                   {.name = "Name", .priority = 1, .path = ".metadata.name"}});
  for (const char* field :
       {"kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"}) {
    kind.selectable_fields.push_back(std::string("involvedObject.") + field);
  }
  for (const char* field : {"reason", "reportingComponent", "source", "type"}) {
    kind.selectable_fields.push_back(field);
  }
  return kind;
}

void AddCore(std::vector<Kind>& kinds) {
  Kind ns =
      Row(kube::kNamespaces, "namespace", {"ns"}, {kName, At("Status", ".status.phase"), kAge});
  ns.has_status = true;
  ns.selectable_fields = {"status.phase"};
  kinds.push_back(std::move(ns));
  kinds.push_back(NodeKind());
  kinds.push_back(PodKind());
  kinds.push_back(EventKind());
  kinds.push_back(Row(kube::kServiceAccounts, "serviceaccount", {"sa"},
                      {kName, Made("Secrets", 0, "integer"), kAge}));
  kinds.push_back(Row({"", "v1", "configmaps", "ConfigMap"}, "configmap", {"cm"},
                      {kName, Made("Data", 0, "integer"), kAge}));
  Kind secret = Row({"", "v1", "secrets", "Secret"}, "secret", {},
                    {kName, At("Type", ".type"), Made("Data", 0, "integer"), kAge});
  secret.selectable_fields = {"type"};
  kinds.push_back(std::move(secret));
}

void AddDeviceKinds(std::vector<Kind>& kinds) {
  Kind claim = Row(kube::kResourceClaims, "resourceclaim", {}, {kName, Made("State"), kAge});
  claim.has_status = true;
  kinds.push_back(std::move(claim));
  kinds.push_back(Row(kube::kResourceClaimTemplates, "resourceclaimtemplate", {}, {kName, kAge}));
  Kind device_class = Row(kube::kDeviceClasses, "deviceclass", {}, {kName, kAge});
  device_class.counts_generations = true;
  kinds.push_back(std::move(device_class));
  Kind slice =
      Row(kube::kResourceSlices, "resourceslice", {},
          {kName, Made("Node"), At("Driver", ".spec.driver"), At("Pool", ".spec.pool.name"), kAge});
  slice.counts_generations = true;
  // spec.pool.name came with 1.37; the kubelet deletes a driver's slices by the first two.
  slice.selectable_fields = {"spec.nodeName", "spec.driver", "spec.pool.name"};
  kinds.push_back(std::move(slice));
  Kind rule = Row(kube::kDeviceTaintRules, "devicetaintrule", {}, {kName, kAge});
  rule.has_status = rule.counts_generations = true;
  kinds.push_back(std::move(rule));
}

}  // namespace

std::vector<Kind> BuiltInKinds() {
  std::vector<Kind> kinds;
  AddCore(kinds);
  AddDeviceKinds(kinds);
  Kind lease = Row(kube::kLeases, "lease", {}, {kName, At("Holder", ".spec.holderIdentity"), kAge});
  // As upstream: a kubelet may renew a lease that was deleted under it.
  lease.put_creates = true;
  kinds.push_back(std::move(lease));
  Kind budget = Row({"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"},
                    "poddisruptionbudget", {"pdb"},
                    {kName, Made("Min Available"), Made("Max Unavailable"),
                     Made("Allowed Disruptions", 0, "integer"), kAge});
  budget.has_status = budget.counts_generations = true;
  kinds.push_back(std::move(budget));
  Kind definition = Row(kube::kCustomResourceDefinitions, "customresourcedefinition",
                        {"crd", "crds"}, {kName, At("Created At", ".metadata.creationTimestamp")});
  definition.categories = {"api-extensions"};
  definition.has_status = definition.counts_generations = true;
  kinds.push_back(std::move(definition));
  return kinds;
}

}  // namespace galen::api_sim
