// A Kubernetes API server in memory: discovery, objects, watches, for kubectl and any client.
// Answers requests of a net::Server (TLS), of a FakeNetwork or of a LocalTransport alike. It stores
// and checks; nothing is scheduled or run unless controllers do it (see ClusterApp).
// Belongs to its loop; what is lent outlives it. Exchanges under way die before it.
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
  struct Options {
    // Bearer tokens and whom they name. None: everybody may do everything.
    std::map<std::string, User> users_by_token = {};
    // What `kubectl version` shows. REQUIRES: "vMAJOR.MINOR.…", for discovery cuts it at the dots.
    std::string git_version = kKubernetesVersion;
    // Changes kept of each kind for watches and pages of lists; what asks for older ones gets 410.
    // They share their objects with the store where these did not change since.
    std::size_t history_max = 8192;
    // Where state is kept over restarts, in the form of docs/formats/sim-data.md. Lent; null: in
    // memory only, and `data_directory` is not looked at.
    FileSystem* files = nullptr;
    std::string data_directory = {};
  };

  // Reads what is kept, if anything is, and makes the four namespaces that every cluster has.
  // DataLoss names a file that cannot be read; other errors are those of the file system. Once it
  // returns, requests are answered.
  static StatusOr<std::unique_ptr<ApiServer>> Create(Loop& loop, Random& random, Log& log,
                                                     Options options);
  ~ApiServer() override;

  // Answers before it returns, except that a watch goes on. Health paths and the size of the body
  // are judged before anything of the body is read; a user without rights gets 403 even for kinds
  // that do not exist.
  void Handle(std::unique_ptr<net::HttpExchange> exchange) override;

  // Watches that are open, those included that ended in this turn of the loop.
  std::size_t watchers() const;

  // What kube-apiserver takes of one body (its MaxRequestBodyBytes, twice etcd's default of 1.5
  // MiB). At the limit: 413.
  static constexpr std::size_t kBodyBytesMax = 3 * 1024 * 1024;

 private:
  struct Impl;
  explicit ApiServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace galen::api_sim
