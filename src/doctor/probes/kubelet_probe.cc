#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "base/data/yaml.h"
#include "base/text.h"
#include "doctor/probes/probes.h"

namespace galen::doctor {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKubelet = "kubelet";
// The default of --root-dir, which is a flag only: KubeletConfiguration has no such field.
constexpr char kDefaultRoot[] = "/var/lib/kubelet";
constexpr std::size_t kCheckpointBytesMax = std::size_t{64} << 20;

std::vector<std::string> SplitAt(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parts;
}

std::optional<std::int64_t> ParseNumber(std::string_view text) {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

// Every value that was given to a flag, as "--name=value" or "--name value".
std::vector<std::string> FlagValues(const std::vector<std::string>& arguments,
                                    std::string_view name) {
  std::vector<std::string> values;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == name && i + 1 < arguments.size()) values.push_back(arguments[i + 1]);
    if (argument.starts_with(name) && argument.substr(name.size()).starts_with('=')) {
      values.emplace_back(argument.substr(name.size() + 1));
    }
  }
  return values;
}

// Whether it is the kubelet, also as a subcommand of a program that contains all of Kubernetes.
bool IsKubelet(const std::vector<std::string>& arguments) {
  const auto named = [&](std::size_t i) {
    return arguments.size() > i && fs::path(arguments[i]).filename() == kKubelet;
  };
  return named(0) || (named(1) && arguments.size() > 2 && arguments[2].starts_with("--"));
}

// systemd gives a service its watchdog by WATCHDOG_USEC (sd_watchdog_enabled(3)).
StatusOr<std::optional<Duration>> WatchdogOf(FileSystem& files, const std::string& place) {
  ASSIGN_OR_RETURN(const std::string environment, files.Read(place + "/environ"));
  constexpr std::string_view kName = "WATCHDOG_USEC=";
  for (const std::string& line : SplitAt(environment, '\0')) {
    if (!line.starts_with(kName)) continue;
    const auto micros = ParseNumber(std::string_view(line).substr(kName.size()));
    if (micros && *micros > 0) return std::optional<Duration>(std::chrono::microseconds(*micros));
  }
  return std::optional<Duration>();
}

bool IsNamed(const KubeletProcess& process, const std::string& node) {
  const std::vector<std::string> names = FlagValues(process.arguments, "--hostname-override");
  return std::find(names.begin(), names.end(), node) != names.end();
}

// Whether a process sees the same files as we do; also false when we may not look.
bool SharesFiles(const std::string& proc, std::int64_t pid) {
  std::error_code ours_error, theirs_error;
  const fs::path ours = fs::read_symlink(proc + "/self/ns/mnt", ours_error);
  const fs::path theirs = fs::read_symlink(fmt::format("{}/{}/ns/mnt", proc, pid), theirs_error);
  return !ours_error && !theirs_error && ours == theirs;
}

// Whether a process's directory is `root`, or holds the same registry: a Pod mounts only that part
// of the root. proc(5): PID/root is the process' view of the files, its own mounts included.
bool IsRootOf(const KubeletProcess& process, const std::string& proc, const std::string& root) {
  const std::vector<std::string> named = FlagValues(process.arguments, "--root-dir");
  const std::string theirs = named.empty() ? kDefaultRoot : named.back();
  const std::string view = fmt::format("{}/{}/root/", proc, process.pid);
  std::error_code error;
  // Only root and the process's own user may look there.
  if (!fs::exists(view, error) || error) {
    return fs::path(theirs + "/").lexically_normal() == fs::path(root + "/").lexically_normal();
  }
  for (const char* part : {"", "/plugins_registry"}) {
    if (fs::equivalent(view + theirs + part, root + part, error) && !error) return true;
  }
  return false;
}

void ReadGateFlags(const KubeletProcess& process, Gates& gates) {
  for (const std::string& value : FlagValues(process.arguments, "--feature-gates")) {
    for (const std::string& gate : SplitAt(value, ',')) {
      const std::size_t equals = gate.find('=');
      if (equals == std::string::npos) continue;
      gates.values[gate.substr(0, equals)] = gate.substr(equals + 1) == "true";
    }
  }
}

StatusOr<CheckpointedClaim> ReadPrepared(const Json& state) {
  CheckpointedClaim claim{.key = {state["Namespace"].AsString(), state["ClaimName"].AsString()},
                          .uid = state["ClaimUID"].AsString(),
                          .drivers = {},
                          .cdi_ids = {}};
  if (claim.key.name.empty() || claim.uid.empty()) return DataLoss("a claim in it has no name");
  for (const auto& [driver, of_driver] : state["DriverState"].members()) {
    claim.drivers.insert(driver);
    for (const Json& device : of_driver["Devices"].items()) {
      for (const Json& id : device["CDIDeviceIDs"].items()) claim.cdi_ids.insert(id.AsString());
    }
  }
  return claim;
}

