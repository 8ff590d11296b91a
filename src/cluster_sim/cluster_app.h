// A whole Kubernetes cluster in one thread: the API, the controllers and scheduler that make it
// live, and nodes that pretend. Used by galen-sim and by tests alike. Belongs to its loop.
#pragma once

#include <memory>
#include <vector>

#include "cluster_sim/api_server.h"
#include "cluster_sim/simulated_nodes.h"

namespace galen::cluster_sim {

class ClusterApp {
 public:
  struct Options {
    ApiServer::Options api = {};
    std::vector<SimulatedNodeOptions> nodes = {};
    // False: somebody else makes claims and schedules.
    bool run_controllers = true;
    // Whom simulated nodes ask about claims; nobody when null. Lent.
    ClaimPreparer* preparer = nullptr;
  };

  // What is lent outlives the app. Errors of the kept data or of a node's name.
  static StatusOr<std::unique_ptr<ClusterApp>> Create(Loop& loop, Random& random, Log& log,
                                                      Options options);
  ~ClusterApp();

  // What a net::Server or FakeNetwork hands requests to.
  net::HttpHandler& api();
  SimulatedNodes& nodes();
  // The controllers know the whole cluster and act.
  bool ready() const;

 private:
  struct Impl;
  explicit ClusterApp(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace galen::cluster_sim
