#include "web/probe_page.h"

#include <string>
#include <string_view>

namespace galen::web {

void ProbePage::Handle(std::unique_ptr<net::HttpExchange> exchange) {
  const net::HttpRequest& request = exchange->request();
  const std::string_view path = std::string_view(request.path).substr(0, request.path.find('?'));
  // A probe asks one thing; its place is then free for the next.
  const auto answer = [&](int status, const std::string& text) {
    exchange->Head(status, {{"content-type", "text/plain; charset=utf-8"},
                            {"content-length", std::to_string(text.size())},
                            {"connection", "close"}});
    exchange->Write(text);
    exchange->End();
  };
  if (path != "/healthz" && path != "/readyz") {
    return answer(404, "not found: try /healthz or /readyz\n");
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return answer(405, "only GET and HEAD are answered\n");
  }
  const bool well = path == "/healthz" || page_.IsReady();
  answer(well ? 200 : 503, well ? "ok\n" : "not ready\n");
}

}  // namespace galen::web
