// galen-sim: a simulated cluster behind TLS, and the kubeconfig that lets people in. Belongs to its
// loop; all of it runs on that one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api_sim/serving/api_server.h"
#include "base/files/file_system.h"
#include "base/flags.h"
#include "base/log.h"
#include "base/loop/io_loop.h"
#include "base/random.h"
#include "cluster_sim/nodes/simulated_nodes.h"

namespace galen::cluster_sim {

// A whole Kubernetes cluster in one thread: the API, the controllers and scheduler that make it
// live, and simulated nodes. The controllers are ordinary clients of the API, by a transport
// without a socket. Used by galen-sim and by tests alike. Belongs to its loop.
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

// galen-sim's settings, from its flags; --help explains each in a line.
struct SimOptions {
  // Host and port; port 0 takes a free one, which url() then has.
  std::string listen = "127.0.0.1:0";
  // Anything but loopback must be asked for: the administrator's token opens everything.
  bool allow_remote = false;
  std::string data_directory;  // "" = in memory
  // Where the administrator's kubeconfig goes, with mode 0600; "": nowhere.
  std::string kubeconfig_out;
  // More users, see ParseTokenFile(); "": none.
  std::string token_file;
  std::int64_t node_count = 0;                              // node-1, node-2, …
  std::vector<std::string> nodes;                           // further ones by name
  std::vector<std::string> virtual_nodes;                   // whose Pods an agent runs
  std::int64_t max_pods = SimulatedNodeOptions().pods_max;  // that each simulated node takes

  // Adds every option as a flag; they are filled in when the flags are parsed.
  void AddTo(Flags& flags);
};

// Every fault of the options in one InvalidArgument; for a program that exits 64 before it starts.
Status CheckOptions(const SimOptions& options);

// The running program: server, API, controllers and nodes.
class SimApp {
 public:
  // Checks, loads, listens, and writes the kubeconfig last: once it is there, the API serves. What
  // is lent outlives the app. InvalidArgument for options or a token file that are not in order,
  // DataLoss for kept data that is damaged, and errors of files and sockets.
  static StatusOr<std::unique_ptr<SimApp>> Start(IoLoop& loop, FileSystem& files, Random& random,
                                                 Log& log, SimOptions options);
  ~SimApp();

  // What clients dial: "https://127.0.0.1:41234".
  const std::string& url() const;
  // For tests and demos, which reach behind the API.
  ClusterApp& cluster();

  // Takes no more calls and ends those under way within kDrain, then `done`, once and from the
  // loop. What was answered is kept already, so killing it instead loses nothing.
  void Stop(std::function<void()> done);

  // Short, since watches never end by themselves; their clients take them up again elsewhere.
  static constexpr Duration kDrain = std::chrono::milliseconds(500);

 private:
  struct Impl;
  explicit SimApp(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace galen::cluster_sim
