// A cluster with one node, a GPU driver and our agent beside a simulated kubelet, and `galen` to
// ask it. Belongs to its stage.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/fleet/session.h"
#include "tests/e2e/sim_cluster.h"

namespace galen::e2e {

// For FleetStage: no node, and no programs but the API.
inline const std::vector<std::string> kEmptyCluster;

class FleetStage {
 public:
  explicit FleetStage(std::vector<std::string> sim_arguments = {"--node", "node-7"})
      : cluster_(stage_, std::move(sim_arguments)) {}
  // The same with an API that keeps what it knows in the stage's directory of this name.
  FleetStage(std::vector<std::string> sim_arguments, const std::string& data);

  bool serves() const { return cluster_.serves(); }
  // As an operator does first of all: kubectl apply -f deploy/crds.
  void InstallDefinitions();
  // With these flags beside those that lead it to this cluster.
  Program& StartAgent(const std::vector<std::string>& more = {}, Stage::Options options = {});
  Program& StartGpuDriver();
  // The definitions, driver and agent, and eight devices that the agent has published; false when
  // they do not come.
  bool StartAll();

  // `galen` with the flags that lead to this cluster and agent.
  std::vector<std::string> Command(std::vector<std::string> arguments) const;
  Outcome Galen(std::vector<std::string> arguments) { return stage_.Run(Command(arguments)); }
  // Whether `galen` says `text` when asked this, within a while.
  bool GalenSays(const std::vector<std::string>& arguments, const std::string& text);

  // Creates an object of a kind, given as YAML; a failure fails the test.
  void Create(const kube::Resource& resource, const std::string& ns, const std::string& yaml);
  cli::Session& session();
  // The next question reads the kubeconfig anew.
  void ForgetSession() { session_.reset(); }

  Stage& stage() { return stage_; }
  SimCluster& cluster() { return cluster_; }

 private:
  Stage stage_;
  SimCluster cluster_;
  std::unique_ptr<cli::Session> session_;
};

// How often `part` is in `text`.
std::size_t Count(const std::string& text, const std::string& part);

}  // namespace galen::e2e
