// One command's connection to the cluster: runs its loop until the answer is there, so that a
// command reads from top to bottom. Belongs to the thread that made it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/data/json.h"
#include "base/files/posix_file_system.h"
#include "base/loop/epoll_loop.h"
#include "cli/await.h"
#include "cli/options.h"
#include "kube/client.h"
#include "kube/request.h"
#include "kube/transport.h"
#include "net/connection.h"

namespace galen::cli {

class Session {
 public:
  // Reads the kubeconfig; connects at the first request. `interrupt` (null = none) ends every wait
  // for an answer.
  static StatusOr<std::unique_ptr<Session>> Open(EpollLoop& loop, const Options& options,
                                                 const Interrupt* interrupt = nullptr);

  // The answer to one request. Unavailable is explained in full sentences: what, where, what to do.
  // An InvalidArgument of the server becomes FailedPrecondition, since InvalidArgument is reserved
  // for command lines.
  StatusOr<Json> Fetch(net::HttpRequest request);
  // All objects of a kind, page by page. DataLoss when the answer is no list, as from another kind
  // of server.
  StatusOr<std::vector<Json>> List(const kube::Resource& resource, const std::string& ns,
                                   const kube::Selectors& selectors = {});

  EpollLoop& loop() { return loop_; }
  kube::Client& client() { return *client_; }
  net::Dialer& dialer() { return *dialer_; }
  const kube::ClusterConfig& config() const { return config_; }
  const Interrupt* interrupt() const { return interrupt_; }

 private:
  Session(EpollLoop& loop, const Interrupt* interrupt) : loop_(loop), interrupt_(interrupt) {}

  EpollLoop& loop_;
  const Interrupt* const interrupt_;
  PosixFileSystem files_;
  kube::ClusterConfig config_;
  std::unique_ptr<net::Dialer> dialer_;
  std::unique_ptr<kube::ExecRunner> exec_;
  std::unique_ptr<kube::Transport> transport_;
  std::unique_ptr<kube::Client> client_;
};

// The items of one page of a list, moved out of it; DataLoss when it is none.
StatusOr<std::vector<Json>> ItemsOf(Json answer, const std::string& what);

}  // namespace galen::cli
