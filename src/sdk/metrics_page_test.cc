#include "sdk/metrics_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sdk/fake_node.h"

namespace galen::sdk {
namespace {

using ::testing::HasSubstr;

struct Answer final : net::HttpResponseSink {
  void OnHead(int s, const net::Headers&) override { status = s; }
  void OnData(std::string_view bytes) override { body += bytes; }
  void OnEnd(const Status&, const net::Headers&) override {}
  int status = 0;
  std::string body;
};

class MetricsPageTest : public ::testing::Test {
 protected:
  Answer Get(const std::string& path, const std::string& method = "GET") {
    node_.network.Listen("tcp:page:1", page_);
    std::unique_ptr<net::Connection> connection;
    net::DialOptions options;
    options.target = "tcp:page:1";
    const auto dialling =
        node_.dialer->Dial(options, [&](auto made) { connection = std::move(*made); });
    node_.loop.RunUntilIdle();
    Answer answer;
    const auto call =
        connection->Send({.method = method, .path = path, .headers = {}, .body = {}}, answer);
    node_.loop.RunUntilIdle();
    node_.network.StopListening("tcp:page:1");
    return answer;
  }

  FakeNode node_;
  std::string trouble_;
  MetricsPage page_{node_.metrics, [this] { return trouble_; }};
};

TEST_F(MetricsPageTest, ShowsMetricsAsText) {
  node_.metrics.DeclareCounter("galen_driver_claims_total", "Claims.");
  node_.metrics.Add("galen_driver_claims_total", {{"operation", "prepare"}});
  EXPECT_THAT(Get("/metrics").body,
              HasSubstr("galen_driver_claims_total{operation=\"prepare\"} 1"));
}

TEST_F(MetricsPageTest, IsHealthyAlwaysAndReadyWhenTheDriverIs) {
  trouble_ = "nobody has registered this driver yet";
  EXPECT_EQ(Get("/healthz").status, 200);
  EXPECT_EQ(Get("/readyz").status, 503);
  EXPECT_THAT(Get("/readyz?verbose").body, HasSubstr("nobody has registered"));
  trouble_ = "";
  EXPECT_EQ(Get("/readyz").status, 200);
}

TEST_F(MetricsPageTest, AnswersNothingElse) {
  EXPECT_EQ(Get("/").status, 404);
  EXPECT_EQ(Get("/metrics", "POST").status, 405);
}

}  // namespace
}  // namespace galen::sdk
