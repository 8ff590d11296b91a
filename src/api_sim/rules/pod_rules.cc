// Tested by tests/contract/pod_status_test.cc, and tests/contract/pod_claims_test.cc for claims.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "api_sim/objects/schema.h"
#include "api_sim/rules/ephemeral_containers.h"
#include "api_sim/rules/kind_rules.h"
#include "base/text.h"

namespace galen::api_sim {
namespace {

void CheckClaimName(const Json& name, const std::string& path, Faults& faults) {
  if (IsDnsSubdomain(name.AsString())) return;
  faults.push_back(InvalidFault(path, name, "must be a DNS subdomain (RFC 1123)"));
}

bool HasPodClaim(const Json& pod, const std::string& name) {
  const Json::Array& claims = pod["spec"]["resourceClaims"].items();
  return std::any_of(claims.begin(), claims.end(),
                     [&](const Json& claim) { return claim["name"].AsString() == name; });
}

// Null when the Pod has neither a container nor an init container of that name; ephemeral ones
// request nothing.
const Json& FindContainer(const Json& pod, const std::string& name) {
  static const Json kNone;
  for (const char* list : {"initContainers", "containers"}) {
    for (const Json& container : pod["spec"][list].items()) {
      if (container["name"].AsString() == name) return container;
    }
  }
  return kNone;
}

void CheckMapping(const Json& pod, const Json& mapping, const std::string& path, Faults& faults) {
  const Json& container = FindContainer(pod, mapping["containerName"].AsString());
  if (container.is_null()) {
    faults.push_back(InvalidFault(Under(path, "containerName"), mapping["containerName"],
                                  "must match the name of an entry in spec.initContainers.name or "
                                  "spec.containers.name"));
  } else if (!container["resources"]["requests"].Has(mapping["resourceName"].AsString())) {
    faults.push_back(InvalidFault(Under(path, "resourceName"), mapping["resourceName"],
                                  "must match the extended resource name of an entry in "
                                  "spec.initContainers.resources.requests or "
                                  "spec.containers.resources.requests"));
  }
}

// status.resourceClaimStatuses (DRA): each names an entry of spec.resourceClaims, once.
Faults CheckClaimStatuses(const Json& pod) {
  Faults faults;
  std::set<std::string> names;
  const Json& statuses = pod["status"]["resourceClaimStatuses"];
  for (std::size_t i = 0; i < statuses.items().size(); ++i) {
    const std::string path = ItemOf("status.resourceClaimStatuses", i);
    const std::string& name = statuses[i]["name"].AsString();
    if (!HasPodClaim(pod, name)) {
      faults.push_back(InvalidFault(Under(path, "name"), name,
                                    "must match the name of an entry in `spec.resourceClaims`"));
    }
    if (!names.insert(name).second) faults.push_back(DuplicateFault(Under(path, "name"), name));
    // One without a claim says that none is needed.
    if (const Json* claim = statuses[i].Find("resourceClaimName"); claim != nullptr) {
      CheckClaimName(*claim, Under(path, "resourceClaimName"), faults);
    }
  }
  return faults;
}

// status.extendedResourceClaimStatus (KEP-5004): a claim, and at least one mapping; each mapping is
// of a container or init container that requests the resource, and none is listed twice.
Faults CheckExtendedResourceClaim(const Json& pod) {
  Faults faults;
  const Json& status = pod["status"]["extendedResourceClaimStatus"];
  if (status.is_null()) return faults;
  const std::string at = "status.extendedResourceClaimStatus";
  const Json& mappings = status["requestMappings"];
  if (mappings.items().empty()) {
    faults.push_back(
        RequiredFault(Under(at, "requestMappings"), "at least one request mapping is required"));
  }
  std::set<std::tuple<std::string, std::string, std::string>> seen;
  for (std::size_t i = 0; i < mappings.items().size(); ++i) {
    const std::string path = ItemOf(Under(at, "requestMappings"), i);
    const auto text = [&](const char* field) { return mappings[i][field].AsString(); };
    CheckMapping(pod, mappings[i], path, faults);
    if (!IsDnsLabel(text("requestName"))) {
      faults.push_back(InvalidFault(Under(at, "requestName"), mappings[i]["requestName"],
                                    "must be a DNS label (RFC 1123)"));
    }
    if (seen.emplace(text("containerName"), text("resourceName"), text("requestName")).second) {
      continue;
    }
    for (const char* field : {"containerName", "resourceName", "requestName"}) {
      faults.push_back(DuplicateFault(Under(path, field), mappings[i][field]));
    }
  }
  const Json& claim = status["resourceClaimName"];
  if (claim.AsString().empty()) {
    faults.push_back(RequiredFault(Under(at, "resourceClaimName")));
  } else {
    CheckClaimName(claim, Under(at, "resourceClaimName"), faults);
  }
  return faults;
}

// Whether `container` may report devices as `name`: as the claim that was made for its extended
// resources, "claim:CLAIM/REQUEST" with the name of the ResourceClaim, for the Pod has none of its
// own for it. The container must request more than none of the resource.
bool HasExtendedResourceClaim(const Json& pod, const Json& container, std::string_view name) {
  const Json& claim = pod["status"]["extendedResourceClaimStatus"];
  const Json::Array& mappings = claim["requestMappings"].items();
  return std::any_of(mappings.begin(), mappings.end(), [&](const Json& mapping) {
    const Json& requested = container["resources"]["requests"][mapping["resourceName"].AsString()];
    // Extended resources are whole numbers; "0" and 0 are both written.
    const bool some = !requested.is_null() && requested.AsString() != "0" && requested != Json(0);
    return some && mapping["containerName"] == container["name"] &&
           name == fmt::format("claim:{}/{}", claim["resourceClaimName"].AsString(),
                               mapping["requestName"].AsString());
  });
}

constexpr const char* kContainerLists[] = {"initContainers", "containers"};

const Json& FindByName(const Json& list, const std::string& name) {
  static const Json kNone;
  const auto it = std::find_if(list.items().begin(), list.items().end(),
                               [&](const Json& item) { return item["name"].AsString() == name; });
  return it == list.items().end() ? kNone : *it;
}

void CheckContainerClaims(const Json& pod, const Json& container, const std::string& path,
                          Faults& faults) {
  const Json& claims = container["resources"]["claims"];
  for (std::size_t i = 0; i < claims.items().size(); ++i) {
    const std::string item = ItemOf(Under(path, "resources.claims"), i);
    const std::string& name = claims[i]["name"].AsString();
    if (name.empty()) {
      faults.push_back(RequiredFault(Under(item, "name")));
    } else if (FindByName(pod["spec"]["resourceClaims"], name).is_null()) {
      faults.push_back(
          {"FieldValueNotFound", Under(item, "name"), fmt::format("Not found: \"{}\"", name)});
    }
  }
}

void CheckContainers(const Json& pod, Faults& faults) {
  if (pod["spec"]["containers"].items().empty()) faults.push_back(RequiredFault("spec.containers"));
  std::set<std::string> names;
  for (const char* list : kContainerLists) {
    const Json& containers = pod["spec"][list];
    for (std::size_t i = 0; i < containers.items().size(); ++i) {
      const std::string path = ItemOf(Under("spec", list), i);
      const std::string& name = containers[i]["name"].AsString();
      if (name.empty()) {
        faults.push_back(RequiredFault(Under(path, "name")));
      } else if (!IsDnsLabel(name)) {
        faults.push_back(InvalidFault(Under(path, "name"), name, "must be a DNS label (RFC 1123)"));
      } else if (!names.insert(name).second) {
        faults.push_back(DuplicateFault(Under(path, "name"), name));
      }
      if (containers[i]["image"].AsString().empty()) {
        faults.push_back(RequiredFault(Under(path, "image")));
      }
      CheckContainerClaims(pod, containers[i], path, faults);
    }
  }
}

void CheckPodClaims(const Json& pod, Faults& faults) {
  const Json& claims = pod["spec"]["resourceClaims"];
  for (std::size_t i = 0; i < claims.items().size(); ++i) {
    const std::string path = ItemOf("spec.resourceClaims", i);
    if (!IsDnsLabel(claims[i]["name"].AsString())) {
      faults.push_back(
          InvalidFault(Under(path, "name"), claims[i]["name"], "must be a DNS label (RFC 1123)"));
    }
    // Exactly one of the two: both or neither are equal here and refused below.
    const bool named = claims[i].Has("resourceClaimName");
    if (named != claims[i].Has("resourceClaimTemplateName")) continue;
    faults.push_back(InvalidFault(
        path, claims[i],
        named ? "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
              : "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"));
  }
}

// Whether the container may report a resource under this name as one of its claims: "claim:NAME"
// where it names no request, "claim:NAME/REQUEST" where it does.
bool HasClaim(const Json& container, const std::string& name) {
  const Json::Array& claims = container["resources"]["claims"].items();
  return std::any_of(claims.begin(), claims.end(), [&name](const Json& claim) {
    const std::string& request = claim["request"].AsString();
    const std::string own = "claim:" + claim["name"].AsString();
    return name == (request.empty() ? own : own + "/" + request);
  });
}

// The resources of one entry of allocatedResourcesStatus: known states, ids of their own, and a
// message that is short or not there at all.
void CheckHealths(const Json& entry, const std::string& path, Faults& faults) {
  std::set<std::string> ids;
  for (std::size_t i = 0; i < entry["resources"].items().size(); ++i) {
    const Json& resource = entry["resources"][i];
    const std::string item = ItemOf(Under(path, "resources"), i);
    const std::string& health = resource["health"].AsString();
    if (health != "Healthy" && health != "Unhealthy" && health != "Unknown") {
      faults.push_back(
          NotSupportedFault(Under(item, "health"), health, {"Healthy", "Unhealthy", "Unknown"}));
    }
    if (!ids.insert(resource["resourceID"].AsString()).second) {
      faults.push_back(DuplicateFault(Under(item, "resourceID"), resource["resourceID"]));
    }
    const Json* message = resource.Find("message");
    if (message == nullptr) continue;
    if (message->AsString().empty()) {
      faults.push_back(RequiredFault(Under(item, "message"), "must be non-empty if specified"));
    }
    if (message->AsString().size() > kHealthMessageBytesMax) {
      faults.push_back(TooLongFault(Under(item, "message"), kHealthMessageBytesMax));
    }
  }
}

void CheckAllocatedResources(const Json& pod, const Json& status, const Json& container,
                             const std::string& path, Faults& faults) {
  const Json& entries = status["allocatedResourcesStatus"];
  for (std::size_t i = 0; i < entries.items().size(); ++i) {
    const std::string item = ItemOf(Under(path, "allocatedResourcesStatus"), i);
    const std::string& name = entries[i]["name"].AsString();
    const bool of_claim = name.rfind("claim:", 0) == 0;
    if (container.is_null()) {
      // A status of a container that the spec lacks is let through, as upstream does.
    } else if (of_claim && !HasClaim(container, name) &&
               !HasExtendedResourceClaim(pod, container, name)) {
      faults.push_back(InvalidFault(Under(item, "name"), name,
                                    "must match one of the container's resource claims in a format "
                                    "'claim:<claimName>/<requestName>' or 'claim:<claimName>'"));
    } else if (!of_claim && !container["resources"]["requests"].Has(name)) {
      faults.push_back(InvalidFault(Under(item, "name"), name,
                                    "must match one of the container's resource requests"));
    }
    CheckHealths(entries[i], item, faults);
  }
}

void CheckStatuses(const Json& pod, const char* statuses, const char* containers, Faults& faults) {
  const Json& list = pod["status"][statuses];
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    CheckAllocatedResources(pod, list[i],
                            FindByName(pod["spec"][containers], list[i]["name"].AsString()),
                            ItemOf(Under("status", statuses), i), faults);
  }
}

// The spec without the fields that may change after creation.
Json FixedSpec(const Json& pod, bool binding) {
  Json spec = pod["spec"];
  // Upstream lets these change, tolerations by addition only, which HasAllTolerations() sees to.
  for (const char* field : {"activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds",
                            "schedulingGates"}) {
    spec.Erase(field);
  }
  if (binding) spec.Erase("nodeName");
  for (const char* list : kContainerLists) {
    if (!spec.Has(list)) continue;
    for (Json& container : spec[list].MutableItems()) container.Erase("image");
  }
  return spec;
}

// Tolerations may be added, and their seconds changed; none may be removed.
bool HasAllTolerations(const Json& before, const Json& after) {
  const Json::Array& now = after["spec"]["tolerations"].items();
  const Json::Array& old = before["spec"]["tolerations"].items();
  return std::all_of(old.begin(), old.end(), [&now](const Json& toleration) {
    return std::any_of(now.begin(), now.end(), [&toleration](const Json& other) {
      Json a = toleration, b = other;
      a.Erase("tolerationSeconds");
      b.Erase("tolerationSeconds");
      return a == b;
    });
  });
}

void Append(const Faults& more, Faults& faults) {
  faults.insert(faults.end(), more.begin(), more.end());
}

// Guaranteed: every container's CPU and memory have limits and the same requests; BestEffort: none
// has any; Burstable: the rest.
std::string QosClass(const Json& pod) {
  bool any = false;
  bool guaranteed = true;
  for (const char* list : kContainerLists) {
    for (const Json& container : pod["spec"][list].items()) {
      const Json& limits = container["resources"]["limits"];
      const Json& requests = container["resources"]["requests"];
      for (const char* resource : {"cpu", "memory"}) {
        any = any || limits.Has(resource) || requests.Has(resource);
        guaranteed = guaranteed && limits.Has(resource) && limits[resource] == requests[resource];
      }
    }
  }
  if (!any) return "BestEffort";
  return guaranteed ? "Guaranteed" : "Burstable";
}

// A limit without a request sets the request as well.
void FillRequests(Json& pod) {
  for (const char* list : kContainerLists) {
    if (!pod["spec"].Has(list)) continue;
    for (Json& container : pod["spec"][list].MutableItems()) {
      const Json limits = std::as_const(container)["resources"]["limits"];
      for (const auto& [name, quantity] : limits.members()) {
        Json& request = container["resources"]["requests"][name];
        if (request.is_null()) request = quantity;
      }
    }
  }
}

}  // namespace

