#include "sdk/app/driver_options.h"

#include <fmt/ranges.h>

#include <functional>

#include "base/environment.h"
#include "base/flags.h"
#include "base/text.h"
#include "model/device.h"
#include "net/admin_page.h"
#include "sdk/claims/cdi_spec.h"
#include "sdk/plugin/plugin_devices.h"
#include "sdk/socket_paths.h"

namespace galen {
namespace {

// The variable that DaemonSets usually set from spec.nodeName.
constexpr char kNodeVariable[] = "NODE_NAME";

Duration AsDuration(std::chrono::nanoseconds value) { return value; }

}  // namespace

std::string NodeNameFromEnv() { return Lookup(ReadEnvironment(), kNodeVariable).value_or(""); }

std::optional<int> ParseCommandLine(int argc, char** argv, Driver::Options& options) {
  Flags flags(options.name, fmt::format("The DRA driver {}, with device health.", options.name),
              GALEN_VERSION);
  Duration timeout = AsDuration(options.health_timeout);
  Duration drain = AsDuration(options.drain);
  flags.Add("--node", options.node, "this node's name; $NODE_NAME unless given");
  flags.Add("--pool", options.pool, "pool to publish devices in; the node's name unless given");
  flags.Add("--kubelet-root", options.kubelet_root, "the kubelet's root directory");
  flags.Add("--cdi-root", options.cdi_root, "where CDI files are written");
  flags.Add("--kubeconfig", options.kubeconfig,
            "kubeconfig to use; $KUBECONFIG, ~/.kube/config or the Pod's account unless given");
  flags.Add("--instance", options.instance,
            "unique id of this instance (the Pod's UID), so that two can run during an update");
  flags.Add("--metrics-address", options.metrics_address,
            "serve /metrics, /healthz and /readyz here, e.g. 127.0.0.1:9464");
  flags.Add("--health-timeout", timeout, "how long a report of a device's health holds");
  flags.AddSwitch("--degraded-as-unhealthy", options.degraded_as_unhealthy,
                  "report a degraded device to Kubernetes as Unhealthy rather than Healthy");
  flags.Add("--device-plugin", options.device_plugin.resource,
            "offer devices as this extended resource instead, e.g. vendor.com/gpu, by a device "
            "plugin; they are in no ResourceSlice then");
  flags.Add("--device-plugin-devices", options.device_plugin.devices,
            "with --device-plugin: only devices of these names, by pattern, e.g. 'gpu-1*'; may be "
            "repeated; all unless given");
  flags.Add("--drain", drain, "how long prepares under way may take at the end");
  flags.AddChoice("--log-level", options.log_level, {"debug", "info", "warning", "error"},
                  "the least important lines to write");
  const std::optional<int> leave = flags.Parse(argc, argv);
  // Health reports carry whole seconds. A timeout that becomes zero is refused later.
  options.health_timeout = std::chrono::duration_cast<std::chrono::seconds>(timeout);
  options.drain = std::chrono::duration_cast<std::chrono::milliseconds>(drain);
  return leave;
}

namespace sdk {

std::string PoolOf(const Driver::Options& options) {
  return options.pool.empty() ? options.node : options.pool;
}

StatusOr<kube::ClusterConfig> FindCluster(FileSystem& files, const Driver::Options& options) {
  kube::KubeconfigOptions where;
  where.path = options.kubeconfig;
  return kube::FindConfig(files, ReadEnvironment(), where);
}

namespace {

void ValidateDevicePlugin(const Driver::Options::DevicePlugin& plugin,
                          const std::function<void(std::string)>& add) {
  if (plugin.resource.empty()) {
    if (!plugin.devices.empty()) add("--device-plugin-devices needs --device-plugin as well");
    return;
  }
  if (!IsExtendedResource(plugin.resource)) {
    add(
        fmt::format("device plugin \"{}\" is no extended resource like vendor.com/gpu: a domain of "
                    "your own, \"/\" and a name",
                    Shown(plugin.resource, 80)));
  }
}

}  // namespace

Status ValidateOptions(const Driver::Options& options) {
  std::vector<std::string> faults;
  const auto add = [&faults](std::string fault) { faults.push_back(std::move(fault)); };
  if (!IsDnsSubdomain(options.name) || options.name.size() > 63 || !IsCdiVendor(options.name)) {
    add(
        fmt::format("name \"{}\" must be a DNS subdomain of at most 63 characters that begins with "
                    "a letter, such as fpga.example.com",
                    Printable(options.name)));
  }
  if (options.node.empty()) {
    add(fmt::format("node is empty: give --node or ${}", kNodeVariable));
  } else if (!IsDnsSubdomain(options.node)) {
    add(fmt::format("node \"{}\" is no node's name", Printable(options.node)));
  }
  // Names the flags, which most SDK programs have.
  const auto check_absolute = [&add](const char* flag, const std::string& path) {
    if (path.starts_with('/')) return;
    add(fmt::format("--{} \"{}\" must be an absolute path", flag, Printable(path)));
  };
  check_absolute("kubelet-root", options.kubelet_root);
  check_absolute("cdi-root", options.cdi_root);
  if (!options.instance.empty() && !IsDnsLabel(options.instance)) {
    add(fmt::format("instance \"{}\" must be a DNS label, such as a Pod's UID",
                    Printable(options.instance)));
  }
  if (options.health_timeout < std::chrono::seconds(1) ||
      options.health_timeout > std::chrono::hours(24)) {
    add("--health-timeout must be 1s to 24h");
  }
  if (!ParseLogLevel(options.log_level).ok()) {
    add(fmt::format("log level \"{}\" is none of debug, info, warning, error",
                    Printable(options.log_level)));
  }
  if (!options.metrics_address.empty()) {
    const StatusOr<std::string> address = net::AdminAddress(options.metrics_address);
    if (!address.ok()) add("--metrics-address: " + address.status().message());
  }
  ValidateDevicePlugin(options.device_plugin, add);
  const std::string pool = PoolOf(options);
  // Only if its parts are valid, or one fault would be reported twice. A pool named after the node
  // was checked as the node.
  if (faults.empty() && !options.pool.empty()) {
    const Status status = Validate(DeviceId{options.name, pool, "device"});
    if (!status.ok()) add(status.message());
  }
  if (faults.empty()) {
    const auto paths = MakeSocketPaths(options.kubelet_root, options.name, options.instance);
    if (!paths.ok()) add(paths.status().message());
  }
  if (faults.empty() && !options.device_plugin.resource.empty()) {
    const auto path = MakePluginSocketPath(options.kubelet_root, options.name);
    if (!path.ok()) add(path.status().message());
  }
  return faults.empty() ? OkStatus() : InvalidArgument("{}", fmt::join(faults, "; "));
}

}  // namespace sdk
}  // namespace galen
