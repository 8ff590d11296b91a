// How an agent is set up: a YAML file, and flags that overrule it. Read whole before anything
// starts; all faults are reported at once.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/health/timeout_policy.h"
#include "agent/publish/pod_status.h"
#include "base/data/yaml.h"
#include "base/data/yaml_lines.h"
#include "base/environment.h"
#include "base/files/file_system.h"
#include "base/flags.h"
#include "base/log.h"
#include "base/status.h"
#include "kube/config.h"

namespace galen::agent {

// What is wrong with a configuration, gathered so that a person repairs it once and not fault by
// fault. Each names the place to repair: the file's line, or the flag. A value; no I/O.
class ConfigFaults {
 public:
  // The file that the values of keys come from; without one all come from flags and defaults.
  void UseFile(std::string path, std::string_view text);
  // The value of this key was said by a flag, whose place in the file, if any, is not to blame.
  void SaidByFlag(const std::string& key, std::string flag) { flags_[key] = std::move(flag); }

  // `where` is "role", "timeouts[0]", "timeouts[0].timeout", or "" for the whole. Lines from
  // elsewhere, as of a kubeconfig, are kept whole.
  void Add(std::string_view where, std::string_view what);
  // Keys of the file that come twice: YAML readers silently drop the first value.
  void AddDoubled(const std::vector<DoubledKey>& keys);
  // Whether this key has a fault already, so that faults that follow from it are not added.
  bool Has(std::string_view where) const;
  // Adds an error of the system for a valid value, e.g. a directory that cannot be made.
  void AddRefusal(std::string_view where, const Status& status);

  // In the order of the file, then the rest in the order they came. InvalidArgument, or the code
  // of the first refusal where there are only refusals: a restart may mend those.
  Status ToStatus() const;

 private:
  struct Fault {
    std::optional<std::size_t> line;  // of the file
    std::string where;
    std::string text;
  };

  std::optional<std::size_t> LineOf(std::string_view where) const;

  std::string path_;
  YamlLines lines_{""};
  std::map<std::string, std::string, std::less<>> flags_;  // by key
  std::vector<Fault> faults_;
  Status refusal_ = OkStatus();
  std::size_t refusals_ = 0;
};

// Beside a kubelet, or instead of one (docs/adr/0006-roles.md).
enum class Role { kObserver, kManager };
std::string_view ToString(Role role);  // "observer", "manager"

// What becomes of the containers of a manager's Pods: only shown as running, or run as processes of
// this machine (docs/adr/0015-processes-end-with-the-agent.md).
enum class Containers { kNone, kProcesses };

// The effective values, defaults included. Paths are absolute.
struct AgentConfig {
  // The Node object's name. The only one without a default.
  std::string node;
  Role role = Role::kObserver;
  std::string kubelet_root = "/var/lib/kubelet";
  std::string registry;             // "": plugins_registry below the kubelet's root
  bool endpoints_anywhere = false;  // drivers' sockets may lie outside the kubelet's root
  std::string state_dir = "/var/lib/galen";
  // The inspect service, which `galen` asks.
  std::string socket = "/run/galen/agent.sock";
  std::string health_sources;  // "": "health" beside the socket
  // host:port; "" for none.
  std::string metrics_address = "127.0.0.1:9470";
  // PEM files, and one with a bearer token; "": none. An address that other machines can reach is
  // accepted only with all three.
  std::string metrics_certificate, metrics_key, metrics_token_file;
  // host:port for a kubelet's probes, which learn nothing else there; "" for none.
  std::string probes_address;
  DegradedAs degraded = DegradedAs::kHealthy;
  Containers containers = Containers::kNone;
  bool processes_as_root = false;  // the operator accepts that Pods act as root
  std::string cdi_root;            // where drivers write CDI files; "": kCdiDirectories
  // Post-mortem records: how long they are kept, and how much of them.
  Duration post_mortem_age_max = std::chrono::hours(14 * 24);
  std::size_t post_mortem_bytes_max = std::size_t{2} << 20;
  // At most kTimeoutRulesMax; of equals the last decides.
  std::vector<TimeoutRule> timeouts;
  std::set<std::string> unsubscribed;  // drivers with `subscribe: never`
  kube::KubeconfigOptions kubeconfig;
  LogLevel log_level = LogLevel::kInfo;

  std::string registry_directory() const {
    return registry.empty() ? kubelet_root + "/plugins_registry" : registry;
  }
  // Where a kubelet says which devices its Pods have.
  std::string pod_resources_socket() const { return kubelet_root + "/pod-resources/kubelet.sock"; }
  // Where programs that report the health of a driver's devices in its place have their sockets.
  std::string health_sources_directory() const {
    if (!health_sources.empty()) return health_sources;
    return socket.substr(0, socket.rfind('/')) + "/health";
  }
  // For containers that are processes: each Pod has a directory below it.
  std::string pods_directory() const { return state_dir + "/pods"; }
};

// Where container runtimes look for CDI files; a later directory takes precedence.
inline constexpr std::string_view kCdiDirectories[] = {"/etc/cdi", "/var/run/cdi"};

// A file that names more devices than this one by one means a rule without a device. The rules are
// walked for each device of each report.
inline constexpr std::size_t kTimeoutRulesMax = 1000;
inline constexpr std::size_t kDriverRulesMax = 256;

// The least: an incident takes about an hour. The most: after three months nobody asks.
inline constexpr Duration kPostMortemAgeLeast = std::chrono::hours(1);
inline constexpr Duration kPostMortemAgeMost = std::chrono::hours(90 * 24);
// The least: room for the records of one large node's reboot. The most: all records are in memory.
inline constexpr std::size_t kPostMortemBytesLeast = std::size_t{64} << 10;
inline constexpr std::size_t kPostMortemBytesMost = std::size_t{64} << 20;

// What the command line says; "" leaves the file's value, or the default.
struct AgentFlags {
  std::string config_path;
  std::string node, role, kubelet_root, registry, state_dir, socket, metrics_address, degraded;
  std::string probes_address, health_sources;
  std::string kubeconfig, context, log_level;
  std::string containers, cdi_root;
  bool processes_as_root = false;
};

// `values` is borrowed to `flags` until these are parsed.
void AddFlags(Flags& flags, AgentFlags& values);

// The node's name comes from the flag, the file, or $NODE_NAME. What is wrong goes into `faults`,
// with what would be right, and its value is the default: the config is to be used only if there is
// no fault. Creates and starts nothing.
AgentConfig LoadConfig(FileSystem& files, const Environment& environment, const AgentFlags& flags,
                       ConfigFaults& faults);

// Whether Pods may run as processes of this user: as root only if the operator allows it, since
// anyone who may create a Pod here could do anything to the machine. `user` is the effective one.
void CheckProcesses(const AgentConfig& config, unsigned user, ConfigFaults& faults);

// Notes what is wrong with metricsAddress, probesAddress and the files that go with them, each with
// what would be right: where an agent is reached over HTTP, and by whom.
void CheckAddresses(const AgentConfig& config, ConfigFaults& faults);

// Makes the directories that the agent writes in, with what the kubelet would make where it takes
// its place, and looks whether an API server can be found; `faults` has LoadConfig's and gets the
// rest, so that a person sees all in one pass. What has a fault already is left alone; after
// any fault nothing is made, only looked at.
void PreparePlaces(FileSystem& files, const Environment& environment, const AgentConfig& config,
                   ConfigFaults& faults);

}  // namespace galen::agent
