// What was observed on one node: values only, so that every check can be made again from them,
// without the node. Each value that could not be read carries the reason.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "doctor/expectations.h"
#include "doctor/image_compatibility.h"
#include "kube/objects/pod.h"
#include "kube/objects/resource_slice.h"
#include "model/claim.h"

namespace galen::doctor {

// The beginning of a reason: the API server refused doctor's account.
inline constexpr std::string_view kMissingRight = "missing right: ";

// Begins as "not looked at". An unread value is neither good nor bad: a check that needs it is
// Unknown, with the status's text as its reason. A value; no I/O.
template <typename T>
class Seen : public StatusOr<T> {
 public:
  Seen() : StatusOr<T>(Status(Code::kUnknown, "not looked at")) {}
  Seen(Status why) : StatusOr<T>(std::move(why)) {}  // NOLINT(google-explicit-constructor)
  Seen(T value) : StatusOr<T>(std::move(value)) {}   // NOLINT(google-explicit-constructor)
  Seen(StatusOr<T> answer) : StatusOr<T>(std::move(answer)) {}  // NOLINT
};

// A plugin's answer to GetInfo.
struct PluginInfo {
  std::string type, name, endpoint;
  std::vector<std::string> versions;

  bool Offers(std::string_view version) const;
};

// One name in the kubelet's plugin registry.
struct RegistryEntry {
  // What the name stands for.
  enum class Kind { kSocket, kFile, kSymlink, kOther };
  std::string path;
  Kind kind = Kind::kSocket;
  bool hidden = false;  // its name starts with a dot

  // Only for sockets that are not hidden.
  Status connected;
  Seen<PluginInfo> info;
  Seen<bool> endpoint_listens;  // never false: an error says why it could not be reached

  // Where the plugin serves; the registration socket itself when it names none.
  const std::string& endpoint() const;
  // A DRA driver that answered; not a CSI or device plugin.
  bool is_driver() const;
};

// A kubelet's or API server's feature gates.
struct Gates {
  std::map<std::string, bool> values;
  std::string source;  // where they were read
  // Whether every gate of the program is listed; else only those that somebody set, and the rest
  // have the version's defaults.
  bool complete = false;
};

// The kubelet's process, read from /proc.
struct KubeletProcess {
  std::int64_t pid = 0;
  std::vector<std::string> arguments;
  Seen<std::optional<std::int64_t>> open_files;  // RLIMIT_NOFILE, the soft limit; nullopt: none
  Seen<std::optional<Duration>> watchdog;        // systemd's WatchdogSec; nullopt: none
  Seen<WallTime> started;
};

// A claim that the kubelet has had prepared, from its checkpoint.
struct CheckpointedClaim {
  ObjectKey key;
  std::string uid;
  std::set<std::string> drivers;
  std::set<std::string> cdi_ids;
};

// A registration socket in the kubelet's plugin manager.
struct PluginState {
  bool wanted = false;      // the kubelet has found it
  bool registered = false;  // and has registered it
};

// The kubelet: its process, its settings and what it keeps on disk.
struct KubeletSeen {
  Seen<KubeletProcess> process;
  Seen<Gates> gates;
  Seen<std::map<std::string, PluginState>> plugins;  // by the registration socket's path
  Seen<std::vector<CheckpointedClaim>> prepared;     // DataLoss: its file is broken
  std::set<std::string> device_plugins;              // drivers by the names of their sockets
};

// "v1.37.1" in parts.
struct KubernetesVersion {
  std::string text;
  int major = 0, minor = 0;
};
// nullopt when `text` is no version.
std::optional<KubernetesVersion> ParseVersion(const std::string& text);

// This machine's clock against the API server's.
struct ClockSeen {
  Duration ahead{};        // positive: this clock is ahead
  Duration uncertainty{};  // either way; the server's header has whole seconds
};

// A condition of an object, by its type.
struct ConditionSeen {
  std::string status, reason, message;
};

// The Node object.
struct NodeSeen {
  std::string kubelet_version;
  std::optional<ConditionSeen> ready;
  std::map<std::string, std::string> labels;  // those of Node Feature Discovery alone
};

// The node's Lease, which the kubelet renews while it lives.
struct LeaseSeen {
  std::optional<WallTime> renewed;
  Duration holds = std::chrono::seconds(40);
};

// A toleration of a Pod: a taint that does not remove it, or not at once.
struct TolerationSeen {
  std::string key;                // "" = every taint
  std::string effect;             // "" = every effect
  std::optional<Duration> lasts;  // nullopt: for ever
};

// A Pod of this node.
struct PodSeen {
  kube::Pod pod;
  std::vector<std::string> finalizers;
  std::string service_account;
  bool runs_agent = false;  // one of its containers is a galen-agent
  bool is_driver = false;   // it mounts a directory of plugins' or health sources' sockets
  std::int64_t priority = 0;
  std::vector<std::string> without_requests;  // containers that request no CPU or no memory
  Duration grace = std::chrono::seconds(30);  // from its deletion to the end of its containers
  std::vector<TolerationSeen> tolerations;

