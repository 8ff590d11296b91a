// What a healthy node shows, as values, for tests that change one thing in it; and how such a test
// says which checks find something then. For tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "doctor/check.h"

namespace galen::doctor {

inline RegistryEntry GoodDriver(const std::string& name) {
  RegistryEntry entry{.path = "/k/plugins_registry/" + name + "-reg.sock"};
  entry.info = PluginInfo{.type = "DRAPlugin",
                          .name = name,
                          .endpoint = "/k/plugins/" + name + "/dra.sock",
                          .versions = {"v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth",
                                       "v1alpha1.DRAResourceHealth"}};
  entry.endpoint_listens = true;
  return entry;
}

inline kube::ResourceSlice GoodSlice(const std::string& name, const std::string& device) {
  return {.name = name,
          .uid = "u-" + name,
          .driver = "gpu.example.com",
          .pool = "node-7",
          .generation = 3,
          .slice_count = 2,
          .node = "node-7",
          .devices = {{.name = device}}};
}

inline SlicePlace PlaceOf(const kube::ResourceSlice& slice) {
  return {.name = slice.name,
          .driver = slice.driver,
          .node = slice.node,
          .pool = slice.pool,
          .generation = slice.generation};
}

inline PodSeen GoodPod() {
  PodSeen seen;
  seen.pod.meta.key = {"train", "trainer-0"};
  seen.pod.meta.uid = "pod-1";
  seen.pod.node = "node-7";
  seen.pod.claims = {{.name = "gpu", .claim_name = "c", .template_name = ""}};
  seen.pod.phase = "Running";
  seen.pod.started = WallTime{std::chrono::seconds(1'795'000'000)};
  for (const char* taint : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    seen.tolerations.push_back(
        {.key = taint, .effect = "NoExecute", .lasts = std::chrono::seconds(300)});
  }
  return seen;
}

// A Pod of the driver, by its DaemonSet.
inline PodSeen GoodDriverPod() {
  PodSeen seen;
  seen.pod.meta.key = {"gpu", "driver-x2c4"};
  seen.pod.meta.uid = "pod-2";
  seen.pod.meta.owners = {{.kind = "DaemonSet", .name = "driver", .controller = true}};
  seen.pod.node = "node-7";
  seen.pod.phase = "Running";
  seen.is_driver = true;
  seen.priority = 2'000'001'000;
  return seen;
}

inline ClaimSeen GoodClaim() {
  ClaimSeen seen;
  seen.claim.key = {"train", "c"};
  seen.claim.uid = "claim-1";
  seen.claim.devices = {{.request = "gpu", .device = {"gpu.example.com", "node-7", "gpu-0"}}};
  seen.claim.reserved_for = {{{"train", "trainer-0"}, "pod-1"}};
  seen.here = true;
  return seen;
}

inline DiskSeen GoodDisk(const std::string& path, const std::string& of) {
  return {.path = path,
          .of = of,
          .looked = {},
          .free_bytes = std::uint64_t{50} << 30,
          .bytes = std::uint64_t{100} << 30,
          .free_inodes = 5'000'000,
          .inodes = 6'000'000,
          .writable = {}};
}

inline Gates GoodGates(const std::string& source) {
  return {.values = {{"DynamicResourceAllocation", true},
                     {"ResourceHealthStatus", true},
                     {"ResourceHealthStatusMessage", true},
                     {"DRADeviceTaints", true}},
          .source = source,
          .complete = true};
}

inline KubeletSeen GoodKubelet() {
  KubeletSeen kubelet;
  KubeletProcess process{.pid = 321, .arguments = {"kubelet"}};
  process.open_files = std::optional<std::int64_t>(1'000'000);
  process.watchdog = std::optional<Duration>(std::chrono::seconds(30));
  process.started = WallTime{std::chrono::seconds(1'794'990'000)};
  kubelet.process = process;
  kubelet.gates = GoodGates("the kubelet's /metrics");
  // As the kubelet sees its own root.
  kubelet.plugins = std::map<std::string, PluginState>{
      {"/var/lib/kubelet/plugins_registry/gpu.example.com-reg.sock",
       {.wanted = true, .registered = true}}};
  kubelet.prepared = std::vector<CheckpointedClaim>{{.key = {"train", "c"},
                                                     .uid = "claim-1",
                                                     .drivers = {"gpu.example.com"},
                                                     .cdi_ids = {"gpu.example.com/gpu=c-0"}}};
  return kubelet;
}

inline ApiSeen GoodApi(WallTime now) {
  using namespace std::chrono_literals;
  ApiSeen api;
  api.server = "https://10.0.0.1:6443";
  api.version = *ParseVersion("v1.37.1");
  api.clock = ClockSeen{.ahead = 0ms, .uncertainty = 505ms};
  api.dra_versions = std::set<std::string>{"v1", "v1beta1"};
  api.gates = GoodGates("the API server's /metrics");
  api.node = NodeSeen{.kubelet_version = "v1.37.1", .ready = ConditionSeen{.status = "True"}};
  api.lease = LeaseSeen{.renewed = now - 8s, .holds = 40s};
  api.slices = std::vector{GoodSlice("s-0", "gpu-0"), GoodSlice("s-1", "gpu-1")};
  api.all_slices = std::vector{PlaceOf((*api.slices)[0]), PlaceOf((*api.slices)[1])};
  api.nodes = std::set<std::string>{"node-7", "node-8"};
  api.pods = std::vector{GoodPod(), GoodDriverPod()};
  api.daemon_sets["gpu/driver"] = DaemonSetSeen{.at_once = "1", .nodes = 8, .updated = 8};
  api.claims = std::vector{GoodClaim()};
  api.health_served = true;
  api.health = NodeHealthSeen{.ready = ConditionSeen{.status = "True"}};
  api.access_of = "service account galen-system/galen-agent";
  api.access = {{.right = "list pods"}, {.right = "patch pods/status"}};
  for (AccessSeen& access : api.access) access.allowed = true;
  return api;
}

inline Observations GoodObservations() {
  using namespace std::chrono_literals;
  Observations seen;
  seen.node = "node-7";
  seen.kubelet_root = "/k";
  seen.when = WallTime{1'795'000'100s};
  seen.registry = std::vector{GoodDriver("gpu.example.com")};
  seen.kubelet = GoodKubelet();
  seen.api = GoodApi(seen.when);
  seen.agent.socket = "/run/galen/agent.sock";
  seen.agent.status = AgentStatusSeen{.version = "0.1.0", .node = "node-7", .role = "observer"};
  seen.agent.drivers = std::vector<AgentDriver>{{.name = "gpu.example.com",
                                                 .endpoint = "/k/plugins/gpu.example.com/dra.sock",
                                                 .health = "v1",
                                                 .trouble = "",
                                                 .connected = true}};
  seen.agent.journal = JournalSeen{};
  seen.agent.open_files = std::optional<std::int64_t>(20'000);
  seen.host.cgroup =
      CgroupSeen{.unified = true, .controllers = {"cpu", "cpuset", "io", "memory", "pids"}};
  seen.host.inotify =
      InotifySeen{.instances_max = 512, .watches_max = 524'288, .tried = OkStatus()};
  seen.host.file_table = FileTableSeen{.used = 5'000, .max = 1'000'000};
  seen.host.time_sync = TimeSyncSeen{.synchronised = true, .error_max = 20ms};
  seen.host.runtime = RuntimeSeen{.name = "containerd", .started = WallTime{1'794'980'000s}};
  seen.host.pressure = PressureSeen{.cpu = 12, .memory = 0, .io = 1};
  seen.host.nvidia = NvidiaSeen{.module = "570.124.06", .libraries = {"570.124.06"}, .root = "/"};
  seen.image = ImageSeen{};
  seen.expected = ExpectedSeen{};
  seen.expected->pci = std::map<std::string, std::set<std::string>>{};
  seen.host.disks = {GoodDisk("/k", "the kubelet"), GoodDisk("/var/lib/galen", "galen-agent")};
  seen.cdi.directories = {"/etc/cdi", "/var/run/cdi"};
  seen.cdi.files =
      std::vector<CdiFile>{{.path = "/var/run/cdi/gpu.json",
                            .fault = "",
                            .ids = {"gpu.example.com/gpu=c-0", "gpu.example.com/gpu=c-1"}}};
  return seen;
}

inline std::vector<std::string> IdsOf(const Observations& seen, Level level) {
  std::vector<std::string> ids;
  for (const CheckResult& result : Judge(seen)) {
    if (result.level == level) ids.push_back(result.id);
  }
  return ids;
}

// What is not healthy, as "id verdict".
inline std::vector<std::string> Found(const Observations& seen) {
  std::vector<std::string> found;
  for (const CheckResult& result : Judge(seen)) {
    if (result.level == Level::kGood) continue;
    found.push_back(result.id + " " + std::string(ToString(result.level)));
  }
  return found;
}

// What one check says of what was seen.
inline CheckResult ResultOf(const Observations& seen, std::string_view id) {
  for (CheckResult& result : Judge(seen)) {
    if (result.id == id) return std::move(result);
  }
  ADD_FAILURE() << "there is no check " << id;
  return {};
}

// One thing that is wrong with a node, all that checks should find then ("id verdict"), and words
// of what is seen in the first.
struct Flaw {
  std::vector<std::string> found;
  std::string words;
  std::function<void(Observations&)> make;
};

// Each flaw is found, and nothing but what it names; together they find each of `checks`.
inline void ExpectEachIsFound(const std::vector<Flaw>& flaws, const std::vector<Check>& checks) {
  std::set<std::string> found;
  for (const Flaw& flaw : flaws) {
    Observations seen = GoodObservations();
    flaw.make(seen);
    EXPECT_THAT(Found(seen), ::testing::UnorderedElementsAreArray(flaw.found)) << flaw.words;
    const std::string first = flaw.found.front().substr(0, flaw.found.front().find(' '));
    EXPECT_THAT(ResultOf(seen, first).seen, ::testing::HasSubstr(flaw.words));
    found.insert(first);
  }
  for (const Check& check : checks) {
    EXPECT_TRUE(found.contains(std::string(check.id))) << check.id << " is never seen finding";
  }
}

}  // namespace galen::doctor
