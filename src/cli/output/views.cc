#include "cli/output/views.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "cli/output/tone.h"
#include "model/plugin_resource.h"

namespace galen::cli {
namespace {

// "30s default", "10s driver", "45s config pool node-1": how long a report of its driver holds, and
// who decided that.
std::string Deadline(const DeviceView& device) {
  if (!device.deadline_seconds) return "";
  std::string text = fmt::format("{}s", *device.deadline_seconds);
  for (const std::string& part : {device.deadline_source, device.deadline_rule}) {
    if (!part.empty()) text += " " + part;
  }
  return text;
}

Table::Cell StateCell(const DeviceHealth& health) {
  return {StateText(health), ToneOf(health.state)};
}

// "train/trainer-0, train/trainer-1"
std::string HoldersText(const DeviceView& device) {
  std::vector<std::string> pods;
  for (const Holding& holding : device.holders) pods.push_back(ToString(holding.pod));
  return fmt::format("{}", fmt::join(pods, ", "));
}

// The first entry of a node's list is its worst.
const kube::NodeDevice* WorstOf(const kube::NodeDeviceHealth& node) {
  return node.devices.empty() ? nullptr : &node.devices[0];
}

// Why the node's worst device is in its state; else why its agent is not ready.
std::string ReasonOf(const kube::NodeDeviceHealth& node) {
  const kube::NodeDevice* worst = WorstOf(node);
  if (worst != nullptr && !worst->cause.code.empty()) return worst->cause.code;
  for (const kube::Condition& condition : node.conditions) {
    if (condition.type == "Ready" && condition.status != "True") return condition.reason;
  }
  return "";
}

bool Shown(const ViewOptions& options, const Holding& holding) {
  return (options.ns.empty() || options.ns == holding.pod.ns) && options.Shows(holding.pod.name);
}

// Adds columns that only -o wide shows at the end of a row or header.
template <typename Cells>
Cells Widen(Cells cells, const ViewOptions& options, const Cells& more) {
  if (options.wide) cells.insert(cells.end(), more.begin(), more.end());
  return cells;
}

// Adds them before the last column instead, a sentence without a fixed width; readers of a pipe
// take the rest of the line for it.
template <typename Cells>
Cells WidenBeforeDetail(Cells cells, const ViewOptions& options, const Cells& more) {
  if (options.wide) cells.insert(cells.end() - 1, more.begin(), more.end());
  return cells;
}

std::string KeyOf(const Holding& holding) {
  return ToString(holding.pod) + " " + holding.claim + " " + holding.request;
}

using Header = std::vector<std::string>;
using Row = std::vector<Table::Cell>;

// Whether a node has two devices of one name, so that their drivers must be shown.
bool NamesAreAmbiguous(const Fleet& fleet) {
  std::set<std::pair<std::string_view, std::string_view>> names;
  return std::ranges::any_of(fleet.devices, [&names](const DeviceView& device) {
    return !names.emplace(device.node, device.identity.id.device).second;
  });
}

// A row of devices with the driver before its last cell, if drivers are shown.
template <typename Cells>
Cells WithDriver(Cells cells, bool shown, const typename Cells::value_type& driver) {
  if (shown) cells.insert(cells.end() - 1, driver);
  return cells;
}

}  // namespace

bool LacksDriver(const kube::NodeDriver& driver) {
  // A driver would be in the same row; a device plugin has none.
  return driver.version == kube::kHealthSourceVersion && !IsPluginResource(driver.name);
}

namespace {

// "v1"; for a health source, which reports another driver's devices: "v1, health source".
std::string HealthText(const kube::NodeDriver& driver) {
  const bool source = driver.version.ends_with(kube::kHealthSourceVersion);
  if (LacksDriver(driver)) {
    return fmt::format("{}, {}, no such driver", driver.health, kube::kHealthSourceVersion);
  }
  return driver.health + (source ? fmt::format(", {}", kube::kHealthSourceVersion) : "");
}

}  // namespace

Table DevicesTable(const Fleet& fleet, const ViewOptions& options) {
  const bool driver = !options.wide && NamesAreAmbiguous(fleet);
  Table table(WidenBeforeDetail(WithDriver(Header{"NODE", "DEVICE", "MODEL", "HEALTH", "SINCE",
                                                  "REASON", "USED BY", "DETAIL"},
                                           driver, "DRIVER"),
                                options, Header{"DRIVER", "POOL", "SERIAL", "DEADLINE"}),
              3);
  for (const DeviceView& device : fleet.devices) {
    const DeviceIdentity& identity = device.identity;
    if (!options.Shows(identity.id.device)) continue;
    table.Add(
        WidenBeforeDetail(
            WithDriver(
                Row{device.node, identity.id.device, identity.model, StateCell(device.health),
                    AgeText(device.health.since, options.now), device.health.cause.code,
                    HoldersText(device), device.health.cause.message},
                driver, identity.id.driver),
            options, Row{identity.id.driver, identity.id.pool, identity.serial, Deadline(device)}),
        ToString(identity.id));
  }
  return table;
}

Table PodsTable(const Fleet& fleet, const ViewOptions& options) {
  const bool driver = !options.wide && NamesAreAmbiguous(fleet);
  Table table(WidenBeforeDetail(WithDriver(Header{"NAMESPACE", "POD", "DEVICE", "MODEL", "HEALTH",
                                                  "SINCE", "REASON", "DETAIL"},
                                           driver, "DRIVER"),
                                options, Header{"NODE", "DRIVER", "CLAIM", "SERIAL", "DEADLINE"}),
              4);
  for (const DeviceView& device : fleet.devices) {
    const DeviceIdentity& identity = device.identity;
    for (const Holding& holding : device.holders) {
      if (!Shown(options, holding)) continue;
      table.Add(
          WidenBeforeDetail(
              WithDriver(Row{holding.pod.ns, holding.pod.name, identity.id.device, identity.model,
                             StateCell(device.health), AgeText(device.health.since, options.now),
                             device.health.cause.code, device.health.cause.message},
                         driver, identity.id.driver),
              options,
              Row{device.node, identity.id.driver, holding.claim, identity.serial,
                  Deadline(device)}),
          ToString(identity.id) + " " + KeyOf(holding));
    }
  }
  return table;
}

Table PodsInBrief(const Fleet& fleet, const ViewOptions& options) {
  Table table({"POD", "DEVICE", "HEALTH", "SINCE", "DETAIL"}, 2);
  for (const DeviceView& device : fleet.devices) {
    for (const Holding& holding : device.holders) {
      if (!Shown(options, holding)) continue;
      table.Add({ToString(holding.pod), device.identity.id.device, StateCell(device.health),
                 AgeText(device.health.since, options.now), device.health.cause.message},
                ToString(device.identity.id) + " " + KeyOf(holding));
    }
  }
  return table;
}

Table NodesTable(const Fleet& fleet, const ViewOptions& options) {
  Table table(Widen(Header{"NODE", "DEVICES", "HEALTHY", "DEGRADED", "UNHEALTHY", "UNKNOWN",
                           "WORST", "DEVICE", "REASON"},
                    options, Header{"ROLE", "AGENT", "UP"}));
  for (const kube::NodeDeviceHealth& node : fleet.nodes) {
    if (!options.Shows(node.node)) continue;
    const kube::HealthSummary& summary = node.summary;
    const auto count = [](int number, Tone tone) {
      return Table::Cell(std::to_string(number), number > 0 ? tone : Tone::kPlain);
    };
    // As kubectl prints it: the state. The device is only named if it is not Healthy.
    const kube::NodeDevice* worst = WorstOf(node);
    const bool bad = worst != nullptr && worst->state != HealthState::kHealthy;
    const Table::Cell state =
        worst == nullptr ? Table::Cell("")
                         : Table::Cell(std::string(ToString(worst->state)), ToneOf(worst->state));
    table.Add(
        Widen(Row{node.node, std::to_string(summary.devices), std::to_string(summary.healthy),
                  count(summary.degraded, Tone::kWarning), count(summary.unhealthy, Tone::kBad),
                  count(summary.unknown, Tone::kFaint), state, bad ? worst->identity.id.device : "",
                  ReasonOf(node)},
              options,
              Row{node.agent_role, node.agent_version, AgeText(node.agent_since, options.now)}),
        node.node);
  }
  return table;
}

Table DriversTable(const Fleet& fleet, const ViewOptions& options) {
  Table table(Widen(Header{"NODE", "DRIVER", "HEALTH", "CONNECTED", "FOR"}, options,
                    Header{"SERVICE", "ENDPOINT"}),
              2);
  for (const kube::NodeDeviceHealth& node : fleet.nodes) {
    for (const kube::NodeDriver& driver : node.drivers) {
      if (!options.Shows(driver.name)) continue;
      const Table::Cell connected(driver.connected_since ? "yes" : "no",
                                  driver.connected_since ? Tone::kGood : Tone::kBad);
      table.Add(Widen(Row{node.node, driver.name, HealthText(driver), connected,
                          AgeText(driver.connected_since, options.now)},
                      options, Row{driver.version, driver.endpoint}),
                node.node + " " + driver.name);
    }
  }
  return table;
}

}  // namespace galen::cli