// The text inside a checkpoint, if its checksum (CRC-32, IEEE) is right: checkpointmanager.
StatusOr<Json> ReadCheckpoint(const std::string& text) {
  const StatusOr<Json> outer = Json::Parse(text);
  if (!outer.ok()) return DataLoss("{}", outer.status().message());
  const std::string& data = (*outer)["Data"].AsString();
  if (data.empty()) return DataLoss("it has no Data, as a kubelet's checkpoint has");
  const auto sum = static_cast<std::int64_t>(
      ::crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size()));
  if (const Json& stated = (*outer)["Checksum"]; stated != Json(sum)) {
    return DataLoss("its checksum is {}, its content's is {}", Shown(stated.Dump()), sum);
  }
  StatusOr<Json> inner = Json::Parse(data);
  if (!inner.ok()) return DataLoss("{}", inner.status().message());
  return inner;
}

}  // namespace

StatusOr<KubeletProcess> FindKubelet(FileSystem& files, const std::string& proc,
                                     const std::string& root, const std::string& node) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(proc));
  std::vector<KubeletProcess> found;
  for (const std::string& name : names) {
    const std::optional<std::int64_t> pid = ParseNumber(name);
    if (!pid) continue;
    const StatusOr<std::string> line = files.Read(proc + "/" + name + "/cmdline");
    if (!line.ok()) continue;  // it ended meanwhile
    std::vector<std::string> arguments = SplitAt(*line, '\0');
    if (!IsKubelet(arguments)) continue;
    KubeletProcess process{.pid = *pid, .arguments = std::move(arguments)};
    if (IsRootOf(process, proc, root)) found.push_back(std::move(process));
  }
  if (found.empty()) {
    return NotFound(
        "no kubelet with root {} among the processes that are seen from here: run this on the "
        "node, or name --kubelet-root",
        root);
  }
  const auto choose = [&](auto wanted) {
    std::vector<KubeletProcess> some = found;
    std::erase_if(some, [&](const KubeletProcess& process) { return !wanted(process); });
    if (!some.empty()) found = std::move(some);
  };
  choose([&](const KubeletProcess& process) { return IsNamed(process, node); });
  choose([&](const KubeletProcess& process) { return SharesFiles(proc, process.pid); });
  if (found.size() > 1) return FailedPrecondition("several kubelets run: --node names one");
  KubeletProcess& process = found.front();
  process.open_files = OpenFilesOf(files, proc, process.pid);
  process.started = StartedAt(files, proc, process.pid);
  process.watchdog = WatchdogOf(files, fmt::format("{}/{}", proc, process.pid));
  return std::move(process);
}

StatusOr<std::optional<std::int64_t>> OpenFilesOf(FileSystem& files, const std::string& proc,
                                                  std::int64_t pid) {
  ASSIGN_OR_RETURN(const std::string text, files.Read(fmt::format("{}/{}/limits", proc, pid)));
  constexpr std::string_view kName = "Max open files";
  for (const std::string& line : SplitAt(text, '\n')) {
    if (!line.starts_with(kName)) continue;
    std::string_view rest = std::string_view(line).substr(kName.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    const std::string_view soft = rest.substr(0, rest.find(' '));
    if (soft == "unlimited") return std::optional<std::int64_t>();
    if (const std::optional<std::int64_t> value = ParseNumber(soft)) return value;
  }
  return DataLoss("{}/{}/limits has no line \"{}\"", proc, pid, kName);
}

StatusOr<Gates> ReadConfiguredGates(FileSystem& files, const Seen<KubeletProcess>& process,
                                    const std::string& root) {
  std::string path = root + "/config.yaml";
  std::vector<std::string> named;
  if (process.ok()) named = FlagValues(process->arguments, "--config");
  if (!named.empty()) path = named.back();
  Gates gates;
  const StatusOr<std::string> text = files.Read(path);
  if (text.ok()) {
    const StatusOr<Json> config = ParseYaml(*text);
    if (!config.ok()) return Annotate(config.status(), "{}", path);
    for (const auto& [name, on] : (*config)["featureGates"].members()) {
      gates.values[name] = on.AsBool();
    }
    gates.source = path;
  } else if (!process.ok()) {
    return text.status();
  } else if (!named.empty()) {
    // The file's settings cannot be read: a gate that no flag names is unknown, whatever its
    // default.
    gates.complete = true;
    gates.source = fmt::format("the kubelet's command line ({})", text.status().message());
  }
  if (process.ok()) ReadGateFlags(*process, gates);
  if (gates.source.empty()) gates.source = "the kubelet's command line";
  return gates;
}

StatusOr<std::vector<CheckpointedClaim>> ReadPreparedClaims(FileSystem& files,
                                                            const std::string& root) {
  const std::string path = root + "/dra_manager_state";
  const StatusOr<std::string> text = files.Read(path);
  if (!text.ok()) return text.status();
  if (text->size() > kCheckpointBytesMax) return ResourceExhausted("{} is too large", path);
  const StatusOr<Json> state = ReadCheckpoint(*text);
  if (!state.ok()) return Annotate(state.status(), "{}", path);
  std::vector<CheckpointedClaim> claims;
  for (const Json& item : (*state)["ClaimInfoStateList"].items()) {
    StatusOr<CheckpointedClaim> claim = ReadPrepared(item);
    if (!claim.ok()) return Annotate(claim.status(), "{}", path);
    claims.push_back(std::move(*claim));
  }
  return claims;
}

}  // namespace galen::doctor
