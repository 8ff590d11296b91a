#include "tests/sim/whole_answer.h"

#include <fmt/core.h>

#include "base/check.h"
#include "base/data/json.h"

namespace galen::sim {
namespace {

// Writes down what it is answered.
class Capture final : public net::HttpExchange {
 public:
  Capture(net::HttpRequest request, WholeAnswer& into)
      : request_(std::move(request)), into_(into) {}

  const net::HttpRequest& request() const override { return request_; }
  std::optional<net::PeerCredentials> peer() const override { return std::nullopt; }
  void Head(int status, net::Headers headers) override {
    into_.status = status;
    into_.headers = std::move(headers);
  }
  void Write(std::string bytes) override { into_.body += bytes; }
  void End(net::Headers) override {}
  std::size_t queued() const override { return 0; }
  void OnDrained(std::function<void()>) override {}
  void OnGone(std::function<void()>) override {}

 private:
  const net::HttpRequest request_;
  WholeAnswer& into_;
};

std::string_view ReasonOf(int code) {
  switch (code) {
    case 409:
      return "Conflict";
    case 410:
      return "Expired";
    case 429:
      return "TooManyRequests";
    case 503:
      return "ServiceUnavailable";
    default:
      return "InternalError";
  }
}

}  // namespace

WholeAnswer AskAtOnce(net::HttpHandler& handler, net::HttpRequest request) {
  WholeAnswer answer;
  handler.Handle(std::make_unique<Capture>(std::move(request), answer));
  return answer;
}

void Send(std::unique_ptr<net::HttpExchange> exchange, const WholeAnswer& answer) {
  if (answer.status == 0) return;
  exchange->Head(answer.status, answer.headers);
  exchange->Write(answer.body);
  exchange->End();
}

WholeAnswer RefusalAnswer(int code) {
  const Json status =
      Json::MakeObject({{"kind", "Status"},
                        {"apiVersion", "v1"},
                        {"status", "Failure"},
                        {"reason", std::string(ReasonOf(code))},
                        {"message", fmt::format("the simulation refuses with {}", code)},
                        {"code", code}});
  WholeAnswer answer{code, {{"content-type", "application/json"}}, status.Dump()};
  if (code == 429 || code == 503) answer.headers.push_back({"retry-after", "1"});
  return answer;
}

std::string_view VersionIn(std::string_view object) {
  // Keys are in the order of their bytes, so the first is the metadata's: before it there are
  // annotations, where quotes are escaped, and managedFields, whose keys begin with "f:".
  constexpr std::string_view kKey = "\"resourceVersion\":\"";
  const std::size_t at = object.find(kKey);
  if (at == std::string_view::npos) return "";
  const std::size_t begin = at + kKey.size();
  return object.substr(begin, object.find('"', begin) - begin);
}

}  // namespace galen::sim
