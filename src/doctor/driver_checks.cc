#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/text.h"
#include "doctor/check.h"

namespace galen::doctor {
namespace {

using Kind = RegistryEntry::Kind;

// Kubelets know v1beta1 since 1.32 and v1 since 1.34 (KEP-4381); health as v1alpha1 from 1.34 to
// 1.39 and as v1 since 1.37 (KEP-4680, kubernetes issue 140838).
constexpr int kDraV1Since = 34;
constexpr int kHealthV1Since = 37;
constexpr int kHealthV1Alpha1Until = 39;

constexpr std::string_view kRegistry = "plugins_registry";

std::string NameOf(const RegistryEntry& driver) { return Shown(driver.info->name); }

// "driver at socket", short enough for several in a line.
std::string Sentence(const RegistryEntry& driver, std::string_view what) {
  return fmt::format("{} ({}) {}", NameOf(driver), Shown(driver.path), what);
}

// Judges each entry of the registry; `fault` gives "" or what is wrong with it. An entry that could
// not be read for lack of rights is no fault.
template <typename Fault>
Outcome EachEntry(const Observations& seen, Level when_found, Fault fault) {
  if (!seen.registry.ok()) return Unknown(seen.registry.status());
  std::vector<std::string> found;
  std::size_t looked_at = 0;
  Status refused;
  for (const RegistryEntry& entry : *seen.registry) {
    if (entry.connected.code() == Code::kPermissionDenied) {
      refused = entry.connected;
      continue;
    }
    ++looked_at;
    if (std::string what = fault(entry); !what.empty()) found.push_back(std::move(what));
  }
  if (found.empty() && !refused.ok()) return Unknown(refused);
  return Judged(when_found, found, Counted(looked_at, "name"));
}

// Judges each driver that answered.
template <typename Fault>
Outcome EachDriver(const Observations& seen, Level when_found, Fault fault) {
  const Outcome outcome = EachEntry(seen, when_found, [&](const RegistryEntry& entry) {
    return entry.is_driver() ? fault(entry) : std::string();
  });
  if (outcome.level != Level::kGood) return outcome;
  return Healthy(Counted(seen.Drivers().size(), "driver"));
}

// A missing directory and an unreadable one differ: only a missing one is a finding, and only
// beside a kubelet, which makes its registry when it starts.
Outcome JudgeRegistry(const Observations& seen) {
  if (seen.registry.ok()) return Healthy(Counted(seen.registry->size(), "name"));
  if (seen.registry.status().code() == Code::kNotFound && seen.kubelet.process.ok()) {
    return Bad(Shown(seen.registry.status().message()));
  }
  return Unknown(seen.registry.status());
}

// Such names are left over from manual changes, or from drivers that listen elsewhere and link
// here.
Outcome JudgeStrays(const Observations& seen) {
  return EachEntry(seen, Level::kWarning, [](const RegistryEntry& entry) -> std::string {
    switch (entry.kind) {
      case Kind::kSocket:
        return entry.hidden ? Shown(entry.path) + " has a name with a leading dot" : "";
      case Kind::kFile:
        return Shown(entry.path) + " is a plain file";
      case Kind::kSymlink:
        return Shown(entry.path) + " is a symlink";
      case Kind::kOther:
        return Shown(entry.path) + " is no socket";
    }
    return "";
  });
}

// Sockets that a kubelet would ask, and doctor did.
bool IsAsked(const RegistryEntry& entry) { return entry.kind == Kind::kSocket && !entry.hidden; }

// The kernel accepts a connection for a process that is stopped or stuck, and no answer comes.
bool Hangs(const RegistryEntry& entry) { return entry.connected.code() == Code::kDeadlineExceeded; }

Outcome JudgeDeadSockets(const Observations& seen) {
  return EachEntry(seen, Level::kBad, [](const RegistryEntry& entry) -> std::string {
    if (!IsAsked(entry) || entry.connected.ok() || Hangs(entry)) return "";
    return fmt::format("{}: {}", Shown(entry.path), Shown(entry.connected.message()));
  });
}

// A driver may accept and never answer, or not even accept: its author calls both a hang.
Outcome JudgeAnswers(const Observations& seen) {
  return EachEntry(seen, Level::kBad, [](const RegistryEntry& entry) -> std::string {
    const bool asked = IsAsked(entry) && (entry.connected.ok() || Hangs(entry));
    if (!asked || entry.info.ok()) return "";
    return fmt::format("{}: {}", Shown(entry.path), Shown(entry.info.status().message()));
  });
}

// The kubelet may see its root under another path than we do: only the part below the registry
// counts.
std::string BelowRegistry(const std::string& path) {
  const std::size_t at = path.rfind(kRegistry);
  return at == std::string::npos ? path : path.substr(at);
}

// plugin_manager_total_plugins counts a socket once among those found (desired) and once among
// those registered (actual).
Outcome JudgeRegistered(const Observations& seen) {
  if (!seen.kubelet.plugins.ok()) return Unknown(seen.kubelet.plugins.status());
  std::map<std::string, PluginState> states;
  for (const auto& [path, state] : *seen.kubelet.plugins) states[BelowRegistry(path)] = state;
  return EachEntry(seen, Level::kBad, [&](const RegistryEntry& entry) -> std::string {
    if (!IsAsked(entry) || !entry.info.ok()) return "";
    const PluginState state = states[BelowRegistry(entry.path)];
    if (state.registered) return "";
    return Sentence(entry, state.wanted
                               ? "is known to the kubelet, but registration does not succeed"
                               : "is unknown to the kubelet");
  });
}

// Keeps the first socket of each key, and makes a fault of each further one.
template <typename Key>
std::vector<std::string> Repeated(const Observations& seen, Key key) {
  std::map<std::string, const RegistryEntry*> first;
  std::vector<std::string> found;
  for (const RegistryEntry* driver : seen.Drivers()) {
    const auto [at, fresh] = first.emplace(key(*driver), driver);
    if (!fresh) {
      found.push_back(fmt::format("{} has {} and {}", NameOf(*driver), Shown(at->second->path),
                                  Shown(driver->path)));
    }
  }
  return found;
}

// By name and endpoint together, as the kubelet refuses them.
Outcome JudgeUnique(const Observations& seen) {
  if (!seen.registry.ok()) return Unknown(seen.registry.status());
  return Judged(Level::kBad,
                Repeated(seen,
                         [](const RegistryEntry& driver) {
                           return driver.info->name + '\n' + driver.endpoint();
                         }),
                Counted(seen.Drivers().size(), "driver"));
}

// Two endpoints of one name are allowed since 1.33, for rolling updates.
Outcome JudgeDriverInstances(const Observations& seen) {
  if (!seen.registry.ok()) return Unknown(seen.registry.status());
  return Judged(Level::kWarning,
                Repeated(seen, [](const RegistryEntry& driver) { return driver.info->name; }),
                Counted(seen.Drivers().size(), "driver"));
}

// The registration socket only shows where the driver is supposed to serve.
Outcome JudgeEndpoint(const Observations& seen) {
  return EachDriver(seen, Level::kBad, [](const RegistryEntry& driver) -> std::string {
    const Status& status = driver.endpoint_listens.status();
    if (status.ok() || status.code() == Code::kPermissionDenied) return "";
    return fmt::format("{} says that it serves at {}: {}", NameOf(driver), Shown(driver.endpoint()),
                       Shown(status.message()));
  });
}

// A judgement of each driver by the kubelet's version.
template <typename Fault>
Outcome ByVersion(const Observations& seen, Level when_found, Fault fault) {
  const std::optional<KubernetesVersion> kubelet = seen.KubeletVersion();
  if (!kubelet) return Unknown("the kubelet's version is not known");
  return EachDriver(seen, when_found,
                    [&](const RegistryEntry& driver) { return fault(*kubelet, driver); });
}

// v1beta1 is known to every supported kubelet, so offering it alone is no fault.
Outcome JudgeService(const Observations& seen) {
  return ByVersion(
      seen, Level::kBad,
      [](const KubernetesVersion& kubelet, const RegistryEntry& driver) -> std::string {
        const bool v1 = driver.info->Offers("v1.DRAPlugin") && kubelet.minor >= kDraV1Since;
        if (v1 || driver.info->Offers("v1beta1.DRAPlugin")) return "";
        return Sentence(driver, driver.info->Offers("v1.DRAPlugin")
                                    ? "offers v1.DRAPlugin alone, and kubelet " +
                                          Shown(kubelet.text) + " knows v1beta1"
                                    : "offers neither v1.DRAPlugin nor v1beta1.DRAPlugin");
      });
}

// From 1.37 on a kubelet reads health only from drivers that offer it.
bool OffersHealth(const RegistryEntry& driver) {
  return driver.info->Offers("v1.DRAResourceHealth") ||
         driver.info->Offers("v1alpha1.DRAResourceHealth");
}

Outcome JudgeHealth(const Observations& seen) {
  return EachDriver(seen, Level::kWarning, [](const RegistryEntry& driver) -> std::string {
    return OffersHealth(driver) ? "" : Sentence(driver, "offers no DRAResourceHealth");
  });
}

// A driver that offers both is right for every kubelet; one that offers one is right for some.
Outcome JudgeHealthVersion(const Observations& seen) {
  return ByVersion(
      seen, Level::kWarning,
      [](const KubernetesVersion& kubelet, const RegistryEntry& driver) -> std::string {
        const bool v1 = driver.info->Offers("v1.DRAResourceHealth");
        const bool v1alpha1 = driver.info->Offers("v1alpha1.DRAResourceHealth");
        if (v1 && !v1alpha1 && kubelet.minor < kHealthV1Since) {
          return Sentence(driver, "offers health as v1 alone, and kubelet " + Shown(kubelet.text) +
                                      " knows v1alpha1");
        }
        if (v1alpha1 && !v1 && kubelet.minor >= kHealthV1Since) {
          return Sentence(
              driver,
              fmt::format(
                  "offers health as v1alpha1 alone, which kubelet {} {}", Shown(kubelet.text),
                  kubelet.minor > kHealthV1Alpha1Until ? "no longer knows" : "takes until 1.39"));
        }
        return "";
      });
}

std::vector<Check> SocketChecks() {
  return {
      {"drivers.registry", Level::kBad, "The kubelet's plugin registry is there",
       "Without this directory no driver can be found.",
       "Name the kubelet's root with --kubelet-root; if it is right, no kubelet ever ran here.",
       JudgeRegistry},
      // plugin_watcher.go, handleCreateEvent: what is no socket, and dotfiles, are skipped.
      {"drivers.strays", Level::kWarning, "The registry holds nothing but sockets",
       "Kubelets skip such a name silently: whatever it belongs to is not registered.",
       "Remove it, and start its driver again if it has one.", JudgeStrays},
      {"drivers.dead-sockets", Level::kBad, "Somebody listens on each socket of the registry",
       "A driver ended without removing its socket. Its devices are Unknown, and Pods that hold "
       "them cannot end until it runs again.",
       "Start the driver again; if it is gone for good, remove the socket.", JudgeDeadSockets},
      // operation_generator.go: GetInfo has one second.
      {"drivers.answer", Level::kBad, "Each plugin answers GetInfo within 1 s",
       "The plugin hangs: a kubelet that starts now cannot register it.",
       "Look at the plugin's log and start it again.", JudgeAnswers},
      {"drivers.registered", Level::kBad, "Each plugin is registered with the kubelet",
       "The kubelet will not prepare claims with this driver: Pods that need it do not start.",
       "Look for \"RegisterPlugin\" in the kubelet's log. Starting the driver again makes the "
       "kubelet try at once.",
       JudgeRegistered},
      // dra_plugin_manager.go, add: a second one of the same name and endpoint is refused.
      {"drivers.unique", Level::kBad, "No two sockets offer the same driver and endpoint",
       "The kubelet takes one of them and refuses the other, which may be the newer.",
       "Remove the socket that an earlier instance left, and start the driver again.", JudgeUnique},
      {"drivers.instances", Level::kWarning, "One instance of each driver runs",
       "This is right during a rolling update only. Kubelets up to 1.37 take health from both, and "
       "either may overwrite the other's.",
       "Wait for the update's end; then end the old instance.", JudgeDriverInstances},
      {"drivers.endpoint", Level::kBad, "Somebody listens where each driver says that it serves",
       "The driver registers, but the kubelet cannot reach it: no claim is prepared, and its "
       "slices are removed after 30 s.",
       "Start the driver again; see that its plugins directory is the kubelet's own, not a copy.",
       JudgeEndpoint},
  };
}

std::vector<Check> ServiceChecks() {
  return {
      {"drivers.service", Level::kBad, "Each driver offers a DRA service that the kubelet knows",
       "The kubelet refuses to register it.",
       "Update the driver (v1 is known since 1.34), or have it offer v1beta1, too.", JudgeService},
      {"drivers.health", Level::kWarning, "Each driver reports the health of its devices",
       "Nobody learns that one of its devices is broken; they are Unknown, NotReported.",
       "Use a version of the driver with health, and switch that on.", JudgeHealth},
      {"drivers.health-version", Level::kWarning,
       "Each driver reports health in a version that the kubelet knows",
       "The Pod's own status says nothing of these devices now or after the next update; "
       "galen-agent reads both versions.",
       "Have the driver offer v1 and v1alpha1.", JudgeHealthVersion},
  };
}

}  // namespace

std::vector<Check> DriverChecks() {
  std::vector<Check> checks = SocketChecks();
  const std::vector<Check> more = ServiceChecks();
  checks.insert(checks.end(), more.begin(), more.end());
  return checks;
}

}  // namespace galen::doctor
