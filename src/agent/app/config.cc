#include "agent/app/config.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/data/yaml.h"
#include "base/text.h"
#include "model/plugin_resource.h"
#include "net/address.h"

namespace galen::agent {
namespace {

// The most bytes of a value that a fault shows.
constexpr std::size_t kShownBytesMax = 80;

// Takes values off the file and notes what is wrong with them.
class Reader {
 public:
  explicit Reader(ConfigFaults& faults) : faults_(faults) {}

  template <typename... Args>
  void Fault(const std::string& where, fmt::format_string<Args...> format, Args&&... args) {
    faults_.Add(where, fmt::format(format, std::forward<Args>(args)...));
  }
  ConfigFaults& faults() { return faults_; }

  // A member that is absent leaves `value` alone.
  void Text(const Json& object, std::string_view name, std::string& value,
            const std::string& where = "") {
    const Json* member = object.Find(name);
    if (member == nullptr || member->is_null()) return;
    if (!member->is_string()) return Fault(where + std::string(name), "must be a text");
    value = member->AsString();
  }

  void Bool(const Json& object, std::string_view name, bool& value) {
    const Json* member = object.Find(name);
    if (member == nullptr || member->is_null()) return;
    if (!member->is_bool()) return Fault(std::string(name), "must be true or false");
    value = member->AsBool();
  }

  // The first of `choices` that the text names is taken; "" leaves the value as it is.
  template <typename T>
  void Choice(const std::string& where, const std::string& text, T& value,
              std::initializer_list<std::pair<std::string_view, T>> choices) {
    if (text.empty()) return;
    std::vector<std::string_view> names;
    for (const auto& [name, choice] : choices) {
      names.push_back(name);
      if (text != name) continue;
      value = choice;
      return;
    }
    Fault(where, "is \"{}\", must be one of: {}", Printable(ToValidUtf8(text)),
          fmt::join(names, ", "));
  }

  void OnlyKnown(const Json& object, const std::string& where,
                 std::span<const std::string_view> known) {
    for (const auto& [name, value] : object.members()) {
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      Fault(where + Printable(name), "is not known; known are: {}", fmt::join(known, ", "));
    }
  }

