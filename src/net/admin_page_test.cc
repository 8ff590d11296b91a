#include "net/admin_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/loop/fake_loop.h"
#include "net/fake_link.h"
#include "net/fake_recording_sink.h"

namespace galen::net {
namespace {

using ::testing::HasSubstr;

constexpr char kTarget[] = "tcp:127.0.0.1:9470";

class AdminPageTest : public ::testing::Test {
 protected:
  AdminPageTest() {
    network_.Listen(kTarget, page_);
    DialOptions options;
    options.target = kTarget;
    dialling_ = dialer_->Dial(options, [this](StatusOr<std::unique_ptr<Connection>> made) {
      connection_ = std::move(made).value();
    });
    loop_.RunUntilIdle();
  }

  // The status and body of an answer.
  std::pair<int, std::string> Ask(std::string method, std::string path) {
    HttpRequest request;
    request.method = std::move(method);
    request.path = std::move(path);
    RecordingSink sink;
    const auto call = connection_->Send(std::move(request), sink);
    loop_.RunUntilIdle();
    type_ = FindHeader(sink.headers(), "content-type").value_or("");
    return {sink.status(), sink.body()};
  }
  std::pair<int, std::string> Get(std::string path) { return Ask("GET", std::move(path)); }

  FakeLoop loop_;
  Random random_{1};
  FakeNetwork network_{loop_, random_};
  LinkWeather weather_;
  Metrics metrics_;
  AdminPage page_{metrics_};
  std::unique_ptr<Dialer> dialer_ = network_.MakeDialer(weather_);
  std::unique_ptr<Dialling> dialling_;
  std::unique_ptr<Connection> connection_;
  std::string type_;
};

TEST_F(AdminPageTest, ShowsMetricsAsPrometheusReadsThem) {
  metrics_.DeclareCounter("galen_x_total", "What.");
  metrics_.Add("galen_x_total", {}, 3);
  const auto [status, body] = Get("/metrics");
  EXPECT_EQ(status, 200);
  EXPECT_THAT(body, HasSubstr("galen_x_total 3"));
  EXPECT_EQ(type_, "text/plain; version=0.0.4; charset=utf-8");
}

TEST_F(AdminPageTest, IsAliveWhateverTheChecksSay) {
  page_.AddCheck("api", [] { return std::string("no connection"); });
  EXPECT_EQ(Get("/healthz"), std::pair(200, std::string("ok\n")));
}

TEST_F(AdminPageTest, IsReadyOnlyWhenEveryCheckSaysSo) {
  std::string reason = "no connection for 3 s";
  page_.AddCheck("socket", [] { return std::string(); });
  page_.AddCheck("api", [&reason] { return reason; });
  EXPECT_EQ(Get("/readyz"),
            std::pair(503, std::string("[+]socket ok\n[-]api failed: no connection for 3 s\n"
                                       "readyz check failed\n")));
  reason.clear();
  EXPECT_EQ(Get("/readyz"), std::pair(200, std::string("ok\n")));
  EXPECT_EQ(Get("/readyz?verbose"),
            std::pair(200, std::string("[+]socket ok\n[+]api ok\nreadyz check passed\n")));
  EXPECT_EQ(Get("/readyz?a=b&verbose=true"), Get("/readyz?verbose"));
}

TEST_F(AdminPageTest, ANoteIsToldAndInNobodysWay) {
  page_.AddNote("troubles", [] { return "journal: no space left"; });
  EXPECT_EQ(Get("/readyz").first, 200);
  EXPECT_THAT(Get("/readyz?verbose").second, HasSubstr("[!]troubles: journal: no space left\n"));
}

TEST_F(AdminPageTest, WithoutChecksItIsReady) { EXPECT_EQ(Get("/readyz").first, 200); }

TEST_F(AdminPageTest, AReasonCannotBreakItsLineOrGrowWithoutBound) {
  page_.AddCheck("api", [] { return "a\n[+]api ok\x1b" + std::string(100000, 'x'); });
  const auto [status, body] = Get("/readyz");
  EXPECT_EQ(status, 503);
  EXPECT_LT(body.size(), 1000u);
  EXPECT_EQ(body.find("\n[+]"), std::string::npos);
}

TEST_F(AdminPageTest, AnswersNothingElse) {
  EXPECT_EQ(Get("/").first, 404);
  EXPECT_EQ(Get("/metrics/").first, 404);
  EXPECT_EQ(Get("").first, 404);
  EXPECT_EQ(Ask("POST", "/metrics").first, 405);
  EXPECT_EQ(Ask("DELETE", "/healthz").first, 405);
  EXPECT_EQ(Ask("HEAD", "/metrics").first, 200);
}

TEST(AdminAddress, IsLoopbackUnlessSomebodySaysOtherwise) {
  EXPECT_EQ(*AdminAddress(":9470"), "tcp:127.0.0.1:9470");
  EXPECT_EQ(*AdminAddress("127.0.0.1:65535"), "tcp:127.0.0.1:65535");
  EXPECT_EQ(*AdminAddress("tcp:0.0.0.0:9470"), "tcp:0.0.0.0:9470");
  EXPECT_EQ(*AdminAddress("[::1]:0"), "tcp:[::1]:0");
  EXPECT_EQ(*AdminAddress("unix:/run/admin.sock"), "unix:/run/admin.sock");
}

TEST(AdminAddress, WithoutAPortIsRefused) {
  for (const char* text : {"", "9470", "localhost", "127.0.0.1:", "127.0.0.1:http", "a:65536",
                           "a:999999999999", "tcp:"}) {
    EXPECT_FALSE(AdminAddress(text).ok()) << text;
  }
}

}  // namespace
}  // namespace galen::net
