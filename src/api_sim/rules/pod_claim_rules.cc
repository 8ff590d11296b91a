// Tested by tests/contract/pod_claims_test.cc and resource_health_test.cc.
#include "api_sim/rules/pod_claim_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "api_sim/objects/schema.h"
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

}  // namespace

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

}  // namespace galen::api_sim
