// The driver's own HTTP page: /metrics as Prometheus text, /healthz and /readyz. Belongs to its
// loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/metrics.h"
#include "net/http.h"

namespace galen::sdk {

class MetricsPage final : public net::HttpHandler {
 public:
  // `why_not_ready` gives "" when the driver is ready.
  MetricsPage(Metrics& metrics, std::function<std::string()> why_not_ready)
      : metrics_(metrics), why_not_ready_(std::move(why_not_ready)) {}

  void Handle(std::unique_ptr<net::HttpExchange> exchange) override;

 private:
  Metrics& metrics_;
  const std::function<std::string()> why_not_ready_;
};

}  // namespace galen::sdk
