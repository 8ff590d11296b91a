// A whole cluster in one thread under one fake clock: the embedded API with its controllers, nodes
// with real drivers and real agents, and Pods that hold devices. The same seed gives the same run.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api_sim/serving/local_transport.h"
#include "base/loop/fake_loop.h"
#include "base/random.h"
#include "cluster_sim/app/sim_app.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/objects/node_device_health.h"
#include "kube/objects/pod.h"
#include "kube/objects/resource_claim.h"
#include "kube/objects/resource_slice.h"
#include "tests/sim/sim_node.h"

namespace galen::sim {

class SimWorld {
 public:
  // Small enough for hundreds of runs, large enough that Pods share nodes and not all do. The last
  // one's agent is an observer.
  static constexpr int kNodes = 3;
  static constexpr int kPods = 6;

  // Everything that is random in the run comes from `seed`.
  explicit SimWorld(std::uint64_t seed);
  ~SimWorld();

  // Starts everything and lets Pods be placed and run; false when they do not within a minute of
  // fake time. Once.
  bool Settle();
  void Pass(Duration d) { loop_.Advance(d); }

  FakeLoop& loop() { return loop_; }
  Random& random() { return random_; }
  std::vector<std::unique_ptr<SimNode>>& nodes() { return nodes_; }
  // Null when there is none of this name.
  SimNode* node(const std::string& name);

  const std::map<ObjectKey, kube::Pod>& pods() const { return pods_.objects(); }
  const std::map<ObjectKey, Claim>& claims() const { return claims_.objects(); }
  const kube::NodeDeviceHealth* NodeHealth(const std::string& node) const {
    return healths_.Find({"", node});
  }
  // What the ResourceSlices of a node offer, and the uids of those slices.
  std::set<DeviceId> Offered(const std::string& node) const;
  std::set<std::string> SliceUids(const std::string& node) const;
  // As a kubelet does that starts and does not see its drivers yet.
  void WipeSlices(const std::string& node);
  // What is allocated to the Pod's claims. A Pod that has ended holds nothing of its group's.
  std::vector<DeviceId> DevicesOf(const kube::Pod& pod) const;
  static bool IsHeldBy(const Claim& claim, const kube::Pod& pod);
  // Whether the device was allocated to the Pod of that UID at any time until now; to the claim.
  bool EverHeld(const std::string& pod_uid, const DeviceId& device) const {
    return ever_held_.contains({pod_uid, device});
  }
  bool EverAllocated(const std::string& claim_uid, const std::string& device) const {
    return ever_allocated_.contains({claim_uid, device});
  }
  // Asks the API for a new Pod with a claim of its own for one device of `driver` ("gpu" or "nic");
  // it may stay pending when all are taken.
  void AddPod(const std::string& name, const std::string& driver);
  // The same with the one claim that is not made for a Pod, and goes from one to the next.
  void AddPodOfNamedClaim(const std::string& name);
  // As the scheduler of PodGroups does with the claim "ring", which is reserved for the group of
  // that name and not for Pods: it is freed and allocated anew under its UID, to this device
  // ("nic-2" or "nic-3"). REQUIRES: the group's former Pods have ended or are asked to go by force.
  void PlaceGroup(const std::string& node, const std::string& device);
  // Asks for a Pod that names this claim, whoever has it, and puts it on that node past the
  // scheduler.
  void AddPodOfClaim(const std::string& name, const std::string& claim, const std::string& node);
  // Asks for a Pod of the group, on the node where it was placed last. REQUIRES: it was.
  void AddGroupPod(const std::string& name);
  bool group_is_placed() const { return !group_node_.empty(); }
  const std::string& group_node() const { return group_node_; }
  // Takes the Pod away by force, and asks for another of its name in the same breath.
  void RecreatePod(const ObjectKey& pod, const std::string& driver);
  // The devices "odd-0" and "odd-1" of odd.example.com go to another slice of the node's pool: it
  // comes before the former is gone, or after.
  void MoveOddDevices(const std::string& node, bool new_first);
  // The identity of a device by the newest slice that lists it; nullopt when none does.
  std::optional<DeviceIdentity> IdentityOf(const DeviceId& id) const;
  // A Pod that has ended, with what it held and showed by then.
  struct End {
    PodRef pod;
    std::string node;
    std::vector<DeviceId> devices;
    std::string annotation;
    Time at{};  // by the node's clock, which stands while the machine sleeps
    int wall_steps = 0;
    Duration lived{};  // by the API server's clock
    bool is_of_group = false;
  };
  // Its container ends with this exit code and does not run again, as its kubelet would write it.
  // Its claim is free soon after, and the Pod stays. REQUIRES: it is on a node.
  void EndPod(const kube::Pod& pod, int exit_code);
  const std::vector<End>& ends() const { return ends_; }
  // A Pod that is no more, as it was at last; `at` by the world's clock. Of those that had shown
  // what they hold, the oldest first.
  struct Gone {
    kube::Pod pod;
    Time at{};
  };
  const std::vector<Gone>& gone() const { return gone_; }
  // Asks for deletion; the Pod goes when its node lets it, or at once when `by_force`.
  void DeletePod(const ObjectKey& pod, bool by_force = false);
  // Asks as any client with all rights may; nobody waits for the answer.
  void Ask(net::HttpRequest request);
  // Ends the node's connections to the API server, as of a TCP that gave up.
  void CutApi(const std::string& node) { network_.Cut("tcp:api-" + node + ":80"); }
  // How often hardware changed.
  std::uint64_t device_events() const;
  // The API's resourceVersion: each change of any object makes it another.
  std::string Version();

 private:
  void Create(const kube::Resource& resource, const std::string& ns, const std::string& yaml);
  void NotePod(const kube::Pod* before, const kube::Pod* after);
  void NoteClaim(const Claim& claim);
  // `source` is a member of the Pod's entry for its claim: "resourceClaimName: named"; `spec` is
  // more of the Pod's spec, "schedulingGroup: {…}, ", or nothing.
  void CreatePod(const std::string& name, const std::string& source, const std::string& spec = "");
  void Bind(const std::string& pod, const std::string& node);

  FakeLoop loop_;
  Random random_;
  net::FakeNetwork network_;
  std::unique_ptr<cluster_sim::ClusterApp> cluster_;
  api_sim::LocalTransport transport_;
  kube::Client client_;
  kube::Informer<kube::Pod> pods_;
  kube::Informer<Claim> claims_;
  kube::Informer<kube::ResourceSlice> slices_;
  kube::Informer<kube::NodeDeviceHealth> healths_;
  std::vector<std::unique_ptr<SimNode>> nodes_;
  std::vector<End> ends_;
  std::vector<Gone> gone_;
  std::set<std::pair<std::string, DeviceId>> ever_held_;          // by Pod's uid
  std::set<std::pair<std::string, std::string>> ever_allocated_;  // claim's uid and device
  std::string group_node_;                                        // "" until it is placed
  std::map<std::string, int> odd_slices_;  // by node: how many there were of odd.example.com
  std::deque<std::unique_ptr<net::HttpCall>> calls_;  // the newest; older ones are long answered
};

}  // namespace galen::sim
