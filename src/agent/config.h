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

enum class Role { kObserver, kManager };
std::string_view ToString(Role role);  // "observer", "manager"

struct AgentConfig {
  std::string node;
  Role role = Role::kObserver;
  std::string kubelet_root = "/var/lib/kubelet";
  std::string registry;             // "": plugins_registry below the kubelet's root
  bool endpoints_anywhere = false;  // drivers' sockets may lie outside the kubelet's root
  std::string state_dir = "/var/lib/galen";
  std::string socket = "/run/galen/agent.sock";
  std::string metrics_address = "127.0.0.1:9470";
  DegradedAs degraded = DegradedAs::kHealthy;
  std::vector<TimeoutRule> timeouts;
  std::set<std::string> unsubscribed;  // drivers with `subscribe: never`
  kube::KubeconfigOptions kubeconfig;
  LogLevel log_level = LogLevel::kInfo;

  std::string registry_directory() const {
    return registry.empty() ? kubelet_root + "/plugins_registry" : registry;
  }
};

inline constexpr std::size_t kTimeoutRulesMax = 1000;
inline constexpr std::size_t kDriverRulesMax = 256;

// What the command line says; "" leaves the file's word, or the default.
struct AgentFlags {
  std::string config_path;
  std::string node, role, kubelet_root, registry, state_dir, socket, metrics_address, degraded;
  std::string kubeconfig, context, log_level;
};

void AddFlags(Flags& flags, AgentFlags& values);

// InvalidArgument holds every fault, one a line, each with what would be right. The node's name
// comes from the flag, the file, or $NODE_NAME.
StatusOr<AgentConfig> LoadConfig(FileSystem& files, const Environment& environment,
                                 const AgentFlags& flags);

}  // namespace galen::agent
