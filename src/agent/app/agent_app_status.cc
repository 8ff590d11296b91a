// Tested by agent_app_test.cc and manager_test.cc.
// The agent's own status: whether it is ready, its problems, and its figures.
#include <algorithm>

#include "agent/agent_metrics.h"
#include "agent/app/agent_app.h"

namespace galen::agent {

std::vector<StartStep> AgentApp::start_steps() const {
  std::vector<StartStep> steps = {{"journal replayed", true},
                                  {"registry scanned", watcher_.scanned()},
                                  {"API synced", informers_.synced()}};
  if (config_.role == Role::kManager)
    steps.push_back({"node registered", virtual_node_.registered()});
  return steps;
}

bool AgentApp::ready() const {
  const std::vector<StartStep> steps = start_steps();
  return std::all_of(steps.begin(), steps.end(), [](const StartStep& step) { return step.done; });
}

std::vector<std::string> AgentApp::troubles() const {
  std::vector<std::string> all = informers_.troubles();
  const auto add = [&](const std::string& what, const std::string& trouble) {
    if (!trouble.empty()) all.push_back(what + ": " + trouble);
  };
  add("journal", keeper_.trouble());
  add("post-mortem records", post_mortems_.trouble());
  add("checkpoint", checkpoint_trouble_);
  add("registry", watcher_.trouble());
  add("NodeDeviceHealth", node_publisher_.trouble());
  add("node", virtual_node_.trouble());
  add("pods", runner_.trouble());
  if (processes_) add("containers", processes_->trouble());
  add("Pod status", publisher_.trouble());
  for (const DriverInfo& driver : plugins_.drivers()) {
    add(driver.name.empty() ? driver.socket : "driver " + driver.name, driver.trouble);
  }
  if (pod_resources_) add("Pod resources", pod_resources_->trouble());
  if (source_watcher_) add("health sources", source_watcher_->trouble());
  for (const DriverInfo& source : sources_.drivers()) {
    const std::string what =
        source.name.empty() ? source.socket : "health source for " + source.name;
    add(what, source.trouble);
    if (source.authority) add(what, source_names_.TroubleOf(source.name));
  }
  return all;
}

std::uint64_t AgentApp::api_writes() const {
  return publisher_.writes() + node_publisher_.writes();
}

kube::NodeDeviceHealth AgentApp::NodeHealth(const std::vector<kube::Condition>& before) const {
  std::vector<DeviceHealth> devices =
      AllDevices(keeper_, claims_, [this](const DeviceId& id) { return HealthOf(id); });
  const auto timeout_of = [this](const DeviceId& id) {
    const HealthCache::Entry* entry = keeper_.cache().Find(id);
    return entry != nullptr ? entry->timeout : TimeoutOf(config_.timeouts, id, std::nullopt);
  };
  return NodeHealthOf(
      {.node = config_.node,
       .version = version_,
       .role = std::string(ToString(config_.role)),
       .started = started_,
       .synced = informers_.synced(),
       .stopped = stopping_,
       .degraded = config_.degraded,
       .devices = std::move(devices),
       .timeout_of = timeout_of,
       .identity_of = [this](const DeviceId& id) { return IdentityOf(id, keeper_, informers_); },
       .claims = &claims_,
       .drivers = plugins_.drivers(),
       .health_sources = sources_.drivers(),
       .post_mortems = &post_mortems_.notable()},
      before, edges_.loop.WallNow());
}

AgentStatus AgentApp::StatusNow() const {
  return {.version = version_,
          .node = config_.node,
          .role = std::string(ToString(config_.role)),
          .started = started_,
          .api_writes = api_writes(),
          .pod_writes = publisher_.writes(),
          .troubles = troubles(),
          .holding_differences =
              pod_resources_ ? pod_resources_->differences() : std::vector<std::string>(),
          .all_published = keeper_.idle() && publisher_.idle() && node_publisher_.idle()};
}

void AgentApp::Collect(Metrics& metrics) {
  metrics.Set(metric::kBuildInfo,
              {{"version", version_}, {"node", config_.node}, {"role", ToString(config_.role)}}, 1);
  metrics.Set(metric::kJournalBytes, {}, static_cast<double>(journal_.bytes()));
  metric::ShowAges(metrics, plugins_.ReportAges(), aged_drivers_);
}

}  // namespace galen::agent
