// A program's page about itself, over HTTP: /metrics as Prometheus text, /healthz, /readyz with one
// line a check. Reads only, and shows nothing that is secret: there is no login. Belongs to its
// loop, on which the checks run. In this room, because agent and drivers of any vendor show one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/metrics.h"
#include "base/status.h"
#include "net/http.h"

namespace galen::net {

// Where a program shows its page, as people write it ("127.0.0.1:9470", ":9470" for loopback,
// "tcp:[::]:9470", "unix:/run/x.sock") → what net::Server listens at. InvalidArgument when there is
// no port. Whether the host is a number is for net::Server to check.
StatusOr<std::string> AdminAddress(std::string_view text);

class AdminPage final : public HttpHandler {
 public:
  // "" when all is well, else why not, in one line. Runs at each /readyz, so it looks and never
  // waits. What it captures outlives the page.
  using Check = std::function<std::string()>;
  // A person reads this page; more checks than that would be our bug.
  static constexpr std::size_t kChecksMax = 32;
  // Bytes of one reason; longer ones are cut.
  static constexpr std::size_t kReasonBytesMax = 512;

  // For the server that shows the page, see AdminServerOptions. A scraper and a few people; more
  // than that is a mistake or an attack, and each new connection then takes the place of the one
  // idle longest.
  static constexpr std::size_t kConnectionsMax = 32;
  // Nothing here reads a body; a small one is no reason to refuse.
  static constexpr std::size_t kRequestBodyBytesMax = 1024;
  // A scraper sends a few hundred bytes, and a token of a few thousand.
  static constexpr std::size_t kHeadBytesMax = 16 * 1024;

  // `metrics` is lent and outlives the page.
  explicit AdminPage(Metrics& metrics) : metrics_(metrics) {}

  // Ready only when this check says so. REQUIRES: at most kChecksMax of them, notes included.
  void AddCheck(std::string name, Check check);
  // Shown among the checks as "[!]" without making the program unready.
  void AddNote(std::string name, Check check);

  // Whether no check fails; runs all of them.
  bool IsReady() const;

  // GET and HEAD; anything else is 405, any other path 404. /healthz is always 200: that the loop
  // answers is what it says. /readyz is 503 while a check fails, and lists all checks then or with
  // ?verbose.
  void Handle(std::unique_ptr<HttpExchange> exchange) override;

 private:
  struct Named {
    std::string name;
    Check check;
    bool is_note = false;
  };

  static std::string LineOf(const Named& named, const std::string& reason);

  void AnswerReady(HttpExchange& exchange, bool verbose);

  Metrics& metrics_;
  std::vector<Named> checks_;
};

}  // namespace galen::net
