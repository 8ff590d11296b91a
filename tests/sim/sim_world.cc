#include "tests/sim/sim_world.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "agent/holdings/claim_index.h"
#include "base/check.h"
#include "base/data/yaml.h"
#include "base/files/posix_file_system.h"
#include "tests/sim/whole_answer.h"

namespace galen::sim {
namespace {

using namespace std::chrono_literals;

// Calls that are kept; the API answers each in the same turn.
constexpr std::size_t kCallsMax = 1024;

// Far more than a quiet start needs.
constexpr Duration kSettleWithin = 60s;
const std::string kCrdFile = GALEN_SOURCE_DIR "/deploy/crds/nodedevicehealths.yaml";

agent::Role RoleOf(int node) {
  return node == SimWorld::kNodes ? agent::Role::kObserver : agent::Role::kManager;
}

cluster_sim::ClusterApp::Options ClusterOptions() {
  cluster_sim::ClusterApp::Options options;
  for (int i = 1; i <= SimWorld::kNodes; ++i) {
    // Virtual: our agents run their Pods, in the manager role.
    options.nodes.push_back(
        {.name = fmt::format("node-{}", i), .is_virtual = RoleOf(i) == agent::Role::kManager});
  }
  return options;
}

std::unique_ptr<cluster_sim::ClusterApp> MakeCluster(Loop& loop, Random& random) {
  auto cluster = cluster_sim::ClusterApp::Create(loop, random, NullLog(), ClusterOptions());
  GALEN_CHECK(cluster.ok());
  return std::move(cluster).value();
}

kube::Watcher::Options All(const kube::Resource& resource) {
  kube::Watcher::Options options;
  options.resource = resource;
  return options;
}

}  // namespace

SimWorld::SimWorld(std::uint64_t seed)
    : random_(seed),
      network_(loop_, random_),
      cluster_(MakeCluster(loop_, random_)),
      transport_(loop_, cluster_->api()),
      client_(loop_, transport_),
      pods_(loop_, client_, random_, All(kube::kPods), kube::DecodePod),
      claims_(loop_, client_, random_, All(kube::kResourceClaims), kube::DecodeClaim),
      slices_(loop_, client_, random_, All(kube::kResourceSlices), kube::DecodeSlice),
      healths_(loop_, client_, random_, All(kube::kNodeDeviceHealths),
               kube::DecodeNodeDeviceHealth) {
  // Agents and drivers come by the network with its weather and their node's gate; the world itself
  // asks by a transport that never fails, for it must know the truth.
  for (int i = 1; i <= kNodes; ++i) {
    nodes_.push_back(
        std::make_unique<SimNode>(SimNode::World{loop_, random_, network_, cluster_->api()},
                                  fmt::format("node-{}", i), RoleOf(i)));
  }
  pods_.AddListener([this](const ObjectKey&, const kube::Pod* before, const kube::Pod* after) {
    NotePod(before, after);
  });
  claims_.AddListener([this](const ObjectKey&, const Claim*, const Claim* after) {
    if (after != nullptr) NoteClaim(*after);
  });
  Create(kube::kCustomResourceDefinitions, "", PosixFileSystem().Read(kCrdFile).value());
  pods_.Start();
  claims_.Start();
  slices_.Start();
  healths_.Start();
}

SimWorld::~SimWorld() {
  // Calls die before the client, nodes before the network that they dial.
  calls_.clear();
  nodes_.clear();
}

bool SimWorld::Settle() {
  for (const auto& node : nodes_) {
    node->StartAgent();
    for (const auto& driver : node->drivers()) driver->Start();
  }
  for (const std::string driver : {"gpu", "nic"}) {
    Create(
        kube::kDeviceClasses, "",
        fmt::format("{{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {{name: {0}}}, "
                    "spec: {{selectors: [{{cel: {{expression: 'device.driver == "
                    "\"{0}.example.com\"'}}}}]}}}}",
                    driver));
    Create(kube::kResourceClaimTemplates, "default",
           fmt::format(
               "{{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {{name: "
               "one-{0}, namespace: default}}, spec: {{spec: {{devices: {{requests: [{{name: main, "
               "exactly: {{deviceClassName: {0}}}}}]}}}}}}}}",
               driver));
  }
  for (const auto& [name, device_class] : {std::pair("named", "gpu"), std::pair("ring", "nic")}) {
    Create(kube::kResourceClaims, "default",
           fmt::format("{{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {{name: "
                       "{}}}, spec: {{devices: {{requests: [{{name: main, exactly: "
                       "{{deviceClassName: {}}}}}]}}}}}}",
                       name, device_class));
  }
  // A third wants a network interface, of which there are two a node.
  for (int i = 0; i < kPods; ++i) AddPod(fmt::format("pod-{}", i), i % 3 == 2 ? "nic" : "gpu");
  const Time end = loop_.Now() + kSettleWithin;
  const auto running = [this] {
    for (const auto& [key, pod] : pods()) {
      // Running, and its agent has published: faults begin on a cluster that is whole.
      if (pod.phase != "Running" || pod.devices_annotation.empty()) return false;
    }
    return pods().size() == kPods;
  };
  while (!running() && loop_.Now() < end) Pass(1s);
  return running();
}

SimNode* SimWorld::node(const std::string& name) {
  for (const auto& node : nodes_) {
    if (node->name() == name) return node.get();
  }
  return nullptr;
}

std::vector<DeviceId> SimWorld::DevicesOf(const kube::Pod& pod) const {
  std::vector<DeviceId> devices;
  for (const auto& [key, claim] : claims()) {
    if (!IsHeldBy(claim, pod)) continue;
    for (const AllocatedDevice& allocated : claim.devices) devices.push_back(allocated.device);
  }
  return devices;
}

bool SimWorld::IsHeldBy(const Claim& claim, const kube::Pod& pod) {
  // By uid too: a claim of an earlier Pod of the name is another's.
  if (std::ranges::find(claim.reserved_for, pod.ref()) != claim.reserved_for.end()) return true;
  const bool names_it = std::ranges::any_of(
      pod.claims, [&](const kube::PodClaim& named) { return named.claim_name == claim.key.name; });
  return names_it && !pod.group.empty() && !agent::HasEnded(pod) &&
         claim.IsReservedFor("", pod.group);
}

void SimWorld::NotePod(const kube::Pod* before, const kube::Pod* after) {
  const bool is_gone =
      before != nullptr && (after == nullptr || after->meta.uid != before->meta.uid);
  if (is_gone && !before->devices_annotation.empty()) gone_.push_back({*before, loop_.Now()});
  if (after == nullptr) return;
  for (const DeviceId& id : DevicesOf(*after)) ever_held_.emplace(after->meta.uid, id);
}

void SimWorld::NoteClaim(const Claim& claim) {
  for (const AllocatedDevice& allocated : claim.devices) {
    ever_allocated_.emplace(claim.uid, allocated.device.device);
    for (const auto& [key, pod] : pods()) {
      if (IsHeldBy(claim, pod)) ever_held_.emplace(pod.meta.uid, allocated.device);
    }
  }
}

std::set<DeviceId> SimWorld::Offered(const std::string& node) const {
  std::set<DeviceId> devices;
  for (const auto& [key, slice] : slices_.objects()) {
    if (slice.node != node) continue;
    for (const kube::SliceDevice& device : slice.devices) {
      devices.insert(kube::IdentityOf(slice, device).id);
    }
  }
  return devices;
}

std::set<std::string> SimWorld::SliceUids(const std::string& node) const {
  std::set<std::string> uids;
  for (const auto& [key, slice] : slices_.objects()) {
    if (slice.node == node) uids.insert(slice.uid);
  }
  return uids;
}

void SimWorld::WipeSlices(const std::string& node) {
  for (const auto& [key, slice] : slices_.objects()) {
    if (slice.node != node) continue;
    Ask(kube::Delete(kube::kResourceSlices, "", key.name));
  }
}

void SimWorld::AddPod(const std::string& name, const std::string& driver) {
  CreatePod(name, "resourceClaimTemplateName: one-" + driver);
}

void SimWorld::AddPodOfNamedClaim(const std::string& name) {
  CreatePod(name, "resourceClaimName: named");
}

void SimWorld::PlaceGroup(const std::string& node, const std::string& device) {
  group_node_ = node;
  // Two writes, as a controller and a scheduler make them: an allocation is never overwritten.
  const std::string allocation = fmt::format(
      "{{devices: {{results: [{{request: main, driver: nic.example.com, pool: {}, device: {}}}]}}, "
      "allocationTimestamp: \"{}\"}}",
      node, device, FormatRfc3339(loop_.WallNow()));
  for (const std::string& status :
       {std::string("{allocation: null, reservedFor: null}"),
        fmt::format("{{allocation: {}, reservedFor: [{{apiGroup: scheduling.k8s.io, resource: "
                    "podgroups, name: ring, uid: ring-uid}}]}}",
                    allocation)}) {
    const StatusOr<Json> patch = ParseYaml("{status: " + status + "}");
    GALEN_CHECK(patch.ok());
    Ask(kube::Patch(kube::kResourceClaims, "default", "ring", kube::PatchType::kMerge, *patch,
                    {.subresource = "status"}));
  }
}

void SimWorld::AddGroupPod(const std::string& name) {
  GALEN_CHECK(group_is_placed());
  CreatePod(name, "resourceClaimName: ring",
            "schedulingGroup: {podGroupName: ring}, schedulerName: groups, ");
  Bind(name, group_node_);
}

void SimWorld::AddPodOfClaim(const std::string& name, const std::string& claim,
                             const std::string& node) {
  CreatePod(name, "resourceClaimName: " + claim, "schedulerName: nobody, ");
  Bind(name, node);
}

void SimWorld::Bind(const std::string& pod, const std::string& node) {
  net::HttpRequest bind = kube::Create(
      kube::kPods, "default",
      Json::MakeObject({{"apiVersion", "v1"},
                        {"kind", "Binding"},
                        {"metadata", Json::MakeObject({{"name", pod}})},
                        {"target", Json::MakeObject({{"kind", "Node"}, {"name", node}})}}));
  bind.path = kube::Get(kube::kPods, "default", pod).path + "/binding";
  Ask(std::move(bind));
}

void SimWorld::RecreatePod(const ObjectKey& pod, const std::string& driver) {
  DeletePod(pod, true);
  AddPod(pod.name, driver);
}

void SimWorld::MoveOddDevices(const std::string& node, bool new_first) {
  const int generation = ++odd_slices_[node];
  const auto name_of = [&](int number) { return fmt::format("odd-{}-{}", node, number); };
  const auto make = [&] {
    kube::ResourceSlice slice{.name = name_of(generation),
                              .uid = "",
                              .resource_version = "",
                              .driver = "odd.example.com",
                              .pool = node,
                              .generation = generation,
                              .slice_count = 1,
                              .node = node,
                              .devices = {}};
    for (const std::string device : {"odd-0", "odd-1"}) {
      slice.devices.push_back({.name = device,
                               .attributes = {{"serial", SerialOf(device)},
                                              {"model", fmt::format("model-{}", generation)}}});
    }
    Ask(kube::Create(kube::kResourceSlices, "", kube::EncodeSlice(slice)));
  };
  // The former one then stays until the next move: a slice of an older generation counts no more.
  if (new_first) make();
  for (const int former : {generation - 2, new_first ? generation - 2 : generation - 1}) {
    Ask(kube::Delete(kube::kResourceSlices, "", name_of(former)));
  }
  if (!new_first) make();
}

std::optional<DeviceIdentity> SimWorld::IdentityOf(const DeviceId& id) const {
  std::optional<DeviceIdentity> found;
  std::int64_t newest = 0;
  for (const auto& [key, slice] : slices_.objects()) {
    if (slice.driver != id.driver || slice.pool != id.pool || slice.generation < newest) continue;
    for (const kube::SliceDevice& device : slice.devices) {
      if (device.name != id.device) continue;
      found = kube::IdentityOf(slice, device);
      newest = slice.generation;
    }
  }
  return found;
}

void SimWorld::CreatePod(const std::string& name, const std::string& source,
                         const std::string& spec) {
  Create(
      kube::kPods, "default",
      fmt::format("{{apiVersion: v1, kind: Pod, metadata: {{name: {0}, namespace: default}}, spec: "
                  "{{{2}resourceClaims: [{{name: device, {1}}}], containers: "
                  "[{{name: main, image: example.com/main, resources: {{claims: [{{name: "
                  "device}}]}}}}]}}}}",
                  name, source, spec));
}

void SimWorld::EndPod(const kube::Pod& pod, int exit_code) {
  const NodeLoop& clock = node(pod.node)->loop();
  ends_.push_back({pod.ref(), pod.node, DevicesOf(pod), pod.devices_annotation, clock.Now(),
                   clock.wall_steps(), loop_.WallNow() - pod.meta.created.value_or(WallTime{}),
                   !pod.group.empty()});
  const StatusOr<Json> patch = ParseYaml(fmt::format(
      "{{metadata: {{uid: {}}}, status: {{phase: {}, containerStatuses: [{{name: main, "
      "image: pause, imageID: \"\", ready: false, restartCount: 0, state: {{terminated: "
      "{{exitCode: {}, reason: Ended, finishedAt: \"{}\"}}, running: null}}}}]}}}}",
      pod.meta.uid, exit_code == 0 ? "Succeeded" : "Failed", exit_code,
      FormatRfc3339(clock.WallNow())));
  GALEN_CHECK(patch.ok());
  Ask(kube::Patch(kube::kPods, pod.meta.key.ns, pod.meta.key.name, kube::PatchType::kStrategic,
                  *patch, {.subresource = "status"}));
}

void SimWorld::DeletePod(const ObjectKey& pod, bool by_force) {
  kube::DeleteOptions options;
  if (by_force) options.grace_seconds = 0;
  Ask(kube::Delete(kube::kPods, pod.ns, pod.name, options));
}

void SimWorld::Ask(net::HttpRequest request) {
  if (calls_.size() >= kCallsMax) calls_.pop_front();
  calls_.push_back(client_.Do(std::move(request), [](const auto&) {}));
}

std::uint64_t SimWorld::device_events() const {
  std::uint64_t events = 0;
  for (const auto& node : nodes_) {
    for (const auto& driver : node->drivers()) events += driver->events();
  }
  return events;
}

std::string SimWorld::Version() {
  const WholeAnswer answer = AskAtOnce(
      cluster_->api(), {.method = "GET", .path = "/api/v1/nodes", .headers = {}, .body = {}});
  const StatusOr<Json> list = Json::Parse(answer.body);
  GALEN_CHECK(list.ok());
  return (*list)["metadata"]["resourceVersion"].AsString();
}

void SimWorld::Create(const kube::Resource& resource, const std::string& ns,
                      const std::string& yaml) {
  const StatusOr<Json> object = ParseYaml(yaml);
  GALEN_CHECK(object.ok());
  if (calls_.size() >= kCallsMax) calls_.pop_front();
  calls_.push_back(client_.Do(kube::Create(resource, ns, *object),
                              [](const StatusOr<Json>& created) { GALEN_CHECK(created.ok()); }));
}

}  // namespace galen::sim
