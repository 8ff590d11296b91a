// Carries requests to one API server: one connection for all of them, credentials added, dialled
// again when it is lost or asked to go away, gzip undone. Belongs to its loop.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "base/file_system.h"
#include "base/log.h"
#include "base/loop.h"
#include "kube/config.h"
#include "kube/exec_runner.h"
#include "net/connection.h"

namespace galen::kube {

class Transport final : public net::HttpClient {
 public:
  // A PING after this much silence: a server that died without a word is noticed within twice this.
  static constexpr Duration kPingAfter = std::chrono::seconds(30);
  // Calls that wait for a connection or credentials; past it: ResourceExhausted.
  static constexpr std::size_t kWaitingCallsMax = 4096;

  // Checks the configuration whole; dials at the first request. What is lent outlives it.
  static StatusOr<std::unique_ptr<Transport>> Create(Loop& loop, Log& log, net::Dialer& dialer,
                                                     FileSystem& files, ExecRunner& exec,
                                                     ClusterConfig config);
  ~Transport() override;

  // Calls wait while there is no connection; when dialling fails, all that wait end with its error,
  // and the next ones wait for the next dial, with backoff. A 401 is answered once by getting
  // credentials again, where that can help.
  std::unique_ptr<net::HttpCall> Send(net::HttpRequest request,
                                      net::HttpResponseSink& sink) override;

 private:
  struct Impl;
  explicit Transport(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

// Whether `status` is of a server that could not be reached at all: "cannot reach the API server at
// https://127.0.0.1:6443: connection refused". A program for people adds what they can do about it.
bool IsUnreachable(const Status& status);

}  // namespace galen::kube
