#include "driver/driver_config.h"

#include <algorithm>

#include "base/text.h"
#include "model/plugin_resource.h"
#include "probes/rule_file/rule_reader.h"
#include "probes/simulator/simulator.h"
#include "sdk/app/driver_options.h"
#include "sdk/app/health_source.h"

namespace galen::device_driver {
namespace {

// Guards against a slip such as 1ms, with which the driver would look without pause.
constexpr Duration kPollLeast = std::chrono::milliseconds(100);
// Stands for a driver's name in checks of the other options, when a resource is given.
constexpr const char* kResourceStandIn = "resource.galen.dev";
constexpr Duration kPollMost = std::chrono::seconds(10);  // well below the 30 s that a report holds

void AddSharedFlags(Flags& flags, DriverConfig& config) {
  Driver::Options& driver = config.driver;
  flags.Add("--name", driver.name, "the driver's name, as DeviceClasses select it");
  flags.Add("--node", driver.node, "this node's name; $NODE_NAME unless given");
  flags.Add("--pool", driver.pool, "pool to publish devices in; the node's name unless given");
  flags.Add("--kubelet-root", driver.kubelet_root, "the kubelet's root directory");
  flags.Add("--cdi-root", driver.cdi_root, "where CDI files are written");
  flags.Add("--kubeconfig", driver.kubeconfig,
            "kubeconfig to use; $KUBECONFIG, ~/.kube/config or the Pod's account unless given");
  flags.Add("--instance", driver.instance,
            "unique id of this instance (the Pod's UID), so that two can run during an update");
  flags.Add("--device-plugin", driver.device_plugin.resource,
            "offer devices as this extended resource instead, e.g. vendor.com/gpu, by a device "
            "plugin; they are in no ResourceSlice then");
  flags.Add("--device-plugin-devices", driver.device_plugin.devices,
            "with --device-plugin: only devices of these names, by pattern, e.g. 'gpu-1*'; may be "
            "repeated; all unless given");
  flags.Add("--health-only-for", config.health_only_for,
            "report the health of this driver's devices, or of those of a device plugin's resource "
            "such as nvidia.com/gpu, to Galen's agent, and be no driver: no slices, no claims, no "
            "API server; devices are found by UUID, PCI address and serial");
  flags.Add("--health-sources", config.health_sources,
            "with --health-only-for: the directory in which the agent looks for the socket");
  flags.Add("--state-dir", config.state_dir,
            "where findings are kept over restarts; below the kubelet's plugin directory unless "
            "given");
  flags.Add("--rules", config.rules_path, "a table of rules to use instead of the built-in one");
  flags.AddSwitch("--run-commands", config.run_commands,
                  "run the commands that the table of --rules names, as this program's user");
  flags.Add("--poll", config.poll, "how often devices are looked at");
  flags.Add("--health-timeout", config.health_timeout,
            "how long a report of a device's health holds: 1s to 24h, in whole seconds");
  flags.Add("--metrics-address", driver.metrics_address,
            "serve /metrics, /healthz and /readyz here, e.g. 127.0.0.1:9464");
  flags.AddSwitch("--degraded-as-unhealthy", driver.degraded_as_unhealthy,
                  "report a degraded device to Kubernetes as Unhealthy rather than Healthy");
  flags.AddChoice("--taint-unhealthy", config.taint_unhealthy, {"NoSchedule", "NoExecute"},
                  "taint Unhealthy devices, so that no new claim gets them (NoSchedule) or that "
                  "their Pods are evicted too (NoExecute); Unknown is never tainted");
  flags.AddChoice("--taint-degraded", config.taint_degraded, {"NoSchedule", "NoExecute"},
                  "the same of Degraded devices; claims that tolerate the taint still get them");
  flags.AddChoice("--withdraw-unhealthy", config.withdraw_unhealthy, {"always", "without-taints"},
                  "leave Unhealthy devices out of the ResourceSlices: always, or only where the "
                  "API server does not keep the taint of --taint-unhealthy");
  flags.AddSwitch("--health-attributes", config.health_attributes,
                  "publish the attributes galen.dev/health and galen.dev/degraded (what is lost, "
                  "in per cent), which device classes and claims can select by");
  flags.AddChoice("--log-level", driver.log_level, {"debug", "info", "warning", "error"},
                  "the least important lines to write");
}

}  // namespace

void AddFlags(Flags& flags, const KindSpec& kind, DriverConfig& config) {
  config.kind = kind.kind;
  config.driver.name = kind.driver;
  AddSharedFlags(flags, config);
  kind.add_flags(flags, config);
}

Driver::Options SdkOptions(const DriverConfig& config) {
  Driver::Options options = config.driver;
  options.health_timeout = std::chrono::duration_cast<std::chrono::seconds>(config.health_timeout);
  return options;
}

namespace {

void ValidateOffer(const DriverConfig& config, const AddFault& add) {
  if (config.withdraw_unhealthy == "without-taints" && config.taint_unhealthy.empty()) {
    add("--withdraw-unhealthy without-taints: give --taint-unhealthy as well, for API servers that "
        "keep taints, or withdraw them always");
  }
}

void ValidateHealthOnly(const DriverConfig& config, const AddFault& add) {
  if (config.health_only_for.empty()) return;
  const bool resource = IsPluginResource(config.health_only_for);
  if (resource && !IsResourceName(config.health_only_for)) {
    add(
        fmt::format("--health-only-for: '{}' is no device plugin's resource, such as "
                    "nvidia.com/gpu, of at most 63 characters and not below kubernetes.io",
                    Printable(config.health_only_for)));
  } else if (!resource && config.health_only_for.find('.') == std::string::npos) {
    add(
        fmt::format("--health-only-for: '{}' has no domain: a driver is called like "
                    "gpu.nvidia.com, a device plugin's resource like nvidia.com/gpu",
                    Printable(config.health_only_for)));
  }
  if (SpecOf(config.kind).simulated) {
    add(
        fmt::format("--health-only-for: simulated GPUs cannot report for another {}; use nvidia, "
                    "pci, nic or sysfs",
                    resource ? "device plugin" : "driver"));
  }
  const std::pair<std::string_view, bool> of_slices[] = {
      {"--taint-unhealthy", !config.taint_unhealthy.empty()},
      {"--taint-degraded", !config.taint_degraded.empty()},
      {"--withdraw-unhealthy", !config.withdraw_unhealthy.empty()},
      {"--health-attributes", config.health_attributes}};
  for (const auto& [flag, given] : of_slices) {
    if (!given) continue;
    add(std::string(flag) + (resource ? ": leave it out, since the devices of a device plugin's "
                                        "resource (--health-only-for) are in no ResourceSlices"
                                      : ": leave it out, since only the driver of "
                                        "--health-only-for may change its ResourceSlices"));
  }
  if (!config.driver.device_plugin.resource.empty()) {
    add(
        fmt::format("--device-plugin: leave it out, since only the {} of --health-only-for may "
                    "offer its devices",
                    resource ? "device plugin" : "driver"));
  }
  if (!config.health_sources.starts_with('/')) return add("--health-sources must be absolute");
  const Status path =
      sdk::HealthSourceSocket(config.health_sources, config.health_only_for, config.driver.instance)
          .status();
  if (!path.ok()) add("--health-sources: " + path.message());
}

}  // namespace

Status Validate(const DriverConfig& config) {
  std::string faults;
  const auto add = [&faults](std::string_view fault) {
    faults += (faults.empty() ? "" : "\n") + std::string(fault);
  };
  Driver::Options options = SdkOptions(config);
  // A resource is no driver's name; it is checked further below.
  if (IsPluginResource(config.health_only_for)) options.name = kResourceStandIn;
  if (const Status status = sdk::ValidateOptions(options); !status.ok()) add(status.message());
  if (config.health_timeout % std::chrono::seconds(1) != Duration::zero()) {
    add("--health-timeout must be whole seconds");
  }
  if (config.poll < kPollLeast || config.poll > kPollMost) add("--poll must be 100ms to 10s");
  if (!config.state_dir.empty() && !config.state_dir.starts_with('/')) {
    add("--state-dir must be an absolute path");
  }
  // Checked for nic as well, where the default passes, so that there is one rule less.
  if (config.devices < 1 || config.devices > probes::GpuSimulator::kCountMax) {
    add(fmt::format("--devices must be 1 to {}", probes::GpuSimulator::kCountMax));
  }
  SpecOf(config.kind).validate(config, add);
  ValidateOffer(config, add);
  ValidateHealthOnly(config, add);
  return faults.empty() ? OkStatus() : Status(Code::kInvalidArgument, faults);
}

namespace {

// "pci and sysfs".
std::string NamesOfFileReaders() {
  std::string names;
  for (const KindSpec& kind : Kinds()) {
    if (kind.reads_files) names += (names.empty() ? "" : " and ") + std::string(kind.name);
  }
  return names;
}

// A sign that is never read would make its rules look as if they worked.
Status RefuseUnread(const probes::RuleTable& table, const DriverConfig& config) {
  for (const probes::SignSpec& sign : table.signs) {
    if (sign.file && !SpecOf(config.kind).reads_files) {
      return InvalidArgument("{}: sign '{}' is a file, which only galen-driver {} read",
                             config.rules_path, sign.name, NamesOfFileReaders());
    }
    if (sign.kernel && !SpecOf(config.kind).reads_kernel_log) {
      return InvalidArgument(
          "{}: sign '{}' is a line of the kernel's log, which galen-driver {} "
          "does not read",
          config.rules_path, sign.name, SpecOf(config.kind).name);
    }
    if (sign.command && !config.run_commands) {
      return InvalidArgument("{}: sign '{}' is a command: --run-commands lets the driver run it",
                             config.rules_path, sign.name);
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<probes::RuleTable> ParseRulesFile(std::string_view text, const DriverConfig& config) {
  ASSIGN_OR_RETURN(probes::RuleTable table, probes::ParseRules(text, config.rules_path));
  RETURN_IF_ERROR(RefuseUnread(table, config));
  return table;
}

StatusOr<probes::RuleTable> LoadRules(FileSystem& files, const DriverConfig& config) {
  const std::string_view* built_in = SpecOf(config.kind).rules;
  // Validate reports that it is missing.
  if (config.rules_path.empty() && built_in == nullptr) return probes::RuleTable();
  if (config.rules_path.empty()) return probes::ParseRules(*built_in, "built-in rules");
  const StatusOr<std::string> text = files.Read(config.rules_path);
  if (!text.ok()) {
    const bool built_in_table = !probes::BuiltInRules(config.rules_path).empty();
    return InvalidArgument(
        "--rules: {}{}", text.status().message(),
        built_in_table ? fmt::format("; a built-in table is used by a file that says `extends: {}`",
                                     config.rules_path)
                       : "");
  }
  return ParseRulesFile(*text, config);
}

std::string AskedFor(const DriverConfig& config) {
  const std::pair<std::string_view, const std::vector<std::string>*> asked[] = {
      {"--interfaces", &config.interfaces},
      {"--select", &config.selections},
      {"--pattern", &config.patterns}};
  std::string text;
  for (const auto& [flag, values] : asked) {
    for (const std::string& value : *values) {
      text += fmt::format("{}{} {}", text.empty() ? "" : " ", flag, value);
    }
  }
  if (!text.empty() && config.sysfs_root != "/sys") text += " below " + config.sysfs_root;
  return text;
}

bool HasChecks(const probes::RuleTable& table) {
  return std::ranges::any_of(
      table.signs, [](const probes::SignSpec& sign) { return sign.command || sign.metric; });
}

std::string StateDirectory(const DriverConfig& config) {
  if (!config.state_dir.empty()) return config.state_dir;
  // In a hidden directory, which the agent does not search for sockets.
  if (!config.health_only_for.empty()) {
    std::string name = config.health_only_for;
    std::ranges::replace(name, '/', '_');
    return fmt::format("{}/.state/{}", config.health_sources, name);
  }
  return fmt::format("{}/plugins/{}", config.driver.kubelet_root, config.driver.name);
}

}  // namespace galen::device_driver
