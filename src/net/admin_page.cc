#include "net/admin_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace galen::net {
namespace {

constexpr std::string_view kText = "text/plain; charset=utf-8";
// The content type of the text exposition format; Prometheus chooses its parser by it.
constexpr std::string_view kPrometheusText = "text/plain; version=0.0.4; charset=utf-8";

// Whether the query has this parameter, alone or with a value, as Kubernetes reads ?verbose.
bool HasWord(std::string_view query, std::string_view word) {
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(part.size() < query.size() ? part.size() + 1 : query.size());
    if (part.substr(0, part.find('=')) == word) return true;
  }
  return false;
}

}  // namespace

StatusOr<std::string> AdminAddress(std::string_view text) {
  if (text.starts_with("unix:/")) return std::string(text);
  const std::string_view whole = text;
  if (text.starts_with("tcp:")) text.remove_prefix(4);
  const std::size_t colon = text.rfind(':');
  const std::string_view port = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  const bool digits =
      std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (port.empty() || port.size() > 5 || !digits || std::stoi(std::string(port)) > 65535) {
    return InvalidArgument("'{}' is not an address for metrics, write one like 127.0.0.1:9470",
                           whole);
  }
  // Without a host it is this machine only: serving the network has to be asked for explicitly.
  const std::string_view host = colon == 0 ? "127.0.0.1" : text.substr(0, colon);
  return fmt::format("tcp:{}:{}", host, port);
}

void AdminPage::AddCheck(std::string name, Check check) {
  GALEN_CHECK(checks_.size() < kChecksMax);
  checks_.push_back({std::move(name), std::move(check)});
}

void AdminPage::AddNote(std::string name, Check check) {
  GALEN_CHECK(checks_.size() < kChecksMax);
  checks_.push_back({std::move(name), std::move(check), /*is_note=*/true});
}

void AdminPage::Handle(std::unique_ptr<HttpExchange> exchange) {
  const HttpRequest& request = exchange->request();
  const std::string_view whole = request.path;
  const std::string_view path = whole.substr(0, whole.find('?'));
  const std::string_view query = whole.substr(std::min(path.size() + 1, whole.size()));
  const bool known = path == "/metrics" || path == "/healthz" || path == "/readyz";
  if (!known) {
    return Respond(*exchange, 404, kText, "not found: try /metrics, /healthz or /readyz\n");
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return Respond(*exchange, 405, kText, "only GET and HEAD are answered\n");
  }
  if (path == "/metrics") return Respond(*exchange, 200, kPrometheusText, metrics_.Text());
  if (path == "/healthz") return Respond(*exchange, 200, kText, "ok\n");
  AnswerReady(*exchange, HasWord(query, "verbose"));
}

bool AdminPage::IsReady() const {
  return std::all_of(checks_.begin(), checks_.end(),
                     [](const Named& named) { return named.is_note || named.check().empty(); });
}

void AdminPage::AnswerReady(HttpExchange& exchange, bool verbose) {
  std::string lines;
  bool ready = true;
  for (const Named& named : checks_) {
    // Runs all checks, even after a failure: a person wants to see everything that is wrong at
    // once.
    const std::string reason = named.check();
    ready = ready && (reason.empty() || named.is_note);
    lines += LineOf(named, reason);
  }
  if (!ready) return Respond(exchange, 503, kText, lines + "readyz check failed\n");
  Respond(exchange, 200, kText, verbose ? lines + "readyz check passed\n" : "ok\n");
}

std::string AdminPage::LineOf(const Named& named, const std::string& reason) {
  if (reason.empty()) return fmt::format("[+]{} ok\n", named.name);
  // A reason may quote a driver or the API server; it must not forge another check's line.
  const std::string shown = Shown(reason, kReasonBytesMax);
  return named.is_note ? fmt::format("[!]{}: {}\n", named.name, shown)
                       : fmt::format("[-]{} failed: {}\n", named.name, shown);
}

}  // namespace galen::net
