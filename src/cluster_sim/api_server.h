// A Kubernetes API server in memory: discovery, objects, watches, for kubectl and any client.
// Answers requests of a net::Server (TLS), of a FakeNetwork or of a LocalTransport alike.
// Belongs to its loop; what is lent outlives it.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/file_system.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/random.h"
#include "cluster_sim/access.h"
#include "net/http.h"

namespace galen::cluster_sim {

class ApiServer final : public net::HttpHandler {
 public:
  struct Options {
    // Bearer tokens; none: everybody may do everything.
    std::map<std::string, User> users_by_token = {};
    std::string git_version = "v1.37.0+galen";  // what `kubectl version` shows
    // Changes kept a kind for watches; older ones get 410.
    std::size_t history_max = 8192;
    // Where state is kept over restarts; none: in memory only.
    FileSystem* files = nullptr;
    std::string data_directory = {};
  };

  // Reads what is kept, if anything is; DataLoss names a file that cannot be read.
  static StatusOr<std::unique_ptr<ApiServer>> Create(Loop& loop, Random& random, Log& log,
                                                     Options options);
  ~ApiServer() override;

  void Handle(std::unique_ptr<net::HttpExchange> exchange) override;

  std::size_t watchers() const;

  // What etcd takes of one object, and so what kube-apiserver takes of one body.
  static constexpr std::size_t kBodyBytesMax = 3 * 1024 * 1024;

 private:
  struct Impl;
  explicit ApiServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace galen::cluster_sim
