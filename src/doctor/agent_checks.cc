#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "doctor/check.h"

namespace galen::doctor {
namespace {

// The agent needs a connection to each driver and one to the API server, and a watch on the
// registry.
constexpr std::int64_t kAgentFilesLeast = 1024;

Outcome JudgeRunning(const Observations& seen) {
  const Seen<AgentStatusSeen>& status = seen.agent.status;
  if (status.ok()) {
    return Healthy(fmt::format("galen-agent {}, {}", Shown(status->version), Shown(status->role)));
  }
  switch (status.status().code()) {
    case Code::kNotFound:
    case Code::kUnavailable:
    case Code::kDeadlineExceeded:
      return Bad(fmt::format("{}: {}", Shown(seen.agent.socket), Shown(status.status().message())));
    default:
      // The socket belongs to root: another user's failure to connect says nothing of the agent.
      return Unknown(status.status());
  }
}

// Both mistakes are silent otherwise: the agent runs and is connected, but its reports reach no
// Pod.
Outcome JudgeRole(const Observations& seen) {
  if (!seen.agent.status.ok()) return Unknown("the agent could not be asked");
  const AgentStatusSeen& status = *seen.agent.status;
  if (status.node != seen.node) {
    return Bad(fmt::format("the agent calls this node {}, it is {}", Shown(status.node),
                           Shown(seen.node)));
  }
  if (status.role == "manager" && seen.kubelet.process.ok()) {
    return Bad(fmt::format("the agent is a manager, and kubelet {} runs here, too",
                           seen.kubelet.process->pid));
  }
  return Healthy(fmt::format("{} of {}", Shown(status.role), Shown(status.node)));
}

// The agent's own sentences; each goes away with its cause.
Outcome JudgeTroubles(const Observations& seen) {
  if (!seen.agent.status.ok()) return Unknown("the agent could not be asked");
  std::vector<std::string> found;
  for (const std::string& trouble : seen.agent.status->troubles) found.push_back(Shown(trouble));
  return Judged(Level::kBad, found);
}

// The kubelet knows which device the container got; everybody else reads the API server.
Outcome JudgeHoldings(const Observations& seen) {
  if (!seen.agent.status.ok()) return Unknown("the agent could not be asked");
  std::vector<std::string> found;
  for (const std::string& difference : seen.agent.status->holding_differences) {
    found.push_back(Shown(difference));
  }
  return Judged(Level::kWarning, found);
}

// "" when the agent is connected to an instance of the driver.
std::string FaultOfDriver(const std::vector<AgentDriver>& known, const std::string& name) {
  std::string fault = "is unknown to the agent";
  for (const AgentDriver& driver : known) {
    if (driver.name != name) continue;
    if (driver.connected && driver.trouble.empty()) return "";
    fault = driver.trouble.empty() ? "is not connected to the agent" : Shown(driver.trouble);
  }
  return fault;
}

// Drivers that cannot be reached are left out: the agent cannot connect to them either.
Outcome JudgeDrivers(const Observations& seen) {
  if (!seen.agent.drivers.ok()) return Unknown("the agent could not be asked");
  if (!seen.registry.ok()) return Unknown(seen.registry.status());
  std::vector<std::string> found;
  const std::set<std::string> live = seen.LiveDrivers();
  for (const std::string& name : live) {
    if (const std::string fault = FaultOfDriver(*seen.agent.drivers, name); !fault.empty()) {
      found.push_back(fmt::format("{}: {}", Shown(name), fault));
    }
  }
  std::string all = Counted(live.size(), "driver");
  if (const auto& sources = seen.agent.health_sources; !sources.empty()) {
    all += fmt::format(", and health sources for {}",
                       Shown(fmt::format("{}", fmt::join(sources, ", "))));
  }
  return Judged(Level::kBad, found, all);
}

// One missing right is reported even if others could not be checked.
Outcome JudgePermissions(const Observations& seen) {
  const std::vector<AccessSeen>& access = seen.api.access;
  if (access.empty()) return Unknown("the API server was not asked");
  std::vector<std::string> found;
  const AccessSeen* unasked = nullptr;
  for (const AccessSeen& one : access) {
    if (!one.allowed.ok()) {
      unasked = &one;
    } else if (!*one.allowed) {
      found.push_back(one.right);
    }
  }
  if (!found.empty()) return Bad(fmt::format("{} may not: {}", seen.api.access_of, Listed(found)));
  if (unasked != nullptr) return Unknown(unasked->allowed.status());
  return Healthy(fmt::format("{} has all {} rights", seen.api.access_of, access.size()));
}

// Uses discovery, which every account may read.
Outcome JudgeDefinition(const Observations& seen) {
  if (seen.api.health_served.ok()) return Healthy("galen.dev/v1alpha1 is served");
  if (seen.api.health_served.status().code() != Code::kNotFound) {
    return Unknown(seen.api.health_served.status());
  }
  return Bad("the API server does not know galen.dev/v1alpha1");
}

// An agent shows by the Ready condition that it has synced, or that it was stopped.
Outcome JudgeObject(const Observations& seen) {
  const Seen<NodeHealthSeen>& health = seen.api.health;
  if (!health.ok()) {
    if (health.status().code() != Code::kNotFound || !seen.api.health_served.ok()) {
      return Unknown(health.status());
    }
    return Bad(fmt::format("there is no NodeDeviceHealth {}", Shown(seen.node)));
  }
  if (!health->ready) return Bad("it has no condition Ready");
  const ConditionSeen& ready = *health->ready;
  if (ready.status == "True") return Healthy();
  return Bad(fmt::format("its Ready is {}: {}: {}", Shown(ready.status), Shown(ready.reason),
                         Shown(ready.message)));
}

// docs/formats/journal.md: a broken file is set aside and never read again.
Outcome JudgeJournal(const Observations& seen) {
  if (!seen.agent.journal.ok()) return Unknown(seen.agent.journal.status());
  std::vector<std::string> found;
  for (const std::string& name : seen.agent.journal->quarantined) found.push_back(Shown(name));
  return Judged(Level::kWarning, found);
}

// The limit comes from systemd or a shell; the agent itself does not raise it.
Outcome JudgeAgentOpenFiles(const Observations& seen) {
  const Seen<std::optional<std::int64_t>>& limit = seen.agent.open_files;
  if (!limit.ok()) return Unknown(limit.status());
  if (!*limit) return Healthy("unlimited");
  std::string text = fmt::format("it may open {} files", **limit);
  return *limit >= kAgentFilesLeast ? Healthy(std::move(text)) : Warning(std::move(text));
}

std::vector<Check> ProcessChecks() {
  return {
      {"agent.running", Level::kBad, "galen-agent answers on its socket",
       "Only the kubelet's own field shows on Pods of this node that their device is broken.",
       "See whether the agent's Pod runs on this node (kubectl get pods -A -o wide); "
       "--agent-socket names another socket.",
       JudgeRunning},
      {"agent.role", Level::kBad, "The agent knows this node and is not its second kubelet",
       "It looks at another node's Pods, or registers and prepares beside the kubelet.",
       "Start it with --node set to this node's name (NODE_NAME by the downward API), and with "
       "--role observer beside a kubelet.",
       JudgeRole},
      {"agent.troubles", Level::kBad, "Nothing hinders the agent",
       "The agent says itself what it cannot do; until then some of what it says is missing or "
       "old.",
       "Each sentence names what to mend; the agent tries again by itself.", JudgeTroubles},
      {"agent.drivers", Level::kBad, "The agent is connected to each driver",
       "The devices of that driver are Unknown on their Pods.",
       "Give the agent the kubelet's root as the kubelet sees it (same path, read access); the "
       "sentence says what it met.",
       JudgeDrivers},
      {"agent.holdings", Level::kWarning, "Kubelet and API server name the same devices of Pods",
       "A Pod may show the health of a device that it does not have, and not that of its own.",
       "Delete the Pod, so that its claim is allocated and prepared anew. If it comes back, "
       "compare "
       "the claim's status.allocation with what the driver prepares.",
       JudgeHoldings},
      {"agent.open-files", Level::kWarning, "The agent may open at least 1024 files",
       "With many drivers it cannot connect to all of them.", "Raise its LimitNOFILE.",
       JudgeAgentOpenFiles},
      {"agent.journal", Level::kWarning, "No part of the agent's journal was set aside",
       "A crash or the disk broke a file: of that time galen why knows less. The rest is whole.",
       "Look for disk errors in the kernel's log; then remove the *.corrupt-* files.",
       JudgeJournal},
  };
}

}  // namespace

std::vector<Check> AgentChecks() {
  std::vector<Check> checks = ProcessChecks();
  const std::vector<Check> more = {
      {"agent.permissions", Level::kBad, "The agent has each right that it needs",
       "What it may not do it does not do: Pods, Events or objects stay as they were.",
       "Apply deploy/galen.yaml again, or deploy/examples/manager.yaml for a manager: it grants "
       "all of them.",
       JudgePermissions},
      {"agent.definition", Level::kBad, "The cluster knows NodeDeviceHealth",
       "No program but galen why can read what the node knows of its devices.",
       "kubectl apply -f deploy/galen.yaml.", JudgeDefinition},
      {"agent.object", Level::kBad, "An agent stands behind the node's NodeDeviceHealth",
       "What the object says of the devices is old, or there is none.",
       "Look at agent.running and agent.permissions first; then at the agent's log.", JudgeObject},
  };
  checks.insert(checks.end(), more.begin(), more.end());
  return checks;
}

}  // namespace galen::doctor
