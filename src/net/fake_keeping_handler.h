// Keeps each request until the test answers it. Loses those that are left when it dies, which
// resets their streams.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "net/http.h"

namespace galen::net {

class KeepingHandler final : public HttpHandler {
 public:
  void Handle(std::unique_ptr<HttpExchange> exchange) override {
    exchanges.push_back(std::move(exchange));
  }

  std::vector<std::unique_ptr<HttpExchange>> exchanges;
};

}  // namespace galen::net
