// Carries requests to one API server: one connection for all of them, credentials added, dialled
// again when it is lost or asked to go away, gzip undone. One a program; every Client shares it.
// Belongs to its loop. Never gives up: how often to try again is for those above to say.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/files/file_system.h"
#include "base/log.h"
#include "base/loop/loop.h"
#include "base/status.h"
#include "kube/config.h"
#include "kube/exec_runner.h"
#include "net/connection.h"

namespace galen::kube {

class Transport final : public net::HttpClient {
 public:
  // A PING after this much silence: a server that died silently is noticed within twice this.
  static constexpr Duration kPingAfter = std::chrono::seconds(30);
  // Calls that wait for a connection or credentials; past it: ResourceExhausted.
  static constexpr std::size_t kWaitingCallsMax = 4096;

  // Checks the configuration's URLs; dials at the first request. InvalidArgument for a broken
  // URL, or a proxy that is not http://. What is lent outlives it.
  static StatusOr<std::unique_ptr<Transport>> Create(Loop& loop, Log& log, net::Dialer& dialer,
                                                     FileSystem& files, ExecRunner& exec,
                                                     ClusterConfig config);
  // REQUIRES: no call waits; calls die before their transport.
  ~Transport() override;

  // HttpClient's promises. Calls wait while there is no connection; when dialling fails, all that
  // wait end with its error ("cannot reach the API server at …"), and the next ones wait for the
  // next dial, with backoff. Unauthenticated when no credentials can be got. A 401 is answered once
  // by getting credentials again, where that can help; otherwise it is the answer. A call that was
  // sent is never sent again on another connection: it may have had its effect.
  std::unique_ptr<net::HttpCall> Send(net::HttpRequest request,
                                      net::HttpResponseSink& sink) override;

 private:
  struct Impl;
  explicit Transport(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

// Whether `status` is of a server that could not be reached at all: "cannot reach the API server at
// https://127.0.0.1:6443: connection refused". A program for people adds what they can do about it.
// Looks at the sentence, so annotations before it do no harm.
bool IsUnreachable(const Status& status);

}  // namespace galen::kube
