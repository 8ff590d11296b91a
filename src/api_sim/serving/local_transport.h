// An API client in the same process as the API: requests reach the handler through the loop,
// without a socket. Implements the interface of a real connection with its guarantees: no callback
// comes from inside a call, either end may go first, queued() counts bytes that the reader has not
// received. It never fails and is never slow; FakeNetwork is for that. Belongs to its loop.
#pragma once

#include <memory>

#include "base/loop/loop.h"
#include "net/http.h"

namespace galen::api_sim {

class LocalTransport final : public net::HttpClient {
 public:
  // `headers` go with every request that does not name them itself (Authorization, User-Agent). The
  // arguments outlive this and every call; calls are destroyed before it.
  LocalTransport(Loop& loop, net::HttpHandler& handler, net::Headers headers = {})
      : loop_(loop), handler_(handler), headers_(std::move(headers)) {}

  std::unique_ptr<net::HttpCall> Send(net::HttpRequest request,
                                      net::HttpResponseSink& sink) override;

 private:
  Loop& loop_;
  net::HttpHandler& handler_;
  const net::Headers headers_;
};

}  // namespace galen::api_sim
