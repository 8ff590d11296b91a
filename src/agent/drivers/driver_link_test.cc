// A driver's floods; how a link rises and falls shows in plugin_manager_test.cc.
#include "agent/drivers/driver_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/drivers/fake_plugin.h"
#include "base/loop/fake_loop.h"
#include "base/random.h"
#include "net/fake_keeping_handler.h"
#include "rpc/frame.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Keeps its calls; of reports the last, and how many. Reads each at once at a cost of one step,
// unless it is busy.
class Listener final : public LinkListener {
 public:
  void OnLinkUp(const DriverLink&) override { calls.emplace_back("up"); }
  void OnLinkReport(const DriverLink&, std::string_view report) override {
    ++reports;
    last = report;
    bytes += report.size();
    if (!busy) link->Read(steps);
  }
  void OnLinkStreamLost(const DriverLink&, const Status&) override {
    calls.push_back("lost " + last);
  }
  void OnLinkWithoutHealth(const DriverLink&) override { calls.emplace_back("no health"); }
  void OnLinkDown(const DriverLink&, const Status&) override { calls.push_back("down " + last); }

  std::vector<std::string> calls;
  DriverLink* link = nullptr;
  bool busy = false;
  std::int64_t steps = 1;
  std::uint64_t reports = 0, bytes = 0;
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
    link_.emplace(DriverLink::Edges{loop_, random_, *dialer_, listener_, room_}, 1, facts, true);
    listener_.link = &*link_;
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
  ReportRoom room_;
  std::optional<DriverLink> link_;
};

TEST_F(DriverLinkTest, OfAFloodEachReportIsHeardAtTheNamedPace) {
  constexpr auto kAtOnce = static_cast<std::uint64_t>(ReportRoom::kStepsAtOnce);
  Flood(20'000);
  loop_.Advance(1ms);
  EXPECT_LE(listener_.reports, kAtOnce + 10);
  EXPECT_GE(listener_.reports, kAtOnce);
  loop_.Advance(500ms);
  EXPECT_NEAR(static_cast<double>(listener_.reports - kAtOnce), ReportRoom::kStepsPerSecond / 2,
              20);
  loop_.Advance(5s);
  EXPECT_EQ(listener_.reports, 20'001u) << "none was dropped";
  EXPECT_EQ(listener_.last, "newest");
  EXPECT_GT(link_->waits(), 100u);
}

TEST_F(DriverLinkTest, AReportCostsWhatItChanges) {
  listener_.steps = 1'000;
  Flood(40);
  loop_.Advance(0ms);
  EXPECT_EQ(listener_.reports, 1 + ReportRoom::kStepsAtOnce / 1'000 + 1);
}

TEST_F(DriverLinkTest, ThePaceIsOfAllDriversTogether) {
  for (int others = 0; others < 7; ++others) room_.Join();
  Flood(20'000);
  loop_.Advance(1ms);
  listener_.reports = 0;
  loop_.Advance(1s);
  EXPECT_NEAR(static_cast<double>(listener_.reports), ReportRoom::kStepsPerSecond / 8.0, 5);
}

TEST_F(DriverLinkTest, WhatIsNotReadWaitsWithTheDriver) {
  listener_.busy = true;
  for (int i = 0; i < 1'000; ++i) plugin_.ReportBytes(std::string(10'000, 'x'));
  loop_.Advance(1s);
  EXPECT_EQ(listener_.reports, 2u) << "the first, before this, and one that is not read";
  EXPECT_FALSE(plugin_.all_sent());
  listener_.busy = false;
  link_->Read(1);
  loop_.Advance(1s);
  EXPECT_EQ(listener_.reports, 1'001u);
  EXPECT_TRUE(plugin_.all_sent());
}

TEST_F(DriverLinkTest, ALongReportComesWholeOnceThereIsRoom) {
  int other = 0;
  room_.Ask(&other, ReportRoom::kLongBytesMax, [] {});
  plugin_.ReportBytes(std::string(3'000'000, 'x'));
  loop_.Advance(1s);
  EXPECT_EQ(listener_.reports, 1u) << "others have the room";
  EXPECT_FALSE(plugin_.all_sent());
  room_.GiveBack(&other);
  loop_.Advance(1s);
  EXPECT_EQ(listener_.last.size(), 3'000'000u);
  EXPECT_EQ(room_.long_bytes(), 0u) << "given back when it was read";
}

TEST_F(DriverLinkTest, ALongReportThatDoesNotComeWholeEndsItsStream) {
  net::KeepingHandler server;
  network_.Listen("unix:/raw.sock", server);
  PluginFacts facts = link_->facts();
  facts.endpoint = "/raw.sock";
  DriverLink link({loop_, random_, *dialer_, listener_, room_}, 2, facts, true);
  link.Start();
  loop_.Advance(10ms);
  listener_.calls.clear();
  server.exchanges.back()->Head(200, {{"content-type", "application/grpc"}});
  server.exchanges.back()->Write(rpc::Frame(std::string(3'000'000, 'x')).substr(0, 2'000'000));
  loop_.Advance(DriverLink::kWholeWithin - 1ms);
  EXPECT_GT(room_.long_bytes(), 0u);
  loop_.Advance(1ms);
  EXPECT_THAT(listener_.calls, ElementsAre("lost first"));
  EXPECT_EQ(room_.long_bytes(), 0u);
}

TEST_F(DriverLinkTest, WhatCameIsHeardBeforeTheEndOfItsStream) {
  Flood(17'000);
  plugin_.EndStreams(Unavailable("going"));
  loop_.Advance(1s);
  EXPECT_THAT(listener_.calls, ElementsAre("lost newest"));
}

TEST_F(DriverLinkTest, WhatCameIsHeardBeforeTheEndOfItsDriver) {
  listener_.steps = 20'000;
  Flood(100);
  loop_.Advance(0ms);
  plugin_.Kill();
  loop_.Advance(0ms);
  EXPECT_THAT(listener_.calls, ElementsAre("down newest")) << "at once, whatever it has cost";
}

TEST_F(DriverLinkTest, AnOrdinaryDriverNeverWaits) {
  for (int i = 0; i < 1'000; ++i) {
    plugin_.ReportBytes("report");
    loop_.Advance(1ms);
  }
  EXPECT_EQ(link_->waits(), 0u);
  EXPECT_THAT(listener_.calls, IsEmpty());
}

}  // namespace
}  // namespace galen::agent
