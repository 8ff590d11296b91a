// A driver's floods; how a link rises and falls shows in plugin_manager_test.cc.
#include "agent/drivers/driver_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/drivers/fake_plugin.h"
#include "base/loop/fake_loop.h"
#include "base/random.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Keeps its calls; of reports the last, and how many.
class Listener final : public LinkListener {
 public:
  void OnLinkUp(const DriverLink&) override { calls.emplace_back("up"); }
  void OnLinkReport(const DriverLink&, std::string_view report) override {
    ++reports;
    last = report;
  }
  void OnLinkStreamLost(const DriverLink&, const Status&) override {
    calls.push_back("lost " + last);
  }
  void OnLinkWithoutHealth(const DriverLink&) override { calls.emplace_back("no health"); }
  void OnLinkDown(const DriverLink&, const Status&) override { calls.push_back("down " + last); }

  std::vector<std::string> calls;
  std::uint64_t reports = 0;
  std::string last;
};

class DriverLinkTest : public ::testing::Test {
 protected:
  DriverLinkTest() : dialer_(network_.MakeDialer(weather_)) {
    plugin_.ReportBytes("first");
    plugin_.Start();
    PluginFacts facts;
    facts.driver = "gpu.example.com";
    facts.endpoint = FakePlugin::Options().endpoint;
    facts.health = HealthService::kV1;
    link_.emplace(DriverLink::Edges{loop_, random_, *dialer_, listener_}, 1, facts, true);
    link_->Start();
    loop_.Advance(10ms);
    listener_.calls.clear();
  }

  // Says `count` things in one moment, the last of them "newest".
  void Flood(int count) {
    for (int i = 1; i < count; ++i) plugin_.ReportBytes("report " + std::to_string(i));
    plugin_.ReportBytes("newest");
  }

  FakeLoop loop_;
  Random random_{1};
  net::LinkWeather weather_;
  net::FakeNetwork network_{loop_, random_};
  FakeSocketDirectory directory_;
  FakePlugin plugin_{loop_, network_, directory_, {}};
  std::unique_ptr<net::Dialer> dialer_;
  Listener listener_;
  std::optional<DriverLink> link_;
};

// The first report, before the flood, is one of the bucket's.
constexpr std::uint64_t kBurst = DriverLink::kReportBurst;

TEST_F(DriverLinkTest, OfAFloodTheNewestIsHeardAndTheRestIsCounted) {
  Flood(20'000);
  loop_.Advance(1ms);
  EXPECT_LE(listener_.reports, kBurst + 3);
  loop_.Advance(1s);
  EXPECT_EQ(listener_.last, "newest");
  EXPECT_EQ(listener_.reports + link_->merged(), 20'001u);
}

TEST_F(DriverLinkTest, AFloodWithoutEndIsHeardAtTheNamedPace) {
  Flood(17'000);
  loop_.Advance(0ms);
  listener_.reports = 0;
  for (int i = 0; i < 100; ++i) {
    Flood(100);
    loop_.Advance(10ms);
  }
  EXPECT_NEAR(static_cast<double>(listener_.reports), DriverLink::kReportsPerSecond, 2);
}

TEST_F(DriverLinkTest, ALongReportCountsForSeveral) {
  constexpr std::size_t kLong = 64 * DriverLink::kBytesPerReport;
  for (int i = 0; i < 500; ++i) {
    plugin_.ReportBytes(std::string(kLong, 'x'));
    loop_.Advance(0ms);
  }
  EXPECT_EQ(listener_.reports, 1 + (kBurst - 1) / 65);
}

TEST_F(DriverLinkTest, WhatWaitsForItsTurnIsHeardBeforeTheEndOfItsStream) {
  Flood(20'000);
  plugin_.EndStreams(Unavailable("going"));
  loop_.Advance(0ms);
  EXPECT_THAT(listener_.calls, ElementsAre("lost newest"));
}

TEST_F(DriverLinkTest, WhatWaitsForItsTurnIsHeardBeforeTheEndOfItsDriver) {
  Flood(20'000);
  loop_.Advance(0ms);
  plugin_.Kill();
  loop_.Advance(0ms);
  EXPECT_THAT(listener_.calls, ElementsAre("down newest"));
}

TEST_F(DriverLinkTest, AnOrdinaryDriverNeverWaits) {
  for (int i = 0; i < 1'000; ++i) {
    plugin_.ReportBytes("report");
    loop_.Advance(1ms);
  }
  EXPECT_EQ(link_->merged(), 0u);
  EXPECT_THAT(listener_.calls, IsEmpty());
}

}  // namespace
}  // namespace galen::agent
