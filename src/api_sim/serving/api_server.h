// A Kubernetes API server in memory: discovery, objects, watches, for kubectl and any client.
// Answers requests of a net::Server (TLS), of a FakeNetwork or of a LocalTransport alike. It stores
// and checks objects; controllers schedule and run (see ClusterApp). Belongs to its loop; the
// arguments outlive it. Exchanges under way are destroyed before it.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "api_sim/serving/access.h"
#include "base/files/file_system.h"
#include "base/log.h"
#include "base/loop/loop.h"
#include "base/random.h"
#include "net/http.h"

namespace galen::api_sim {

// The version of Kubernetes whose API is served, as the server and its nodes report it.
inline constexpr const char* kKubernetesVersion = "v1.37.0+galen";

class ApiServer final : public net::HttpHandler {
 public:
  // Users, version, and where the state is stored.
  struct Options {
    // Users by bearer token. Empty: everybody has full access.
    std::map<std::string, User> users_by_token = {};
    // The version for `kubectl version`. REQUIRES: "vMAJOR.MINOR.…", which discovery splits at the
    // dots.
    std::string git_version = kKubernetesVersion;
    // Changes kept of each kind for watches and pages of lists; requests for older ones get 410.
    // They share unchanged objects with the store.
    std::size_t history_max = 8192;
    // The files for the state over restarts, in the form of docs/formats/sim-data.md. Borrowed;
    // null: in memory only, and `data_directory` is ignored.
    FileSystem* files = nullptr;
    std::string data_directory = {};
  };

  // Loads the stored state, if any, and creates the four namespaces that every cluster has.
  // DataLoss names a file that cannot be read; other errors are those of the file system. Once it
  // returns, requests are answered.
  static StatusOr<std::unique_ptr<ApiServer>> Create(Loop& loop, Random& random, Log& log,
                                                     Options options);
  ~ApiServer() override;

  // Answers before it returns, except that a watch continues. Health paths and the body's size are
  // checked before the body is read; a user without rights gets 403 even for kinds that do not
  // exist.
  void Handle(std::unique_ptr<net::HttpExchange> exchange) override;

  // Open watches, including those that ended in this turn of the loop.
  std::size_t watchers() const;

  // The largest body that kube-apiserver takes (its MaxRequestBodyBytes, twice etcd's default of
  // 1.5 MiB). At the limit: 413.
  static constexpr std::size_t kBodyBytesMax = 3 * 1024 * 1024;

 private:
  struct Impl;
  explicit ApiServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace galen::api_sim
