#include "cli/placement/pod_question.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace galen::cli {
namespace {

ObjectKey ObjectKeyOf(const Json& object) {
  const Json& meta = object["metadata"];
  return {meta["namespace"].AsString(), meta["name"].AsString()};
}

// A claim as a template would make it.
Json ClaimOfTemplate(const Json& claim_template, const std::string& name) {
  Json claim = claim_template["spec"];
  claim["metadata"]["namespace"] = claim_template["metadata"]["namespace"];
  claim["metadata"]["name"] = name;
  return claim;
}

// The ResourceClaim that was made for an entry of the Pod's claims; "": none yet.
std::string MadeFor(const Json& pod, const std::string& entry) {
  for (const Json& status : pod["status"]["resourceClaimStatuses"].items()) {
    if (status["name"].AsString() == entry) return status["resourceClaimName"].AsString();
  }
  return "";
}

StatusOr<Json> ClaimOfEntry(const Json& pod, const Json& entry, const Lookup& lookup) {
  const std::string& ns = pod["metadata"]["namespace"].AsString();
  const std::string& own = entry["name"].AsString();
  const std::string& named = entry["resourceClaimName"].AsString();
  const std::string made = named.empty() ? MadeFor(pod, own) : named;
  if (!made.empty()) return lookup(kube::kResourceClaims, {ns, made});
  ASSIGN_OR_RETURN(
      const Json claim_template,
      lookup(kube::kResourceClaimTemplates, {ns, entry["resourceClaimTemplateName"].AsString()}));
  return ClaimOfTemplate(claim_template, fmt::format("{}-{}", ObjectKeyOf(pod).name, own));
}

// A claim without devices is asked for; one that has them says where the Pod must go.
Status AddToQuestion(const Json& object, alloc::Question& question) {
  ASSIGN_OR_RETURN(alloc::ResourceClaim claim, alloc::ReadResourceClaim(object));
  if (!claim.allocation) {
    question.claims.push_back(alloc::WithDefaults(std::move(claim)));
  } else if (claim.allocation->node_selector) {
    question.reach.held.push_back(*claim.allocation->node_selector);
  }
  return OkStatus();
}

// A name with a domain is a resource of a device plugin, or of a DeviceClass.
bool WantsExtendedResources(const Json& pod) {
  const auto wants = [](const Json& container) {
    const auto& limits = container["resources"]["limits"].members();
    return std::any_of(limits.begin(), limits.end(), [](const auto& limit) {
      return limit.first.find('/') != std::string::npos;
    });
  };
  const auto& containers = pod["spec"]["containers"].items();
  return std::any_of(containers.begin(), containers.end(), wants);
}

bool IsOfKind(const Json& document, std::string_view kind) {
  return document["kind"].AsString() == kind;
}

// A Pod as the workload would make it; null for a document that is none.
Json PodIn(const Json& document) {
  if (IsOfKind(document, "Pod")) return document;
  if (IsOfKind(document, "CronJob")) {
    Json pod = document["spec"]["jobTemplate"]["spec"]["template"];
    pod["metadata"]["name"] = document["metadata"]["name"];
    return pod;
  }
  constexpr std::array<std::string_view, 5> kWorkloads = {"Deployment", "Job", "StatefulSet",
                                                          "DaemonSet", "ReplicaSet"};
  const bool workload =
      std::any_of(kWorkloads.begin(), kWorkloads.end(),
                  [&](std::string_view kind) { return IsOfKind(document, kind); });
  if (!workload) return Json();
  Json pod = document["spec"]["template"];
  pod["metadata"]["name"] = document["metadata"]["name"];
  return pod;
}

Json InNamespace(Json object, const std::string& ns) {
  if (object["metadata"]["namespace"].AsString().empty()) object["metadata"]["namespace"] = ns;
  return object;
}

}  // namespace

StatusOr<PodQuestion> QuestionOfPod(const Json& pod, const Lookup& lookup) {
  PodQuestion asked{.subject = "Pod " + ToString(ObjectKeyOf(pod)),
                    .question = {.reach = alloc::ReadPodReach(pod)},
                    .placed_on = pod["spec"]["nodeName"].AsString()};
  for (const Json& entry : pod["spec"]["resourceClaims"].items()) {
    ASSIGN_OR_RETURN(const Json claim, ClaimOfEntry(pod, entry, lookup));
    RETURN_IF_ERROR(AddToQuestion(claim, asked.question));
  }
  if (WantsExtendedResources(pod)) {
    asked.notes.push_back("its extended resources are not looked at, only its claims");
  }
  return asked;
}

StatusOr<PodQuestion> QuestionOfClaim(const Json& claim) {
  PodQuestion asked{.subject = "claim " + ToString(ObjectKeyOf(claim))};
  RETURN_IF_ERROR(AddToQuestion(claim, asked.question));
  return asked;
}

StatusOr<std::vector<Json>> ManifestObjects(const std::vector<Json>& documents) {
  std::vector<Json> objects;
  for (const Json& document : documents) {
    for (const std::string_view part : {"metadata", "spec"}) {
      const Json& member = document[part];
      if (document.is_object() && (member.is_null() || member.is_object())) continue;
      return InvalidArgument("document {} is no Kubernetes object", objects.size() + 1);
    }
    if (!IsOfKind(document, "List")) {
      objects.push_back(document);
      continue;
    }
    ASSIGN_OR_RETURN(const std::vector<Json> items, ManifestObjects(document["items"].items()));
    objects.insert(objects.end(), items.begin(), items.end());
  }
  return objects;
}

StatusOr<PodQuestion> QuestionOfManifest(const std::vector<Json>& documents, const std::string& ns,
                                         const Lookup& lookup, alloc::Picture& picture) {
  std::map<std::pair<std::string, ObjectKey>, Json> own;
  Json pod, claim;
  for (const Json& plain : documents) {
    const Json document = InNamespace(plain, ns);
    own[{document["kind"].AsString(), ObjectKeyOf(document)}] = document;
    if (pod.is_null()) {
      Json found = PodIn(document);
      if (!found.is_null()) pod = InNamespace(std::move(found), ns);
    }
    if (!claim.is_null()) continue;
    if (IsOfKind(document, "ResourceClaim")) claim = document;
    if (IsOfKind(document, "ResourceClaimTemplate")) {
      claim = ClaimOfTemplate(document, ObjectKeyOf(document).name);
    }
  }
  for (const Json& document : documents) {
    if (!IsOfKind(document, "DeviceClass")) continue;
    alloc::DeviceClass read = alloc::ReadDeviceClass(document);
    picture.classes.insert_or_assign(read.name, std::move(read));
  }
  if (!pod.is_null()) {
    return QuestionOfPod(pod,
                         [&](const kube::Resource& kind, const ObjectKey& key) -> StatusOr<Json> {
                           const auto found = own.find({kind.kind, key});
                           return found != own.end() ? found->second : lookup(kind, key);
                         });
  }
  if (!claim.is_null()) return QuestionOfClaim(claim);
  return InvalidArgument(
      "there is no Pod, workload, ResourceClaim or ResourceClaimTemplate in the manifest");
}

}  // namespace galen::cli
