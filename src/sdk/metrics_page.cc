#include "sdk/metrics_page.h"

namespace galen::sdk {
namespace {

constexpr char kText[] = "text/plain; charset=utf-8";
constexpr char kPrometheusText[] = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace

void MetricsPage::Handle(std::unique_ptr<net::HttpExchange> exchange) {
  const net::HttpRequest& request = exchange->request();
  const std::string path = request.path.substr(0, request.path.find('?'));
  if (request.method != "GET" && request.method != "HEAD") {
    return net::Respond(*exchange, 405, kText, "only GET is answered here\n");
  }
  if (path == "/metrics") return net::Respond(*exchange, 200, kPrometheusText, metrics_.Text());
  if (path == "/healthz") return net::Respond(*exchange, 200, kText, "ok\n");
  if (path == "/readyz") {
    const std::string reason = why_not_ready_();
    if (reason.empty()) return net::Respond(*exchange, 200, kText, "ok\n");
    return net::Respond(*exchange, 503, kText, reason + "\n");
  }
  net::Respond(*exchange, 404, kText, "there are /metrics, /healthz and /readyz\n");
}

}  // namespace galen::sdk
