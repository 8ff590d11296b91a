// How an agent is set up: a YAML file, and flags that overrule it. Read whole before anything
// starts; every fault is told at once.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "agent/pod_status.h"
#include "agent/timeout_policy.h"
#include "base/environment.h"
#include "base/file_system.h"
#include "base/flags.h"
#include "base/log.h"
#include "kube/config.h"

namespace galen::agent {

// Beside a kubelet, or instead of one (docs/adr/0006-roles.md).
enum class Role { kObserver, kManager };
std::string_view ToString(Role role);  // "observer", "manager"

// Every value as it is used, defaults included. Paths are absolute.
struct AgentConfig {
  // The Node object's name. The only one without a default.
  std::string node;
  Role role = Role::kObserver;
  std::string kubelet_root = "/var/lib/kubelet";
  std::string registry;             // "": plugins_registry below the kubelet's root
  bool endpoints_anywhere = false;  // drivers' sockets may lie outside the kubelet's root
  std::string state_dir = "/var/lib/galen";
  // Of the inspect service, which `galen` asks.
  std::string socket = "/run/galen/agent.sock";
  // host:port; "" for none.
  std::string metrics_address = "127.0.0.1:9470";
  DegradedAs degraded = DegradedAs::kHealthy;
  // At most kTimeoutRulesMax; of equals the last decides.
  std::vector<TimeoutRule> timeouts;
  std::set<std::string> unsubscribed;  // drivers with `subscribe: never`
  kube::KubeconfigOptions kubeconfig;
  LogLevel log_level = LogLevel::kInfo;

  std::string registry_directory() const {
    return registry.empty() ? kubelet_root + "/plugins_registry" : registry;
  }
};

// A file that names more devices than this one by one means a rule without a device. The rules are
// walked for each device of each report.
inline constexpr std::size_t kTimeoutRulesMax = 1000;
inline constexpr std::size_t kDriverRulesMax = 256;

// What the command line says; "" leaves the file's word, or the default.
struct AgentFlags {
  std::string config_path;
  std::string node, role, kubelet_root, registry, state_dir, socket, metrics_address, degraded;
  std::string kubeconfig, context, log_level;
};

// `values` is lent to `flags` until these are parsed.
void AddFlags(Flags& flags, AgentFlags& values);

// InvalidArgument holds every fault, one a line, each with what would be right; a file that cannot
// be read gives the file system's error. The node's name comes from the flag, the file, or
// $NODE_NAME. Creates and starts nothing.
StatusOr<AgentConfig> LoadConfig(FileSystem& files, const Environment& environment,
                                 const AgentFlags& flags);

}  // namespace galen::agent
