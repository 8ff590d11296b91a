// What a program shows of itself over HTTP: /metrics as Prometheus text, /healthz, /readyz with one
// line a check. Reads only. Belongs to its loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/metrics.h"
#include "net/http.h"

namespace galen::web {

class AdminPage final : public net::HttpHandler {
 public:
  // "" when all is well, else why not, in one line.
  using Check = std::function<std::string()>;
  static constexpr std::size_t kChecksMax = 32;
  static constexpr std::size_t kReasonBytesMax = 512;

  // `metrics` is lent and outlives the page.
  explicit AdminPage(Metrics& metrics) : metrics_(metrics) {}

  // Ready only when this check says so. REQUIRES: at most kChecksMax of them.
  void AddCheck(std::string name, Check check);
  // Told among the checks, and in nobody's way: what hinders without making unready.
  void AddNote(std::string name, Check check);

  // GET and HEAD; anything else is 405, any other path 404. /readyz is 503 while a check fails, and
  // lists all checks then or with ?verbose.
  void Handle(std::unique_ptr<net::HttpExchange> exchange) override;

 private:
  struct Named {
    std::string name;
    Check check;
    bool is_note = false;
  };

  static std::string LineOf(const Named& named, const std::string& reason);

  void AnswerReady(net::HttpExchange& exchange, bool verbose);

  Metrics& metrics_;
  std::vector<Named> checks_;
};

}  // namespace galen::web
