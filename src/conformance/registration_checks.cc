#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/text.h"
#include "conformance/check.h"
#include "conformance/probes.h"
#include "net/address.h"

namespace galen::conformance {
namespace {

// KEP-4381 and the kubelet's pluginmanager; facts of versions are those of 1.34 to 1.37.
constexpr std::size_t kDriverNameBytesMax = 63;
constexpr Duration kGetInfoLimit = std::chrono::seconds(1);
constexpr std::string_view kRegistrationReadOnly =
    "read-only: a kubelet may be using this driver, and only it may notify how registration ended";
constexpr std::string_view kNotTried = "not tried: the examination was interrupted";

const RegistrationSeen& RegistrationOf(const Observations& seen) { return seen.registration; }

// A judgement that needs GetInfo's answer.
template <typename Judgement>
Outcome WithInfo(const Observations& seen, Judgement judge) {
  if (!RegistrationOf(seen).info.answer.status.ok()) return NotChecked("GetInfo gave no answer");
  return judge(RegistrationOf(seen).info.info);
}

// A kubelet ignores such a name, so the driver would never register.
Outcome JudgeSocketFile(const Observations& seen) {
  const std::string name = std::filesystem::path(RegistrationOf(seen).socket).filename().string();
  if (!RegistrationOf(seen).is_socket)
    return Failed(fmt::format("{} is no socket", Shown(RegistrationOf(seen).socket)));
  return PassedIf(!name.starts_with('.'), Shown(name));
}

Outcome JudgeSocketLength(const Observations& seen) {
  const std::size_t bytes = RegistrationOf(seen).socket.size();
  return PassedIf(bytes <= net::kSocketPathMax, fmt::format("{} bytes", bytes));
}

Outcome JudgeGetInfo(const Observations& seen) {
  const Answer& answer = RegistrationOf(seen).info.answer;
  if (!answer.status.ok()) return Failed(ShownStatus(answer.status));
  return PassedIf(answer.took <= kGetInfoLimit, ShownTime(answer.took));
}

Outcome JudgeType(const Observations& seen) {
  return WithInfo(seen, [](const Info& info) {
    return PassedIf(info.type == "DRAPlugin", fmt::format("\"{}\"", Shown(info.type)));
  });
}

Outcome JudgeName(const Observations& seen) {
  return WithInfo(seen, [](const Info& info) {
    const bool good = info.name.size() <= kDriverNameBytesMax && IsDnsSubdomain(info.name);
    return PassedIf(good, fmt::format("\"{}\", {} bytes", Shown(info.name), info.name.size()));
  });
}

// An empty endpoint is allowed: then both services are on one socket.
Outcome JudgeEndpointAbsolute(const Observations& seen) {
  return WithInfo(seen, [](const Info& info) {
    if (info.endpoint.empty()) return Passed("empty: the registration socket itself");
    const bool clean = info.endpoint == Printable(ToValidUtf8(info.endpoint));
    return PassedIf(info.endpoint.starts_with('/') && clean, Shown(info.endpoint));
  });
}

Outcome JudgeEndpointLength(const Observations& seen) {
  return WithInfo(seen, [&](const Info&) {
    const std::size_t bytes = EndpointOf(RegistrationOf(seen)).size();
    return PassedIf(bytes <= net::kSocketPathMax, fmt::format("{} bytes", bytes));
  });
}

bool IsInside(const std::filesystem::path& path, const std::filesystem::path& root) {
  const auto [root_end, path_rest] =
      std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  return root_end == root.end() && path_rest != path.end();
}

Outcome JudgeEndpointInside(const Observations& seen) {
  return WithInfo(seen, [&](const Info&) {
    const RegistrationSeen& at = RegistrationOf(seen);
    if (at.kubelet_root.empty()) {
      return NotChecked("the kubelet's root is not known: --kubelet-root names it");
    }
    const std::filesystem::path endpoint = std::filesystem::path(EndpointOf(at)).lexically_normal();
    const std::filesystem::path root =
        std::filesystem::path(at.kubelet_root + "/").lexically_normal().parent_path();
    if (!IsInside(endpoint, root)) {
      return Failed(fmt::format("{} is not below {}", Shown(endpoint.string()), root.string()));
    }
    // Checked both as written and with symlinks resolved: a symlink must not lead out.
    const bool real = at.real_directory.empty() || at.real_root.empty() ||
                      IsInside(std::filesystem::path(at.real_directory) / "socket", at.real_root);
    return PassedIf(real, real ? Shown(endpoint.string())
                               : fmt::format("{} leads to {}", Shown(endpoint.string()),
                                             Shown(at.real_directory)));
  });
}

Outcome JudgeEndpointListens(const Observations& seen) {
  return WithInfo(seen, [&](const Info&) {
    const std::optional<Status>& status = RegistrationOf(seen).endpoint_connect;
    if (!status) return NotChecked("the endpoint is no absolute path");
    return status->ok() ? Passed() : Failed(ShownStatus(*status));
  });
}

Outcome JudgeVersions(const Observations& seen) {
  return WithInfo(seen, [](const Info& info) {
    return PassedIf(info.Offers("v1.DRAPlugin") || info.Offers("v1beta1.DRAPlugin"),
                    Shown(fmt::format("{}", fmt::join(info.versions, ", "))));
  });
}

Outcome JudgeVersionOrder(const Observations& seen) {
  return WithInfo(seen, [](const Info& info) {
    if (!info.Offers("v1.DRAPlugin")) return NotChecked("v1.DRAPlugin is not offered");
    const auto position = [&](std::string_view version) {
      return std::find(info.versions.begin(), info.versions.end(), version);
    };
    return PassedIf(position("v1.DRAPlugin") <= position("v1beta1.DRAPlugin"),
                    Shown(fmt::format("{}", fmt::join(info.versions, ", "))));
  });
}

// A kubelet silently drops unknown names, so a misspelt one is noticed nowhere else.
Outcome JudgeVersionsForm(const Observations& seen) {
  return WithInfo(seen, [](const Info& info) {
    std::set<std::string> known;
    for (const std::string& version : info.versions) {
      const std::size_t dot = version.find('.');
      if (dot == 0 || dot == std::string::npos || dot + 1 == version.size()) {
        return Failed(fmt::format("\"{}\" is not of the form v1.Service", Shown(version)));
      }
      if (!known.insert(version).second) {
        return Failed(fmt::format("{} is listed twice", Shown(version)));
      }
    }
    return Passed(fmt::format("{} of them", info.versions.size()));
  });
}

Outcome JudgeRegistrationAgain(const Observations& seen) {
  return WithInfo(seen, [&](const Info& info) {
    if (!RegistrationOf(seen).again) return NotChecked(std::string(kNotTried));
    const InfoAnswer& again = *RegistrationOf(seen).again;
    if (!again.answer.status.ok()) return Failed(ShownStatus(again.answer.status));
    return again.info == info ? Passed() : Failed("the second answer differs from the first");
  });
}

Outcome JudgeRegistrationUnknownField(const Observations& seen) {
  return WithInfo(seen, [&](const Info& info) {
    if (!RegistrationOf(seen).with_unknown_field) return NotChecked(std::string(kNotTried));
    const InfoAnswer& answer = *RegistrationOf(seen).with_unknown_field;
    if (!answer.answer.status.ok()) return Failed(ShownStatus(answer.answer.status));
    return answer.info == info ? Passed() : Failed("the answer differs from the one without it");
  });
}

// Each reader has a connection of its own, opened before any of them asks.
Outcome JudgeCallsInParallel(const Observations& seen) {
  return WithInfo(seen, [&](const Info& info) {
    const std::vector<InfoAnswer>& answers = RegistrationOf(seen).parallel;
    if (answers.empty()) return NotChecked(std::string(kNotTried));
    const auto good = std::count_if(answers.begin(), answers.end(), [&](const InfoAnswer& one) {
      return one.answer.status.ok() && one.info == info;
    });
    return PassedIf(good == std::ssize(answers),
                    fmt::format("{} of {} answered", good, answers.size()));
  });
}

// The other socket is often one that an earlier instance left behind.
Outcome JudgeUnique(const Observations& seen) {
  return WithInfo(seen, [&](const Info&) {
    const std::vector<std::string>& twins = RegistrationOf(seen).twins;
    if (twins.empty()) return Passed();
    return Failed(fmt::format("so does {}", Shown(twins.front())));
  });
}

Outcome JudgeNotified(const Observations& seen) {
  if (seen.read_only) return NotChecked(std::string(kRegistrationReadOnly));
  return WithInfo(seen, [&](const Info&) {
    if (!RegistrationOf(seen).notified_registered) return NotChecked(std::string(kNotTried));
    const Answer& answer = *RegistrationOf(seen).notified_registered;
    return answer.status.ok() ? Passed(ShownTime(answer.took)) : Failed(ShownStatus(answer.status));
  });
}

Outcome JudgeSurvivesRefusal(const Observations& seen) {
  if (seen.read_only) return NotChecked(std::string(kRegistrationReadOnly));
  return WithInfo(seen, [&](const Info&) {
    if (!RegistrationOf(seen).notified_refused || !RegistrationOf(seen).after_refusal) {
      return NotChecked(std::string(kNotTried));
    }
    // Any answer is accepted: Kubernetes' own helper answers a refusal with an error.
    const Code code = RegistrationOf(seen).notified_refused->status.code();
    if (code == Code::kDeadlineExceeded || code == Code::kUnimplemented) {
      return Failed("the refusal itself: " +
                    ShownStatus(RegistrationOf(seen).notified_refused->status));
    }
    const Answer& after = RegistrationOf(seen).after_refusal->answer;
    return after.status.ok() ? Passed("serves on")
                             : Failed("GetInfo within 5 s after it: " + ShownStatus(after.status));
  });
}

// Checks of the registration sockets and of GetInfo's answer.
std::vector<Check> AnswerChecks() {
  return {
      // plugin_watcher.go, handleCreateEvent: dotfiles and what is no socket are skipped.
      {"registration.socket-file",
       "The registration socket is a unix socket whose name starts with no dot",
       "Kubelets skip names with a leading dot and all that is no socket: name it "
       "<driver>-reg.sock.",
       JudgeSocketFile},
      // unix(7): sun_path has 108 bytes with its zero.
      {"registration.socket-length", "The registration socket's path fits an address: 107 bytes",
       "Shorten the name; Kubernetes' helper hashes the Pod's UID for that.", JudgeSocketLength},
      // operation_generator.go, GenerateRegisterPluginFunc: infoClient.GetInfo under a 1 s context.
      {"registration.get-info", "GetInfo answers within 1 s",
       "Serve pluginregistration.Registration on this socket, and only when you are ready to be "
       "asked; the kubelet gives up after 1 s.",
       JudgeGetInfo},
      // pluginregistration/v1/constants.go. Another type gets no DRA handler, or none at all.
      {"registration.type", "The plugin's type is DRAPlugin",
       "Set PluginInfo.type to DRAPlugin: kubelets choose the handler by it.", JudgeType},
      // api/resource/v1 DriverNameMaxLength; the kubelet of 1.37 checks it at registration, too.
      {"registration.name", "The driver's name is a DNS subdomain of at most 63 bytes",
       "Use a domain that is yours, in lower case: gpu.example.com. ResourceSlices bear it too.",
       JudgeName},
      // TestRegisterPluginRejectsUntrustedInput, 1.37. Empty: the registration socket.
      {"registration.endpoint-absolute", "The endpoint is an absolute path",
       "Set PluginInfo.endpoint to the absolute path of the socket that serves DRAPlugin.",
       JudgeEndpointAbsolute},
      // TestRegisterPluginRejectsUntrustedInput: "longer than" the limit of a unix socket.
      {"registration.endpoint-length", "The endpoint's path fits a socket's address: 107 bytes",
       "Shorten the plugin's directory or its socket's name.", JudgeEndpointLength},
      // Likewise: "is not inside" the root. Older kubelets dial whatever is announced.
      {"registration.endpoint-inside", "The endpoint lies below the kubelet's root directory",
       "Put the socket into <kubelet root>/plugins/<driver>/; newer kubelets refuse others.",
       JudgeEndpointInside},
      // dra_plugin_manager.go, add: connected at once; slices are wiped 30 s after a loss.
      {"registration.endpoint-listens", "Somebody listens at the endpoint",
       "Listen on the endpoint before the registration socket is made, and keep listening.",
       JudgeEndpointListens},
  };
}

// Checks of versions, and of repeated and unusual requests.
std::vector<Check> ConductChecks() {
  return {
      // dra_plugin_manager.go, validateSupportedServices.
      {"registration.versions", "v1.DRAPlugin or v1beta1.DRAPlugin is offered",
       "List the services in supported_versions as <version>.DRAPlugin; others are refused.",
       JudgeVersions},
      // The same: the plugin's order decides, not the kubelet's.
      {"registration.version-order", "v1.DRAPlugin comes before v1beta1.DRAPlugin",
       "Kubelets take the first they know in your order: put v1 first.", JudgeVersionOrder},
      // <package>.<Service>; anything else matches nothing and is dropped silently.
      {"registration.versions-form", "Each offered version is named v1.Service, and once",
       "Write v1.DRAPlugin, v1beta1.DRAPlugin, v1.DRAResourceHealth, v1alpha1.DRAResourceHealth.",
       JudgeVersionsForm},
      // A kubelet that restarts registers every socket anew.
      {"registration.repeatable", "GetInfo says the same on a second connection",
       "A restarted kubelet asks again: answer from what does not change.", JudgeRegistrationAgain},
      // protobuf.dev, proto3, "Unknown Fields": 1.35 and 1.36 each added one to these messages.
      {"registration.unknown-field", "GetInfo takes a request with a field of a later version",
       "Skip unknown fields, as proto3 readers do.", JudgeRegistrationUnknownField},
      // A restarted kubelet may overlap with the one before it.
      {"registration.parallel", "GetInfo answers several readers at once",
       "Serve more than one connection: an old and a new kubelet, or an agent, may ask together.",
       JudgeCallsInParallel},
      // dra_plugin_manager.go, add: "endpoint … already registered for DRA driver plugin".
      {"registration.unique", "No other socket of the directory offers this name and endpoint",
       "Kubelets refuse the second of the same name and endpoint: remove stale sockets at start, "
       "and give each instance its own endpoint.",
       JudgeUnique},
      // operation_generator.go: notifyTimeoutDuration 5 s; a failure takes the plugin out again.
      {"registration.notified", "NotifyRegistrationStatus(registered) is answered within 5 s",
       "Answer it: a kubelet takes the driver out again when this call fails.", JudgeNotified},
      // registrationserver.go of Kubernetes' helper answers an error and serves on.
      {"registration.survives-refusal", "The driver serves on after it was refused",
       "Do not end when plugin_registered is false: log it, and make the registration socket anew "
       "to be asked again.",
       JudgeSurvivesRefusal},
  };
}

}  // namespace

std::vector<Check> RegistrationChecks() {
  std::vector<Check> checks = AnswerChecks();
  const std::vector<Check> more = ConductChecks();
  checks.insert(checks.end(), more.begin(), more.end());
  return checks;
}

}  // namespace galen::conformance
