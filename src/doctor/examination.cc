#include "doctor/examination.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "doctor/cdi_probe.h"
#include "doctor/journal_probe.h"
#include "doctor/kubelet_probe.h"

namespace galen::doctor {
namespace {

// The agent's process, by the lock that it holds.
StatusOr<std::int64_t> OpenFilesOfAgent(FileSystem& files, const std::string& proc,
                                        const std::string& state_dir) {
  ASSIGN_OR_RETURN(const std::string text, files.Read(state_dir + "/lock"));
  std::int64_t pid = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), pid).ec != std::errc()) {
    return DataLoss("{}/lock names no process", state_dir);
  }
  // The id may be of another process namespace, as of an agent in a Pod.
  ASSIGN_OR_RETURN(const std::string line, files.Read(fmt::format("{}/{}/cmdline", proc, pid)));
  const std::string program = line.substr(0, line.find('\0'));
  if (program.substr(program.rfind('/') + 1) != "galen-agent") {
    return NotFound("process {} of {}/lock is no agent as seen from here", pid, state_dir);
  }
  return OpenFilesOf(files, proc, pid);
}

// The kubelet's root as the kubelet has it; what a Pod is given of it is another file system.
DiskSeen LookAtRoot(FileSystem& files, const std::string& root) {
  if (files.List(root + "/pods").status().code() != Code::kNotFound) {
    return LookAtDisk(root, "the kubelet");
  }
  return {.path = root,
          .of = "the kubelet",
          .looked = NotFound("{} has no directory pods: it is not the kubelet's own", root)};
}

}  // namespace

Examination::Examination(const Edges& edges, ExaminationOptions options,
                         std::function<void(const Observations&)> done)
    : edges_(edges),
      options_(std::move(options)),
      done_(std::move(done)),
      sockets_(edges.loop, edges.dialer, [this] { OnSockets(); }) {}

void Examination::Start() {
  seen_.kubelet_root = options_.kubelet_root;
  seen_.registry = ListRegistry(
      options_.registry.empty() ? options_.kubelet_root + "/plugins_registry" : options_.registry);
  if (seen_.registry.ok()) sockets_.AskDrivers(*seen_.registry, options_.kubelet_root);
  sockets_.AskAgent(options_.agent_socket, seen_.agent);
  sockets_.Start();
}

// Only now is the node's name known, where the agent has to tell it.
void Examination::OnSockets() {
  const Seen<AgentStatus>& agent = seen_.agent.status;
  seen_.node = !options_.node.empty() ? options_.node
               : agent.ok()           ? agent->node
                                      : options_.host_name;
  LookAtFiles();
  LookAtHost();
  AskApi();
}

void Examination::LookAtFiles() {
  FileSystem& files = edges_.files;
  KubeletSeen& kubelet = seen_.kubelet;
  kubelet.process = FindKubelet(files, options_.kernel.proc, seen_.node);
  kubelet.gates = ReadConfiguredGates(files, kubelet.process, options_.kubelet_root);
  kubelet.prepared = ReadPreparedClaims(files, options_.kubelet_root);
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
  host.disks.push_back(LookAtRoot(edges_.files, options_.kubelet_root));
  host.disks.push_back(LookAtDisk(options_.state_dir, "galen-agent"));
  for (const std::string& directory : options_.cdi_directories) {
    host.disks.push_back(LookAtDisk(directory, "drivers"));
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