void PrepareNewPod(Json& pod) {
  FillRequests(pod);
  Json& spec = pod["spec"];
  // Both names of the field are kept equal for old clients.
  if (!spec.Has("serviceAccount")) spec["serviceAccount"] = spec["serviceAccountName"];
  pod["status"] = Json::MakeObject({{"phase", "Pending"}, {"qosClass", QosClass(pod)}});
}

void KeepPodQosClass(const Json& before, Json& after) {
  if (before["status"].Has("qosClass")) after["status"]["qosClass"] = before["status"]["qosClass"];
}

Faults CheckPod(const Json& pod) {
  Faults faults;
  CheckContainers(pod, faults);
  CheckPodClaims(pod, faults);
  Append(CheckEphemeralContainers(pod), faults);
  return faults;
}

Faults CheckNewPod(const Json& pod) { return CheckNoEphemeralContainers(pod); }

Faults CheckPodChange(const Json& before, const Json& after, const std::string& subresource) {
  Faults faults;
  const bool binding = subresource == "binding";
  if (subresource == kEphemeralContainers) return CheckEphemeralContainersChange(before, after);
  if (subresource == "status") {
    Append(CheckClaimStatuses(after), faults);
    Append(CheckExtendedResourceClaim(after), faults);
    CheckStatuses(after, "containerStatuses", "containers", faults);
    CheckStatuses(after, "initContainerStatuses", "initContainers", faults);
    // Ephemeral containers have no resources, so no health either.
    const Json& ephemeral = after["status"]["ephemeralContainerStatuses"];
    for (std::size_t i = 0; i < ephemeral.items().size(); ++i) {
      if (!ephemeral[i].Has("allocatedResourcesStatus")) continue;
      faults.push_back(ForbiddenFault(
          ItemOf("status.ephemeralContainerStatuses", i) + ".allocatedResourcesStatus",
          "must not be specified in container status"));
    }
    return faults;
  }
  if (FixedSpec(before, binding) != FixedSpec(after, binding) ||
      !HasAllTolerations(before, after)) {
    faults.push_back(ForbiddenFault(
        "spec",
        "pod updates may not change fields other than `spec.containers[*].image`,"
        "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
        "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be "
        "set to 1 if it was previously negative)"));
  }
  return faults;
}

}  // namespace galen::api_sim
