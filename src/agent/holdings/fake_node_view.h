// Pods and claims that a test puts in by hand, and drivers' answers it makes up. For tests.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/holdings/node_view.h"

namespace galen::agent {

class FakeNodeView final : public NodeView {
 public:
  const kube::Pod* FindPod(const ObjectKey& key) const override {
    const auto it = pods.find(key);
    return it == pods.end() ? nullptr : &it->second;
  }
  const Claim* FindClaim(const ObjectKey& key) const override {
    const auto it = claims.find(key);
    return it == claims.end() ? nullptr : &it->second;
  }
  const Claim* FindClaimFor(const kube::Pod& pod, const ObjectKey& key) const override {
    return unread.contains(pod.meta.key) ? nullptr : FindClaim(key);
  }
  void ForEachPod(const std::function<void(const kube::Pod&)>& visit) const override {
    for (const auto& [key, pod] : pods) visit(pod);
  }
  std::optional<DeviceIdentity> FindIdentity(const DeviceId& id) const override {
    const auto it = identities.find(id);
    return it == identities.end() ? std::nullopt : std::optional(it->second);
  }

  // A Pod in "default" with one container "train" that sees claim "gpu", which is the object
  // NAME-gpu; its uid is "uid-NAME".
  kube::Pod& AddPod(const std::string& name) {
    kube::Pod pod;
    pod.meta.key = {"default", name};
    pod.meta.uid = "uid-" + name;
    pod.phase = "Running";
    pod.containers = {{.name = "train", .claims = {{.name = "gpu"}}}};
    pod.claims = {{.name = "gpu", .template_name = "one-gpu"}};
    pod.claim_names = {{"gpu", name + "-gpu"}};
    return pods[pod.meta.key] = pod;
  }
  // A claim in "default" of these devices, reserved for that Pod; its uid is "uid-NAME".
  Claim& AddClaim(const std::string& name, std::vector<AllocatedDevice> devices,
                  const std::string& pod) {
    Claim claim{.key = {"default", name}, .uid = "uid-" + name, .devices = std::move(devices)};
    claim.reserved_for = {{{"default", pod}, "uid-" + pod}};
    return claims[claim.key] = claim;
  }

  std::map<ObjectKey, kube::Pod> pods;
  std::map<ObjectKey, Claim> claims;
  std::set<ObjectKey> unread;  // Pods whose claims are not known yet
  std::map<DeviceId, DeviceIdentity> identities;
};

class FakePreparedDevices final : public PreparedDevices {
 public:
  std::string FirstCdiId(const std::string&, const DeviceId& device,
                         const std::string& share_id) const override {
    const auto it = ids.find({device, share_id});
    return it == ids.end() ? "" : it->second;
  }

  std::map<std::pair<DeviceId, std::string>, std::string> ids;
};

}  // namespace galen::agent
