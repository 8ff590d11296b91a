#include "cli/placement/cluster_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <utility>

#include "base/time.h"
#include "kube/objects/node_device_health.h"

namespace galen::cli {
namespace {

using AddTo = std::function<void(const std::vector<Json>&, alloc::Picture&)>;

// Reads one kind. What is refused becomes a gap, with what it means for the answer.
Status AddKind(Session& session, const kube::Resource& kind, const std::string& meaning,
               const AddTo& add, alloc::Picture& picture) {
  const StatusOr<std::vector<Json>> objects = session.List(kind, "");
  // A cluster that does not serve the kind has none of it.
  if (objects.status().code() == Code::kNotFound) return OkStatus();
  if (objects.status().code() == Code::kPermissionDenied) {
    picture.gaps.push_back(
        fmt::format("{} of all namespaces may not be listed, so {}", kind.plural, meaning));
    return OkStatus();
  }
  if (!objects.ok()) return objects.status();
  add(*objects, picture);
  return OkStatus();
}

}  // namespace

void AddNodes(const std::vector<Json>& objects, alloc::Picture& picture) {
  for (const Json& object : objects) picture.nodes.push_back(alloc::ReadNodeState(object));
  std::sort(picture.nodes.begin(), picture.nodes.end(),
            [](const auto& a, const auto& b) { return a.node.name < b.node.name; });
}

void AddSlices(const std::vector<Json>& objects, alloc::Picture& picture) {
  for (const Json& object : objects) {
    StatusOr<alloc::ResourceSlice> slice = alloc::ReadResourceSlice(object);
    if (slice.ok()) {
      picture.slices.push_back(std::move(slice).value());
    } else {
      picture.gaps.push_back(slice.status().message());
    }
  }
}

void AddClasses(const std::vector<Json>& objects, alloc::Picture& picture) {
  for (const Json& object : objects) {
    alloc::DeviceClass read = alloc::ReadDeviceClass(object);
    picture.classes.insert_or_assign(read.name, std::move(read));
  }
}

void AddClaims(const std::vector<Json>& objects, alloc::Picture& picture) {
  for (const Json& object : objects) {
    const Json& meta = object["metadata"];
    const ObjectKey key{meta["namespace"].AsString(), meta["name"].AsString()};
    StatusOr<alloc::Allocation> allocation = alloc::ReadAllocation(object["status"]["allocation"]);
    if (!allocation.ok()) {
      picture.gaps.push_back(
          fmt::format("claim {}: {}", ToString(key), allocation.status().message()));
      continue;
    }
    if (allocation->devices.empty()) continue;
    std::vector<ObjectKey> pods;
    for (const Json& holder : object["status"]["reservedFor"].items()) {
      pods.push_back({key.ns, holder["name"].AsString()});
    }
    alloc::HeldClaim held{
        .key = key, .allocation = std::move(allocation).value(), .pods = std::move(pods)};
    // Where it cannot be read, nobody can say where the claim could go; it stays without requests.
    StatusOr<alloc::ResourceClaim> claim = alloc::ReadResourceClaim(object);
    if (claim.ok()) {
      claim->allocation.reset();
      held.claim = alloc::WithDefaults(std::move(claim).value());
    }
    picture.held.push_back(std::move(held));
  }
}

void AddReach(const std::vector<Json>& pods, alloc::Picture& picture) {
  std::map<ObjectKey, const Json*> by_key;
  for (const Json& pod : pods) {
    const Json& meta = pod["metadata"];
    by_key[{meta["namespace"].AsString(), meta["name"].AsString()}] = &pod;
  }
  for (alloc::HeldClaim& held : picture.held) {
    bool first = true;
    for (const ObjectKey& key : held.pods) {
      const auto pod = by_key.find(key);
      if (pod == by_key.end()) continue;
      // Pods that share a claim go together: what each of them demands holds, and nothing is
      // tolerated but what all of them tolerate.
      const alloc::PodReach reach = alloc::ReadPodReach(*pod->second);
      held.reach.selectors.insert(held.reach.selectors.end(), reach.selectors.begin(),
                                  reach.selectors.end());
      if (first) held.reach.tolerations = reach.tolerations;
      std::erase_if(held.reach.tolerations, [&](const alloc::DeviceToleration& one) {
        return std::find(reach.tolerations.begin(), reach.tolerations.end(), one) ==
               reach.tolerations.end();
      });
      first = false;
    }
  }
}

void AddTaintRules(const std::vector<Json>& objects, alloc::Picture& picture) {
  for (const Json& object : objects) picture.rules.push_back(alloc::ReadTaintRule(object));
}

void AddHealth(const std::vector<Json>& objects, WallTime now, alloc::Picture& picture) {
  for (const Json& object : objects) {
    const StatusOr<kube::NodeDeviceHealth> node = kube::DecodeNodeDeviceHealth(object);
    if (!node.ok()) continue;
    for (const kube::NodeDevice& device : node->devices) {
      if (device.state == HealthState::kHealthy) continue;
      std::string& text = picture.health[device.identity.id];
      text = fmt::format("{} {}", ToString(device.state), device.cause.code);
      if (device.since) text += " for " + FormatAge(now - *device.since);
    }
  }
}

alloc::Options OptionsOf(const Json& version) {
  // "37", or "37+" of some vendors.
  const std::string& text = version["minor"].AsString();
  int minor = alloc::kNewestMinor;
  std::from_chars(text.data(), text.data() + text.size(), minor);
  minor = std::clamp(minor, alloc::kOldestMinor, alloc::kNewestMinor);
  return {.minor = minor, .features = alloc::StockFeatures(minor)};
}

StatusOr<ClusterPicture> ReadClusterPicture(Session& session, bool for_moves) {
  ClusterPicture read;
  ASSIGN_OR_RETURN(const Json version, session.Fetch({.method = "GET", .path = "/version"}));
  read.options = OptionsOf(version);
  ASSIGN_OR_RETURN(const std::vector<Json> nodes, session.List(kube::kNodes, ""));
  ASSIGN_OR_RETURN(const std::vector<Json> slices, session.List(kube::kResourceSlices, ""));
  ASSIGN_OR_RETURN(const std::vector<Json> classes, session.List(kube::kDeviceClasses, ""));
  AddNodes(nodes, read.picture);
  AddSlices(slices, read.picture);
  AddClasses(classes, read.picture);
  RETURN_IF_ERROR(AddKind(session, kube::kResourceClaims, "devices that are held may count as free",
                          AddClaims, read.picture));
  if (read.options.features.device_taints) {
    RETURN_IF_ERROR(AddKind(session, kube::kDeviceTaintRules,
                            "devices that are kept away may count as free", AddTaintRules,
                            read.picture));
  }
  if (for_moves) {
    RETURN_IF_ERROR(AddKind(session, kube::kPods, "nobody knows which nodes they may use", AddReach,
                            read.picture));
  }
  const StatusOr<std::vector<Json>> health = session.List(kube::kNodeDeviceHealths, "");
  // The health of devices only explains taints.
  if (health.ok()) AddHealth(*health, session.loop().WallNow(), read.picture);
  return read;
}

}  // namespace galen::cli