 private:
  ConfigFaults& faults_;
};

// A pool's name is a path of subdomains (resource.k8s.io).
bool IsPoolName(std::string_view text) {
  while (true) {
    const std::size_t slash = text.find('/');
    if (!IsDnsSubdomain(text.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    text.remove_prefix(slash + 1);
  }
}

// A part that no device can have would make a rule that never holds, and nobody would notice.
void CheckParts(Reader& reader, const std::string& where, const TimeoutRule& rule) {
  const auto check = [&](std::string_view part, const std::string& name, bool right,
                         std::string_view whose) {
    if (name.empty() || right) return;
    reader.Fault(fmt::format("{}.{}", where, part), "is \"{}\", must be {} name, in lower case",
                 Shown(name, kShownBytesMax), whose);
  };
  if (IsPluginResource(rule.driver)) {
    // A device plugin names its devices as it likes; one must be named for the resource's check.
    const DeviceId id{rule.driver, "", rule.device.empty() ? "any" : rule.device};
    const Status right = ValidatePluginDevice(id);
    if (!right.ok()) reader.Fault(where, "{}", right.message());
    check("pool", rule.pool, IsPoolName(rule.pool), "a pool's");
    return;
  }
  check("driver", rule.driver, IsDnsSubdomain(rule.driver), "a driver's");
  check("pool", rule.pool, IsPoolName(rule.pool), "a pool's");
  check("device", rule.device, IsDnsLabel(rule.device), "a device's");
}

void ReadTimeout(Reader& reader, const std::string& where, const Json& item, AgentConfig& config) {
  if (!item.is_object()) return reader.Fault(where, "must be an object with a timeout");
  // A misspelled part would make a rule for all devices.
  static constexpr std::string_view kKnown[] = {"driver", "pool", "device", "timeout"};
  reader.OnlyKnown(item, where + ".", kKnown);
  TimeoutRule rule;
  reader.Text(item, "driver", rule.driver, where + ".");
  reader.Text(item, "pool", rule.pool, where + ".");
  reader.Text(item, "device", rule.device, where + ".");
  CheckParts(reader, where, rule);
  const Json& said = item["timeout"];
  if (said.is_null()) return reader.Fault(where, "has no timeout, such as timeout: 30s");
  const StatusOr<Duration> timeout = ParseDuration(said.AsString());
  const std::string shown = Shown(said.Dump(), kShownBytesMax);
  if (!timeout.ok()) {
    return reader.Fault(where + ".timeout", "is {}, must be a number with its unit, such as 30s",
                        shown);
  }
  // Refused rather than clamped: an operator who writes 0s means something that we do not know.
  if (*timeout < kTimeoutLeast || *timeout > kTimeoutMax) {
    return reader.Fault(where + ".timeout", "is {}, must be from 100ms to 24h", shown);
  }
  rule.timeout = *timeout;
  config.timeouts.push_back(std::move(rule));
}

void ReadDriver(Reader& reader, const std::string& where, const Json& item, AgentConfig& config) {
  if (!item.is_object()) return reader.Fault(where, "must be an object with a name");
  static constexpr std::string_view kKnown[] = {"name", "subscribe"};
  reader.OnlyKnown(item, where + ".", kKnown);
  std::string name, subscribe = "auto";
  reader.Text(item, "name", name, where + ".");
  reader.Text(item, "subscribe", subscribe, where + ".");
  if (!IsDnsSubdomain(name)) reader.Fault(where + ".name", "must be a driver's name");
  bool never = false;
  reader.Choice(where + ".subscribe", subscribe, never, {{"auto", false}, {"never", true}});
  if (never) config.unsubscribed.insert(name);
}

void ReadPostMortems(Reader& reader, const Json& file, AgentConfig& config) {
  const Json& age = file["postMortemAgeMax"];
  if (!age.is_null()) {
    const StatusOr<Duration> said = ParseDuration(age.AsString());
    if (said.ok() && *said >= kPostMortemAgeLeast && *said <= kPostMortemAgeMost) {
      config.post_mortem_age_max = *said;
    } else {
      reader.Fault("postMortemAgeMax", "is {}, must be from 1h to 90d, such as 14d",
                   Shown(age.Dump(), kShownBytesMax));
    }
  }
  const Json& bytes = file["postMortemBytesMax"];
  if (bytes.is_null()) return;
  const std::int64_t said = bytes.AsInt();  // 0, too little, when it is no number
  if (said >= static_cast<std::int64_t>(kPostMortemBytesLeast) &&
      said <= static_cast<std::int64_t>(kPostMortemBytesMost)) {
    config.post_mortem_bytes_max = static_cast<std::size_t>(said);
  } else {
    reader.Fault("postMortemBytesMax", "is {}, must be a number of bytes from {} to {}",
                 Shown(bytes.Dump(), kShownBytesMax), kPostMortemBytesLeast, kPostMortemBytesMost);
  }
}

// A list's bound is looked at before its items, so that a file of a million rows is one fault.
using ReadItem = void (*)(Reader&, const std::string&, const Json&, AgentConfig&);

void ReadList(Reader& reader, const Json& file, const std::string& name, std::size_t most,
              ReadItem read, AgentConfig& config) {
  const Json& list = file[name];
  if (list.is_null()) return;
  if (!list.is_array()) return reader.Fault(name, "must be a list");
  if (list.items().size() > most) {
    return reader.Fault(name, "has {} entries, at most {} are taken", list.items().size(), most);
  }
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    read(reader, fmt::format("{}[{}]", name, i), list[i], config);
  }
}

// Values that file or flags gave so far. Texts go directly to their place; names of choices wait
// here until they are parsed ("": not given).
struct Said {
  AgentConfig& config;
  std::string role{}, degraded{}, log_level{}, containers{};
};

// Where a text is stored, for the rows of Settings.
template <auto kMember>
std::string& Text(Said& said) {
  return said.config.*kMember;
}
template <auto kMember>
std::string& OfKubeconfig(Said& said) {
  return said.config.kubeconfig.*kMember;
}
template <auto kMember>
std::string& Choice(Said& said) {
  return said.*kMember;
}

// One key of the file. Without `text` its value is no string; without `flag` only the file can set
// it.
struct Setting {
  std::string_view key;
  std::string& (*text)(Said&) = nullptr;
  std::string_view flag = "";
  std::string AgentFlags::* given = nullptr;  // the flag's value
};

// Every key that a file may have.
const std::vector<Setting>& Settings() {
  using C = AgentConfig;
  using F = AgentFlags;
  static const std::vector<Setting> kSettings = {
      {"node", Text<&C::node>, "--node", &F::node},
      {"role", Choice<&Said::role>, "--role", &F::role},
      {"kubeletRoot", Text<&C::kubelet_root>, "--kubelet-root", &F::kubelet_root},
      {"registry", Text<&C::registry>, "--registry", &F::registry},
      {"endpointsAnywhere"},
      {"stateDir", Text<&C::state_dir>, "--state-dir", &F::state_dir},
      {"socket", Text<&C::socket>, "--socket", &F::socket},
      {"healthSources", Text<&C::health_sources>, "--health-sources", &F::health_sources},
      {"metricsAddress", Text<&C::metrics_address>, "--metrics-address", &F::metrics_address},
      {"metricsCertificate", Text<&C::metrics_certificate>},
      {"metricsKey", Text<&C::metrics_key>},
      {"metricsTokenFile", Text<&C::metrics_token_file>},
      {"probesAddress", Text<&C::probes_address>, "--probes-address", &F::probes_address},
      {"degradedAs", Choice<&Said::degraded>, "--degraded-as", &F::degraded},
      {"logLevel", Choice<&Said::log_level>, "--log-level", &F::log_level},
      {"kubeconfig", OfKubeconfig<&kube::KubeconfigOptions::path>, "--kubeconfig", &F::kubeconfig},
      {"context", OfKubeconfig<&kube::KubeconfigOptions::context>, "--context", &F::context},
      {"timeouts"},
      {"drivers"},
      {"containers", Choice<&Said::containers>, "--containers", &F::containers},
      {"processesAsRoot"},
      {"cdiRoot", Text<&C::cdi_root>, "--cdi-root", &F::cdi_root},
      {"postMortemAgeMax"},
      {"postMortemBytesMax"}};
  return kSettings;
}

// Parses names of choices from file and flags alike: a flag overrides because it was read later.
void ReadChoices(Reader& reader, Said& said) {
  reader.Choice("containers", said.containers, said.config.containers,
                {{"none", Containers::kNone}, {"processes", Containers::kProcesses}});
  reader.Choice("role", said.role, said.config.role,
                {{"observer", Role::kObserver}, {"manager", Role::kManager}});
  reader.Choice("degradedAs", said.degraded, said.config.degraded,
                {{"healthy", DegradedAs::kHealthy}, {"unhealthy", DegradedAs::kUnhealthy}});
  reader.Choice("logLevel", said.log_level, said.config.log_level,
                {{"debug", LogLevel::kDebug},
                 {"info", LogLevel::kInfo},
                 {"warning", LogLevel::kWarning},
                 {"error", LogLevel::kError}});
}

void ReadFile(Reader& reader, const Json& file, AgentConfig& config) {
  if (!file.is_object() && !file.is_null()) return reader.Fault("the file", "must be a mapping");
  std::vector<std::string_view> known;
  for (const Setting& setting : Settings()) known.push_back(setting.key);
  reader.OnlyKnown(file, "", known);
  Said said{config};
  for (const Setting& setting : Settings()) {
    if (setting.text != nullptr) reader.Text(file, setting.key, setting.text(said));
  }
  reader.Bool(file, "endpointsAnywhere", config.endpoints_anywhere);
  reader.Bool(file, "processesAsRoot", config.processes_as_root);
  ReadChoices(reader, said);
  ReadPostMortems(reader, file, config);
  ReadList(reader, file, "timeouts", kTimeoutRulesMax, ReadTimeout, config);
  ReadList(reader, file, "drivers", kDriverRulesMax, ReadDriver, config);
}

// An empty flag was not given. So `metricsAddress: ""`, for none, can be said in the file only.
void ReadFlags(Reader& reader, const AgentFlags& flags, AgentConfig& config) {
  Said said{config};
  for (const Setting& setting : Settings()) {
    if (setting.given == nullptr || (flags.*setting.given).empty()) continue;
    setting.text(said) = flags.*setting.given;
    reader.faults().SaidByFlag(std::string(setting.key), std::string(setting.flag));
  }
  config.processes_as_root |= flags.processes_as_root;
  ReadChoices(reader, said);
}

void CheckPath(Reader& reader, const std::string& where, const std::string& path) {
  if (path.starts_with('/') || reader.faults().Has(where)) return;
  reader.Fault(where, "is \"{}\", must be an absolute path", path);
}

// Checks values as they result from file, flags and defaults together.
void CheckWhole(Reader& reader, const AgentConfig& config) {
  if (reader.faults().Has("node")) {
    // Already reported while the file was read: the line holds no text.
  } else if (config.node.empty()) {
    reader.Fault("node", "is empty: give --node, or set NODE_NAME from spec.nodeName");
  } else if (!IsDnsSubdomain(config.node)) {
    reader.Fault("node", "is \"{}\", must be a node's name", Printable(ToValidUtf8(config.node)));
  }
  CheckPath(reader, "kubeletRoot", config.kubelet_root);
  // An empty one is derived from kubeletRoot, which is checked above.
  if (!config.registry.empty()) CheckPath(reader, "registry", config.registry);
  CheckPath(reader, "stateDir", config.state_dir);
  CheckPath(reader, "socket", config.socket);
  if (config.socket.size() > net::kSocketPathMax) {
    reader.Fault("socket", "is {} bytes long, at most {} fit a socket's address",
                 config.socket.size(), net::kSocketPathMax);
  }
  if (!config.health_sources.empty()) CheckPath(reader, "healthSources", config.health_sources);
  CheckAddresses(config, reader.faults());
  if (!config.cdi_root.empty()) CheckPath(reader, "cdiRoot", config.cdi_root);
  if (config.containers == Containers::kProcesses && config.role != Role::kManager) {
    reader.Fault("containers", "is \"processes\", which needs role: manager (--role manager)");
  }
}

}  // namespace

std::string_view ToString(Role role) {
  switch (role) {
    case Role::kObserver:
      return "observer";
    case Role::kManager:
      return "manager";
  }
  GALEN_UNREACHABLE();
}

void AddFlags(Flags& flags, AgentFlags& values) {
  flags.Add("--config", values.config_path, "YAML file; flags overrule it");
  flags.Add("--node", values.node, "this node's name; default $NODE_NAME");
  flags.Add("--role", values.role,
            "observer (default, beside a kubelet) or manager (instead of one)");
  flags.Add("--kubelet-root", values.kubelet_root, "default /var/lib/kubelet");
  flags.Add("--registry", values.registry, "default plugins_registry below the kubelet's root");
  flags.Add("--state-dir", values.state_dir, "journal and checkpoint; default /var/lib/galen");
  flags.Add("--socket", values.socket, "of the inspect service; default /run/galen/agent.sock");
  flags.Add("--health-sources", values.health_sources,
            "sockets of programs that report for drivers without health; default \"health\" beside "
            "the socket");
  flags.Add("--metrics-address", values.metrics_address, "default 127.0.0.1:9470");
  flags.Add("--probes-address", values.probes_address,
            "/healthz and /readyz only, for a kubelet's probes; default none");
  flags.Add("--degraded-as", values.degraded,
            "what is reported to Kubernetes: healthy (default), unhealthy");
  flags.Add("--kubeconfig", values.kubeconfig,
            "default: $KUBECONFIG, ~/.kube/config, in-cluster: the first that exists");
  flags.Add("--context", values.context, "of the kubeconfig; default its current one");
  flags.Add("--log-level", values.log_level, "debug, info (default), warning, error");
  flags.Add("--containers", values.containers,
            "of a manager's Pods: none (default), or processes of this machine");
  flags.AddSwitch("--processes-as-root", values.processes_as_root,
                  "let every Pod of the node do anything to this machine");
  flags.Add("--cdi-root", values.cdi_root,
            "where drivers write CDI files; default /etc/cdi and /var/run/cdi");
}

void CheckProcesses(const AgentConfig& config, unsigned user, ConfigFaults& faults) {
  if (config.containers != Containers::kProcesses || config.processes_as_root || user != 0) return;
  faults.Add(
      "containers",
      "is \"processes\", and the agent is root: every Pod could do anything to this machine; "
      "run it as another user, or allow it by processesAsRoot: true (--processes-as-root)");
}

AgentConfig LoadConfig(FileSystem& files, const Environment& environment, const AgentFlags& flags,
                       ConfigFaults& faults) {
  Reader reader(faults);
  AgentConfig config;
  // The environment has the lowest precedence; the file, then flags, overwrite it.
  config.node = Lookup(environment, "NODE_NAME").value_or("");
  if (!flags.config_path.empty()) {
    const StatusOr<std::string> text = files.Read(flags.config_path);
    const StatusOr<YamlReading> file =
        text.ok() ? ReadYaml(*text) : StatusOr<YamlReading>(text.status());
    faults.UseFile(flags.config_path, text.ok() ? *text : "");
    if (file.ok()) {
      faults.AddDoubled(file->doubled);
      ReadFile(reader, file->value, config);
    } else {
      faults.Add("", file.status().message());
    }
  }
  ReadFlags(reader, flags, config);
  CheckWhole(reader, config);
  return config;
}

}  // namespace galen::agent
