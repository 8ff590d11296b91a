// A whole Kubernetes cluster in one thread: the API, the controllers and scheduler that make it
// live, and simulated nodes. The controllers are ordinary clients of the API, by a transport
// without a socket. Used by galen-sim and by tests alike. Belongs to its loop.
#pragma once

#include <memory>
#include <vector>

#include "api_sim/serving/api_server.h"
#include "cluster_sim/nodes/simulated_nodes.h"

namespace galen::cluster_sim {

class ClusterApp {
 public:
  struct Options {
    // The controllers get a user and a token of their own when there are users.
    api_sim::ApiServer::Options api = {};
    // Nodes from the start; nodes().Add() adds more later.
    std::vector<SimulatedNodeOptions> nodes = {};
    // False: the caller makes claims and schedules, or objects are only stored.
    bool run_controllers = true;
    // Prepares the claims of simulated nodes' Pods; without it they count as prepared. Lent.
    PodPreparation* preparation = nullptr;
  };

  // What is lent outlives the app. Errors: of the kept data (see ApiServer::Create), of a node's
  // name or number (see SimulatedNodes::Add), Internal without random numbers for a token. The
  // cluster lives on the loop from here on; ready() says when it acts.
  static StatusOr<std::unique_ptr<ClusterApp>> Create(Loop& loop, Random& random, Log& log,
                                                      Options options);
  ~ClusterApp();

  // What a net::Server or FakeNetwork hands requests to; dies with the app.
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
