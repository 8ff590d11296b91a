// Tested by config_test.cc, with the rest of what config.h declares: the directories and the API
// server that a configuration names.
#include "agent/app/config.h"
#include "base/path.h"

namespace galen::agent {
namespace {

// Whether the directory could be made, as far as can be seen without making it: whatever part of
// its path exists is a directory.
Status CheckPlace(FileSystem& files, const std::string& directory) {
  std::string path = directory;
  Status listed = files.List(path).status();
  while (listed.code() == Code::kNotFound && path != "/") {
    path = ParentOf(path);
    listed = files.List(path).status();
  }
  return listed;
}

}  // namespace

void PreparePlaces(FileSystem& files, const Environment& environment, const AgentConfig& config,
                   ConfigFaults& faults) {
  if (!faults.Has("kubeconfig") && !faults.Has("context")) {
    const Status found = kube::FindConfig(files, environment, config.kubeconfig).status();
    if (!found.ok()) faults.Add("", "kubeconfig: " + found.message());
  }
  // An agent that does not start leaves nothing behind.
  const bool refused = !faults.ToStatus().ok();
  const auto make = [&](const std::string& where, const std::string& directory, unsigned mode) {
    if (faults.Has(where)) return;
    const Status made =
        refused ? CheckPlace(files, directory) : files.MakeDirectories(directory, mode);
    if (!made.ok()) faults.AddRefusal(where, made);
  };
  make("stateDir", config.state_dir, 0700);
  make("socket", ParentOf(config.socket), 0755);
  if (!faults.Has("socket")) make("healthSources", config.health_sources_directory(), 0755);
  // A manager stands in the kubelet's place, so it makes what the kubelet would.
  if (config.role != Role::kManager || faults.Has("role")) return;
  if (faults.Has("kubeletRoot")) return;
  make("registry", config.registry_directory(), 0755);
}

}  // namespace galen::agent
