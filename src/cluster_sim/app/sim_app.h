// galen-sim: a simulated cluster behind TLS, and the kubeconfig to access it. Belongs to its loop;
// all of it runs on that one thread.
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

// A whole Kubernetes cluster in one thread: the API, its controllers and scheduler, and simulated
// nodes. The controllers are ordinary clients of the API, by a transport without a socket. Used by
// galen-sim and by tests alike. Belongs to its loop.
class ClusterApp {
 public:
  // What the cluster consists of.
  struct Options {
    // The controllers get a user and a token of their own when there are users.
    api_sim::ApiServer::Options api = {};
    // Nodes from the start; nodes().Add() adds more later.
    std::vector<SimulatedNodeOptions> nodes = {};
    // False: objects are only stored, and the caller makes claims and schedules Pods if it needs
    // that.
    bool run_controllers = true;
    // Prepares the claims of simulated nodes' Pods; without it they count as prepared. Borrowed.
    PodPreparation* preparation = nullptr;
  };

  // The arguments outlive the app. Errors: of the stored data (see ApiServer::Create), of a node's
  // name or number (see SimulatedNodes::Add), Internal without random numbers for a token. The
  // cluster runs on the loop from here on; ready() says when it acts.
  static StatusOr<std::unique_ptr<ClusterApp>> Create(Loop& loop, Random& random, Log& log,
                                                      Options options);
  ~ClusterApp();

  // The handler for a net::Server or FakeNetwork; destroyed with the app.
  net::HttpHandler& api();
  SimulatedNodes& nodes();
  // Whether the controllers have read the whole cluster and act.
  bool ready() const;

 private:
  struct Impl;
  explicit ClusterApp(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

// galen-sim's settings, from its flags; --help explains each in a line.
struct SimOptions {
  // Host and port; port 0 takes a free one, shown by url().
  std::string listen = "127.0.0.1:0";
  // Addresses other than loopback must be allowed explicitly: the administrator's token gives full
  // access.
  bool allow_remote = false;
  std::string data_directory;  // "" = in memory
  // The path of the administrator's kubeconfig, with mode 0600; "": none.
  std::string kubeconfig_out;
  // More users, see ParseTokenFile(); "": none.
  std::string token_file;
  std::int64_t node_count = 0;                              // node-1, node-2, …
  std::vector<std::string> nodes;                           // further ones by name
  std::vector<std::string> virtual_nodes;                   // an agent runs their Pods
  std::int64_t max_pods = SimulatedNodeOptions().pods_max;  // of each simulated node

  // Adds every option as a flag; they are filled in when the flags are parsed.
  void AddTo(Flags& flags);
};

// Every fault of the options in one InvalidArgument, before the program starts (it exits with 64).
Status CheckOptions(const SimOptions& options);

// The running program: server, API, controllers and nodes.
class SimApp {
 public:
  // Checks, loads, listens, and writes the kubeconfig last: once it exists, the API serves. The
  // arguments outlive the app. InvalidArgument for faulty options or token file, DataLoss for
  // damaged stored data, and errors of files and sockets.
  static StatusOr<std::unique_ptr<SimApp>> Start(IoLoop& loop, FileSystem& files, Random& random,
                                                 Log& log, SimOptions options);
  ~SimApp();

  // The address for clients: "https://127.0.0.1:41234".
  const std::string& url() const;
  // For tests and demos that bypass the API.
  ClusterApp& cluster();

  // Takes no more calls and ends those under way within kDrain, then `done`, once and from the
  // loop. Answered writes are stored already, so killing it instead loses nothing.
  void Stop(std::function<void()> done);

  // Short, since watches never end by themselves, and clients resume them elsewhere.
  static constexpr Duration kDrain = std::chrono::milliseconds(500);

 private:
  struct Impl;
  explicit SimApp(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace galen::cluster_sim
