// galen-sim: a simulated cluster behind TLS, and the kubeconfig that lets people in. Belongs to its
// loop.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "base/flags.h"
#include "base/io_loop.h"
#include "base/log.h"
#include "base/random.h"
#include "cluster_sim/cluster_app.h"

namespace galen::cluster_sim {

struct SimOptions {
  std::string listen = "127.0.0.1:0";
  bool allow_remote = false;
  std::string data_directory;  // "" = in memory
  std::string kubeconfig_out;
  std::string token_file;
  std::int64_t node_count = 0;             // node-1, node-2, …
  std::vector<std::string> nodes;          // further ones by name
  std::vector<std::string> virtual_nodes;  // whose Pods an agent runs

  void AddTo(Flags& flags);
};

// Every fault of the options in one InvalidArgument.
Status CheckOptions(const SimOptions& options);

class SimApp {
 public:
  // Checks, loads, listens, and writes the kubeconfig last: once it is there, the API serves.
  // What is lent outlives the app.
  static StatusOr<std::unique_ptr<SimApp>> Start(IoLoop& loop, FileSystem& files, Random& random,
                                                 Log& log, SimOptions options);
  ~SimApp();

  // "https://127.0.0.1:41234"
  const std::string& url() const;
  ClusterApp& cluster();

  // Ends calls under way within kDrain, then `done`.
  void Stop(std::function<void()> done);

  // Watches never end by themselves; their clients take them up again elsewhere.
  static constexpr Duration kDrain = std::chrono::milliseconds(500);

 private:
  struct Impl;
  explicit SimApp(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace galen::cluster_sim
