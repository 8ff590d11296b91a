#include "net/http.h"

#include <gtest/gtest.h>

namespace galen::net {
namespace {

TEST(Http, FirstHeaderOfANameCounts) {
  const Headers headers = {{"a", "1"}, {"b", "2"}, {"a", "3"}};
  EXPECT_EQ(FindHeader(headers, "a"), "1");
  EXPECT_EQ(FindHeader(headers, "c"), std::nullopt);
}

// Remembers what was said.
class SpokenExchange final : public HttpExchange {
 public:
  const HttpRequest& request() const override { return request_; }
  std::optional<PeerCredentials> peer() const override { return std::nullopt; }
  void Head(int status, Headers headers) override {
    said += std::to_string(status);
    for (const Header& header : headers) said += " " + header.name + "=" + header.value;
  }
  void Write(std::string bytes) override { said += " [" + bytes + "]"; }
  void End(Headers) override { said += " end"; }
  std::size_t queued() const override { return 0; }
  void OnDrained(std::function<void()>) override {}
  void OnGone(std::function<void()>) override {}

  std::string said;

 private:
  HttpRequest request_;
};

TEST(Http, ShortAnswerSaysItsTypeAndLength) {
  SpokenExchange exchange;
  Respond(exchange, 200, "text/plain", "hello");
  EXPECT_EQ(exchange.said, "200 content-type=text/plain content-length=5 [hello] end");
}

TEST(Http, EmptyAnswerWritesNothing) {
  SpokenExchange exchange;
  Respond(exchange, 404, "text/plain", "");
  EXPECT_EQ(exchange.said, "404 content-type=text/plain content-length=0 end");
}

}  // namespace
}  // namespace galen::net
