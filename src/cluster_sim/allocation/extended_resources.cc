#include "cluster_sim/allocation/extended_resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <vector>

#include "api_sim/objects/pod_facts.h"
#include "kube/request.h"

namespace galen::cluster_sim {
namespace {

// A container that may ask for extended resources. Its requests are named by its place among all
// containers of the Pod.
struct Asker {
  const Json* container = nullptr;
  std::size_t index = 0;
  bool lasting = false;  // a main container or a sidecar
};

// A request of the claim to be created.
struct Request {
  std::string name;
  std::int64_t count = 0;
};

std::vector<Asker> AskersOf(const Json& pod) {
  std::vector<Asker> askers;
  for (const Json& container : pod["spec"]["initContainers"].items()) {
    const bool sidecar = container["restartPolicy"].AsString() == "Always";
    askers.push_back({&container, askers.size(), sidecar});
  }
  for (const Json& container : pod["spec"]["containers"].items()) {
    askers.push_back({&container, askers.size(), true});
  }
  return askers;
}

// Extended resources are whole numbers, written as one or as text; anything else counts as none.
std::int64_t CountOf(const Json& quantity) {
  if (quantity.is_int()) return quantity.AsInt();
  const std::string& text = quantity.AsString();
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc() && end == text.data() + text.size() ? count : 0;
}

// nullptr when no class offers the resource.
const Json* ClassOf(const std::string& resource, const std::map<ObjectKey, Json>& classes) {
  // Classes come by name, and the API writes times so that they sort as texts.
  const auto made = [](const Json& object) -> const std::string& {
    return object["metadata"]["creationTimestamp"].AsString();
  };
  const Json* youngest = nullptr;
  for (const auto& [key, device_class] : classes) {
    if (resource == std::string(kImplicitResource) + key.name) return &device_class;
    if (device_class["spec"]["extendedResourceName"].AsString() != resource) continue;
    if (youngest == nullptr || made(device_class) > made(*youngest)) youngest = &device_class;
  }
  return youngest;
}

// "container-1-request-0": the container's position, and the resource's position among its
// requests.
std::string RequestName(const Asker& asker, const std::string& resource) {
  std::size_t place = 0;
  for (const auto& [name, quantity] : (*asker.container)["resources"]["requests"].members()) {
    if (name < resource) ++place;
  }
  return fmt::format("container-{}-request-{}", asker.index, place);
}

// The requests for one resource, and the containers that each serves.
class OneResource {
 public:
  OneResource(std::string resource, const std::vector<Asker>& askers)
      : resource_(std::move(resource)), lasting_(askers.size()) {
    for (const Asker& asker : askers) {
      const std::int64_t wanted = WantedBy(asker);
      if (!asker.lasting || wanted == 0) continue;
      lasting_[asker.index] = Request{RequestName(asker, resource_), wanted};
      Map(asker, lasting_[asker.index]->name);
    }
    for (const Asker& asker : askers) {
      if (!asker.lasting) ServeInit(asker);
    }
  }

  void AppendTo(std::vector<Request>& requests, Json& mappings) const {
    if (largest_) requests.push_back(*largest_);
    for (const auto& request : lasting_) {
      if (request) requests.push_back(*request);
    }
    for (const auto& [container, request] : served_) {
      // Init containers run one after the other: the largest of their own requests serves them all.
      const bool of_init = largest_ && init_requests_.contains(request);
      mappings.Append(Json::MakeObject({{"containerName", container},
                                        {"resourceName", resource_},
                                        {"requestName", of_init ? largest_->name : request}}));
    }
  }

 private:
  std::int64_t WantedBy(const Asker& asker) const {
    return CountOf((*asker.container)["resources"]["requests"][resource_]);
  }
  void Map(const Asker& asker, const std::string& request) {
    served_.emplace_back((*asker.container)["name"].AsString(), request);
  }

  // An init container may use the devices of main containers and sidecars that start after it.
  void ServeInit(const Asker& asker) {
    std::int64_t missing = WantedBy(asker);
    for (std::size_t i = asker.index; i < lasting_.size() && missing > 0; ++i) {
      if (!lasting_[i]) continue;
      Map(asker, lasting_[i]->name);
      missing -= lasting_[i]->count;
    }
    if (missing <= 0) return;
    const Request own{RequestName(asker, resource_), missing};
    init_requests_.insert(own.name);
    Map(asker, own.name);
    if (!largest_ || largest_->count < own.count) largest_ = own;
  }

  const std::string resource_;
  std::vector<std::optional<Request>> lasting_;  // by container
  std::optional<Request> largest_;               // of init containers' own
  std::set<std::string> init_requests_;
  std::vector<std::pair<std::string, std::string>> served_;  // container, request
};

}  // namespace

ExtendedRequests ReadExtendedRequests(const Json& pod, const Json& node,
                                      const std::map<ObjectKey, Json>& classes) {
  const std::vector<Asker> askers = AskersOf(pod);
  std::set<std::string> resources;
  for (const Asker& asker : askers) {
    for (const auto& [name, quantity] : (*asker.container)["resources"]["requests"].members()) {
      // Names without a domain are Kubernetes' own: cpu, memory.
      if (name.find('/') != std::string::npos && CountOf(quantity) > 0) resources.insert(name);
    }
  }
  ExtendedRequests extended{Json(Json::Array{}), Json(Json::Array{})};
  std::map<std::string, Json> by_name;
  for (const std::string& resource : resources) {
    const Json* device_class = ClassOf(resource, classes);
    if (device_class == nullptr) continue;
    if (CountOf(node["status"]["allocatable"][resource]) > 0) continue;
    std::vector<Request> requests;
    OneResource(resource, askers).AppendTo(requests, extended.mappings);
    for (const Request& request : requests) {
      const Json exactly =
          Json::MakeObject({{"deviceClassName", api_sim::KeyOf(*device_class).name},
                            {"allocationMode", "ExactCount"},
                            {"count", request.count}});
      by_name[request.name] = Json::MakeObject({{"name", request.name}, {"exactly", exactly}});
    }
  }
  for (auto& [name, request] : by_name) extended.requests.Append(std::move(request));
  return extended;
}

Json MakeExtendedClaim(const Json& pod, const Json& requests) {
  const ObjectKey key = api_sim::KeyOf(pod);
  Json meta = Json::MakeObject(
      {{"generateName", key.name + "-extended-resources-"},
       {"namespace", key.ns},
       {"finalizers", Json::MakeArray({std::string(api_sim::kDeleteProtection)})}});
  meta["annotations"][kExtendedClaim] = "true";
  meta["ownerReferences"] = Json::MakeArray({Json::MakeObject({{"apiVersion", "v1"},
                                                               {"kind", "Pod"},
                                                               {"name", key.name},
                                                               {"uid", api_sim::UidOf(pod)},
                                                               {"controller", true}})});
  Json spec;
  spec["devices"]["requests"] = requests;
  return Json::MakeObject({{"apiVersion", kube::kResourceClaims.api_version()},
                           {"kind", kube::kResourceClaims.kind},
                           {"metadata", std::move(meta)},
                           {"spec", std::move(spec)}});
}

bool IsExtendedClaimOf(const Json& claim, const Json& pod) {
  if (claim["metadata"]["annotations"][kExtendedClaim].AsString() != "true") return false;
  const Json* owner = api_sim::OwnerPod(claim);
  return owner != nullptr && (*owner)["uid"].AsString() == api_sim::UidOf(pod);
}

}  // namespace galen::cluster_sim
