// What a kubelet's probes need of a program and nothing else: /healthz and /readyz, each one word.
// So it reveals nothing although everybody in a cluster can reach it, unlike the AdminPage whose
// checks it goes by: that names devices, namespaces and what is wrong. Who only holds connections
// shuts no probe out (see AdminServer); a flood of them may still, as at any open port: there a
// NetworkPolicy helps. Belongs to its loop.
#pragma once

#include <memory>

#include "net/admin_page.h"
#include "net/http.h"

namespace galen::web {

class ProbePage final : public net::HttpHandler {
 public:
  // `page` is lent and outlives this one.
  explicit ProbePage(const net::AdminPage& page) : page_(page) {}

  // /healthz is always 200, /readyz 503 while a check fails; GET and HEAD. Anything else is as on
  // an AdminPage. Each answer ends its connection of HTTP/1.1.
  void Handle(std::unique_ptr<net::HttpExchange> exchange) override;

 private:
  const net::AdminPage& page_;
};

}  // namespace galen::web
