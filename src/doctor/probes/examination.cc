#include "doctor/probes/examination.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "doctor/probes/probes.h"

namespace galen::doctor {
namespace {

// The file limit of the agent's process, found by the lock that it holds.
StatusOr<std::optional<std::int64_t>> OpenFilesOfAgent(FileSystem& files, const std::string& proc,
                                                       const std::string& state_dir) {
  ASSIGN_OR_RETURN(const std::string text, files.Read(state_dir + "/lock"));
  std::int64_t pid = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), pid).ec != std::errc()) {
    return DataLoss("{}/lock holds no process id: start the agent again", state_dir);
  }
  // The id may belong to another process namespace, as for an agent in a Pod.
  ASSIGN_OR_RETURN(const std::string line, files.Read(fmt::format("{}/{}/cmdline", proc, pid)));
  const std::string program = line.substr(0, line.find('\0'));
  if (program.substr(program.rfind('/') + 1) != "galen-agent") {
    return NotFound(
        "process {}, named by {}/lock, is no galen-agent here: an agent in a Pod has process ids "
        "of its own",
        pid, state_dir);
  }
  return OpenFilesOf(files, proc, pid);
}

// The kubelet's root as the kubelet sees it; the part that a Pod mounts is another file system.
DiskSeen LookAtRoot(FileSystem& files, const std::string& root) {
  if (files.List(root + "/pods").status().code() != Code::kNotFound) {
    return LookAtDisk(root, "the kubelet");
  }
  return {.path = root,
          .of = "the kubelet",
          .looked = NotFound("{} has no directory pods: it is not the kubelet's own", root)};
}

constexpr char kRegistryDirectory[] = "/plugins_registry";

// The drivers with a socket in the directory of device plugins: "gpu.example.com" for
// gpu.example.com.sock. Empty where the directory cannot be read: a driver that offers its devices
// only there is then reported as offering none.
std::set<std::string> DevicePlugins(FileSystem& files, const std::string& directory) {
  constexpr std::string_view kEnd = ".sock";
  std::set<std::string> drivers;
  const StatusOr<std::vector<std::string>> names = files.List(directory);
  if (!names.ok()) return drivers;
  for (const std::string& name : *names) {
    if (name.ends_with(kEnd)) drivers.insert(name.substr(0, name.size() - kEnd.size()));
  }
  return drivers;
}

// The kubelet root of the drivers that the agent lists; "" when it lists none, or when that
// directory is not visible here.
std::string RootByAgent(const AgentSeen& agent) {
  if (!agent.drivers.ok()) return "";
  for (const AgentDriver& driver : *agent.drivers) {
    const std::size_t end = driver.registration_socket.rfind(std::string(kRegistryDirectory) + "/");
    if (end == std::string::npos) continue;
    std::string root = driver.registration_socket.substr(0, end);
    if (ListRegistry(root + kRegistryDirectory).status().code() != Code::kNotFound) return root;
  }
  return "";
}

bool IsMissing(const Status& status) { return status.code() == Code::kNotFound; }

}  // namespace

Examination::Examination(const Edges& edges, ExaminationOptions options,
                         std::function<void(const Observations&)> done)
    : edges_(edges),
      options_(std::move(options)),
      done_(std::move(done)),
      agent_(edges.loop, edges.dialer, [this] { OnAgent(); }),
      sockets_(edges.loop, edges.dialer, [this] { OnSockets(); }) {}

void Examination::Start() {
  agent_.AskAgent(options_.agent_socket, seen_.agent);
  agent_.Start();
}

void Examination::OnAgent() {
  std::string& root = seen_.kubelet_root = options_.kubelet_root;
  if (root.empty()) root = RootByAgent(seen_.agent);
  if (root.empty()) root = options_.fallback_root;
  seen_.registry =
      ListRegistry(options_.registry.empty() ? root + kRegistryDirectory : options_.registry);
  if (seen_.registry.ok()) sockets_.AskDrivers(*seen_.registry, root);
  sockets_.Start();
}

// The node's name may come from the agent, so it is known only now.
void Examination::OnSockets() {
  const Seen<AgentStatusSeen>& agent = seen_.agent.status;
  seen_.node = !options_.node.empty() ? options_.node
               : agent.ok()           ? agent->node
                                      : options_.host_name;
  LookAtFiles();
  LookAtHost();
  NameWhatToGive();
  AskApi();
}