  // Whether it asks for devices by claims.
  bool holds_devices() const;
  // "namespace/name" of the DaemonSet that it belongs to; "" = to none.
  std::string DaemonSet() const;
};

// A DaemonSet: how it replaces its Pods, and how far it is.
struct DaemonSetSeen {
  bool by_hand = false;       // updateStrategy OnDelete: a person deletes each Pod
  std::string at_once = "1";  // else rollingUpdate.maxUnavailable: "1", "10%"
  std::int64_t nodes = 0;     // that should run its Pod
  std::int64_t updated = 0;   // those of them with the present version
};

// A ResourceClaim, wherever it is allocated.
struct ClaimSeen {
  Claim claim;
  bool here = false;  // allocated to this node alone
};

// The part of a slice that says where it belongs.
struct SlicePlace {
  std::string name, driver, node, pool;
  std::int64_t generation = 0;
};

// The node's NodeDeviceHealth object.
struct NodeHealthSeen {
  std::optional<ConditionSeen> ready;
};

// One right that the agent needs, and whether it has it.
struct AccessSeen {
  std::string right;  // "patch pods/status"
  Seen<bool> allowed;
};

// NotFound for an object means that the API server has none.
struct ApiSeen {
  std::string server;
  Seen<KubernetesVersion> version;
  Seen<ClockSeen> clock;
  Seen<std::set<std::string>> dra_versions;  // of resource.k8s.io; NotFound: not served
  Seen<Gates> gates;
  Seen<NodeSeen> node;
  Seen<LeaseSeen> lease;
  Seen<std::vector<kube::ResourceSlice>> slices;  // that name this node
  Seen<std::vector<SlicePlace>> all_slices;
  Seen<std::set<std::string>> nodes;
  Seen<std::vector<PodSeen>> pods;  // of this node
  // The DaemonSets of drivers and agents among these Pods, by "namespace/name".
  std::map<std::string, Seen<DaemonSetSeen>> daemon_sets;
  Seen<std::vector<ClaimSeen>> claims;
  // Whether Pods that claims are reserved for and that are not on this node exist, by UID.
  std::map<std::string, Seen<bool>> far_pods;
  Seen<bool> health_served;  // NotFound: NodeDeviceHealth is not defined
  Seen<NodeHealthSeen> health;
  std::string access_of;  // whose rights these are, as a phrase
  std::vector<AccessSeen> access;
};

// The agent's own status, from its socket.
struct AgentStatusSeen {
  std::string version, node, role;
  std::vector<std::string> troubles;
  std::vector<std::string> holding_differences;  // between kubelet and API server
};

// A driver as the agent sees it.
struct AgentDriver {
  std::string name, endpoint, health, trouble;
  bool connected = false;
  std::string registration_socket;  // as the agent sees it; "" = it does not say
};

// What the agent's journal shows of its past.
struct JournalSeen {
  std::vector<std::string> quarantined;  // files that were set aside
  std::vector<std::string> jumps;        // of the clock, a sentence each
};

// The agent: its socket and its files.
struct AgentSeen {
  std::string socket;
  Seen<AgentStatusSeen> status;
  Seen<std::vector<AgentDriver>> drivers;
  // Drivers that have a health source, from the same answer as `drivers`.
  std::vector<std::string> health_sources;
  Seen<JournalSeen> journal;
  Seen<std::optional<std::int64_t>> open_files;  // RLIMIT_NOFILE, the soft limit; nullopt: none
};

// A directory that a component must be able to write to.
struct DiskSeen {
  std::string path;
  std::string of;  // whose it is: "galen-agent", "the kubelet"
  Status looked;   // OK, or why it could not be looked at; NotFound: it does not exist
  std::uint64_t free_bytes = 0, bytes = 0;
  std::uint64_t free_inodes = 0, inodes = 0;  // 0 inodes: the file system has no such limit
  Status writable;
};

// The control groups of this machine.
struct CgroupSeen {
  bool unified = false;  // only version 2
  std::set<std::string> controllers;
};

// How many files may be watched, by the kernel's limits (inotify(7)).
struct InotifySeen {
  std::int64_t instances_max = 0, watches_max = 0;  // of one user
  Status tried;                                     // one instance with one watch, just now
};

// Open files of the whole machine (/proc/sys/fs/file-nr).
struct FileTableSeen {
  std::int64_t used = 0, max = 0;
};

// Whether the kernel's clock is synchronised, and its largest error (adjtimex(2)).
struct TimeSyncSeen {
  bool synchronised = false;
  Duration error_max{};
};

// The container runtime's process.
struct RuntimeSeen {
  std::string name;  // "containerd"
  WallTime started{};
};

// The share of the last minute in which work waited, in percent (Documentation/accounting/psi.rst
// of the kernel): some of it for a CPU, all of it for memory or disks.
struct PressureSeen {
  double cpu = 0, memory = 0, io = 0;
};

// The versions of NVIDIA's driver on this machine.
struct NvidiaSeen {
  std::string module;                  // of the loaded kernel module; "" = none is loaded
  std::vector<std::string> libraries;  // each once; empty: none has a version in its name
  std::string root;                    // below which the libraries are: "/", "/run/nvidia/driver"
};

// The machine below kubelet and agent.
struct HostSeen {
  Seen<RuntimeSeen> runtime;
  Seen<PressureSeen> pressure;
  Seen<NvidiaSeen> nvidia;
  Seen<CgroupSeen> cgroup;
  Seen<InotifySeen> inotify;
  Seen<FileTableSeen> file_table;
  Seen<TimeSyncSeen> time_sync;
  std::vector<DiskSeen> disks;
};

// One file of a CDI directory.
struct CdiFile {
  std::string path;
  std::string fault;          // "" = a valid specification
  std::set<std::string> ids;  // "vendor.com/class=name"
};

// The directories that a container runtime reads CDI files from.
struct CdiSeen {
  std::vector<std::string> directories;
  Seen<std::vector<CdiFile>> files;
};

// The firmware that a file names.
struct FirmwareSeen {
  std::string path;  // below /sys
  Seen<std::string> version;
};

// What the operator expects of this node, and what sysfs shows.
struct ExpectedSeen {
  Expectations wanted;  // empty: no expectations
  // Addresses by vendor and device ("10de:2330"), of all PCI devices.
  Seen<std::map<std::string, std::set<std::string>>> pci;
  std::map<std::string, std::vector<FirmwareSeen>> firmware;  // by ExpectedFirmware::files
};

// What an image needs, and the features that this machine shows.
struct ImageSeen {
  std::vector<CompatibilitySet> needs;  // empty: no image was given
  NodeFeatures features;                // without labels, which come from the API server
};

// All observations of one node.
struct Observations {
  std::string node;
  std::string kubelet_root;
  WallTime when{};
  Seen<std::vector<RegistryEntry>> registry;
  KubeletSeen kubelet;
  ApiSeen api;
  AgentSeen agent;
  HostSeen host;
  CdiSeen cdi;
  Seen<ExpectedSeen> expected;
  Seen<ImageSeen> image;

  // The API server's time, if known; else this machine's.
  WallTime ApiNow() const;
  // The kubelet's version from its Node object.
  std::optional<KubernetesVersion> KubeletVersion() const;
  // Drivers of the registry that answered.
  std::vector<const RegistryEntry*> Drivers() const;
  // OK when every plugin answered; else names the first that hangs, since it may be the driver that
  // seems to be missing.
  Status AllAnswered() const;
  // Names of drivers whose endpoint can be reached now.
  std::set<std::string> LiveDrivers() const;
};

}  // namespace galen::doctor
