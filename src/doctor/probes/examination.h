// Examines one node: files and limits, the sockets of drivers and agent, then the API server.
// Changes nothing. Belongs to its loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files/file_system.h"
#include "doctor/observations.h"
#include "doctor/probes/api_probe.h"
#include "doctor/probes/probes.h"

namespace galen::doctor {

// What an examination needs; all borrowed.
struct Edges {
  Loop& loop;
  net::Dialer& dialer;
  FileSystem& files;
  net::HttpClient* api = nullptr;  // nullptr: no cluster; ExaminationOptions::no_cluster says why
};

// The node's paths and names, with defaults for those that people seldom give.
struct ExaminationOptions {
  std::string node;          // "" = what the agent calls it, else `host_name`
  std::string host_name;     // of this machine
  std::string kubelet_root;  // "" = above the sockets that the agent lists, else fallback_root
  std::string registry;      // "" = <kubelet_root>/plugins_registry
  std::string state_dir = "/var/lib/galen";
  std::string agent_socket = "/run/galen/agent.sock";
  std::vector<std::string> cdi_directories = {"/etc/cdi", "/var/run/cdi"};
  std::optional<Subject> agent;  // see ApiProbeOptions
  std::string server;            // the API server's address, for messages
  Status no_cluster;
  Expectations expected;                // empty: no expectations
  std::vector<CompatibilitySet> needs;  // an image's needs; empty: no image was given
  KernelPlaces kernel;
  std::string fallback_root = "/var/lib/kubelet";  // where kubelets keep their files by default
};

class Examination {
 public:
  // `done` runs once, on the loop; the observations that it gets belong to the examination.
  Examination(const Edges& edges, ExaminationOptions options,
              std::function<void(const Observations&)> done);

  // Blocks shortly for files; waits for sockets and the API server on the loop.
  void Start();

 private:
  void OnAgent();
  void OnSockets();
  void LookAtFiles();
  void LookAtHost();
  void NameWhatToGive();
  void AskApi();
  void Finish();

  const Edges edges_;
  const ExaminationOptions options_;
  const std::function<void(const Observations&)> done_;
  Observations seen_;
  NodeProbe agent_;  // before the others: it knows their paths
  NodeProbe sockets_;
  std::unique_ptr<ApiProbe> api_;
};

// Whether there was any sign of a node: its kubelet's root, its agent or its API server.
bool IsNode(const Observations& seen);

}  // namespace galen::doctor