void Examination::LookAtFiles() {
  FileSystem& files = edges_.files;
  KubeletSeen& kubelet = seen_.kubelet;
  kubelet.process = FindKubelet(files, options_.kernel.proc, seen_.kubelet_root, seen_.node);
  kubelet.gates = ReadConfiguredGates(files, kubelet.process, seen_.kubelet_root);
  kubelet.prepared = ReadPreparedClaims(files, seen_.kubelet_root);
  kubelet.device_plugins = DevicePlugins(files, seen_.kubelet_root + "/device-plugins");
  seen_.agent.journal =
      LookAtJournal(files, options_.state_dir + "/journal", edges_.loop.WallNow());
  seen_.agent.open_files = OpenFilesOfAgent(files, options_.kernel.proc, options_.state_dir);
  seen_.cdi.directories = options_.cdi_directories;
  seen_.cdi.files = ReadCdiFiles(files, options_.cdi_directories);
}

void Examination::LookAtHost() {
  HostSeen& host = seen_.host;
  host.cgroup = LookAtCgroups(edges_.files, options_.kernel);
  host.inotify = LookAtInotify(edges_.files, options_.kernel);
  host.file_table = LookAtFileTable(edges_.files, options_.kernel);
  host.time_sync = LookAtTimeSync();
  host.runtime = FindRuntime(edges_.files, options_.kernel.proc);
  host.pressure = LookAtPressure(edges_.files, options_.kernel);
  host.nvidia = LookAtNvidia(edges_.files, options_.kernel);
  seen_.image =
      ImageSeen{.needs = options_.needs, .features = LookAtFeatures(edges_.files, options_.kernel)};
  seen_.expected = LookForExpected(edges_.files, options_.kernel, options_.expected);
  host.disks.push_back(LookAtRoot(edges_.files, seen_.kubelet_root));
  host.disks.push_back(LookAtDisk(options_.state_dir, "galen-agent"));
  for (const std::string& directory : options_.cdi_directories) {
    host.disks.push_back(LookAtDisk(directory, "drivers"));
  }
}

// If no root was given and the usual one does not exist, every missing item has that one reason: it
// says what to do, and is shown once for all checks that need it.
void Examination::NameWhatToGive() {
  const bool named = !options_.kubelet_root.empty() || !options_.registry.empty();
  // A place that nobody named and where nobody is says nothing of the drivers: they may be below
  // another root, and their slices are no orphans.
  const bool idle = seen_.registry.ok() && seen_.registry->empty() && !seen_.kubelet.process.ok();
  if (!named && !seen_.agent.status.ok() && idle) {
    seen_.registry = FailedPrecondition(
        "no agent said where this node's kubelet is, and nobody is at {}: say it by --kubelet-root",
        seen_.kubelet_root);
  }
  const Status root = edges_.files.List(seen_.kubelet_root).status();
  if (named || !IsMissing(root)) return;
  const Status why = NotFound(
      "there is no {}: say by --kubelet-root, --state-dir and --cdi-root where this node's files "
      "are",
      seen_.kubelet_root);
  const auto explain = [&](auto& seen) {
    if (IsMissing(seen.status())) seen = why;
  };
  explain(seen_.registry);
  explain(seen_.kubelet.process);
  explain(seen_.kubelet.gates);
  explain(seen_.kubelet.prepared);
  explain(seen_.agent.journal);
  explain(seen_.agent.open_files);
  explain(seen_.cdi.files);
  for (DiskSeen& disk : seen_.host.disks) {
    if (IsMissing(disk.looked)) disk.looked = why;
  }
}

void Examination::AskApi() {
  seen_.api.server = options_.server;
  if (edges_.api == nullptr) {
    NothingAsked(seen_.api, seen_.kubelet, options_.no_cluster);
    return Finish();
  }
  const bool manager = seen_.agent.status.ok() && seen_.agent.status->role == "manager";
  api_ = std::make_unique<ApiProbe>(
      edges_.loop, *edges_.api,
      ApiProbeOptions{.node = seen_.node, .agent = options_.agent, .manager = manager}, seen_.api,
      seen_.kubelet, [this] { Finish(); });
  api_->Start();
}

void Examination::Finish() {
  seen_.when = edges_.loop.WallNow();
  done_(seen_);
}

bool IsNode(const Observations& seen) {
  const bool kubelet = seen.registry.status().code() != Code::kNotFound;
  const bool agent = seen.agent.status.ok() || std::ranges::any_of(seen.host.disks, [](auto& disk) {
                       return disk.of == "galen-agent" && disk.looked.ok();
                     });
  return kubelet || agent || seen.api.version.ok();
}

}  // namespace galen::doctor
