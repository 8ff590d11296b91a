#include "sdk/health/health_publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sdk/fake_node.h"

namespace galen::sdk {
namespace {

using namespace std::chrono_literals;

constexpr char kHealthSocket[] = "/plugins/fpga/dra.sock";

class HealthPublisherTest : public ::testing::Test {
 protected:
  HealthPublisherTest() {
    publisher_.Serve(dispatcher_);
    node_.network.Listen(std::string("unix:") + kHealthSocket, dispatcher_);
    publisher_.SetInventory({{.name = "a"}, {.name = "b"}});
  }

  void Report(HealthWriter& health) {
    ++asked_;
    if (on_ask_) on_ask_();
    if (link_down_) {
      health.Unhealthy("a", {"LinkDown", "QSFP link down"});
    } else {
      health.Healthy("a");
    }
    if (timeout_) health.Timeout("a", *timeout_);
    if (!stranger_.empty()) health.Healthy(stranger_);
  }

  void Run(Duration d) { node_.loop.Advance(d); }

  FakeNode node_;
  int asked_ = 0;
  bool link_down_ = false;
  std::optional<std::chrono::seconds> timeout_;
  std::string stranger_;
  std::function<void()> on_ask_;
  std::vector<std::string> lines_;
  Log log_{LogLevel::kInfo, [] { return WallTime{}; },
           [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }};
  rpc::Dispatcher dispatcher_{node_.loop};
  HealthPublisher publisher_{{node_.loop, log_, node_.metrics},
                             {.driver = "fpga.example.com", .pool = "node-7", .period = 5s},
                             [this](HealthWriter& health) { Report(health); }};
};

TEST_F(HealthPublisherTest, TellsANewSubscriberEverythingAtOnce) {
  publisher_.Start();
  FakeCaller caller = node_.Connect(kHealthSocket);
  FakeSubscriber subscriber(caller, "v1");
  Run(0s);
  ASSERT_EQ(subscriber.reports().size(), 1u);
  EXPECT_EQ(subscriber.reports()[0].devices_size(), 2);
  EXPECT_EQ(subscriber.Latest("a").health(), v1::HEALTHY);
  EXPECT_EQ(subscriber.Latest("b").health(), v1::UNKNOWN);
  EXPECT_EQ(subscriber.Latest("b").galen().code(), "NotReported");
}

TEST_F(HealthPublisherTest, TellsAChangeAtOnceToBothVersions) {
  publisher_.Start();
  FakeCaller caller = node_.Connect(kHealthSocket);
  FakeSubscriber kubelet(caller, "v1");
  FakeSubscriber old_kubelet(caller, "v1alpha1");
  Run(1s);
  link_down_ = true;
  publisher_.Changed();
  Run(0s);
  EXPECT_EQ(kubelet.Latest("a").health(), v1::UNHEALTHY);
  EXPECT_EQ(kubelet.Latest("a").message(), "QSFP link down");
  EXPECT_EQ(old_kubelet.Latest("a").health(), v1::UNHEALTHY);
}

TEST_F(HealthPublisherTest, MergesManyChangesIntoOneQuestion) {
  publisher_.Start();
  const int before = asked_;
  for (int i = 0; i < 1000; ++i) publisher_.Changed();
  Run(0s);
  EXPECT_EQ(asked_, before + 1);
}

TEST_F(HealthPublisherTest, SaysNothingNewWhileNothingChangesUntilHalfTheTimeout) {
  publisher_.Start();
  FakeCaller caller = node_.Connect(kHealthSocket);
  FakeSubscriber subscriber(caller, "v1");
  Run(14s);  // asked at 5 and 10 s
  EXPECT_EQ(subscriber.reports().size(), 1u);
  Run(1s);
  EXPECT_EQ(subscriber.reports().size(), 2u);  // half of 30 s
  EXPECT_GT(subscriber.Latest("a").last_updated_time(),
            subscriber.reports()[0].devices(0).last_updated_time());
}

TEST_F(HealthPublisherTest, ResendsWithinHalfOfTheShortestTimeout) {
  timeout_ = 4s;
  publisher_.Start();
  FakeCaller caller = node_.Connect(kHealthSocket);
  FakeSubscriber subscriber(caller, "v1");
  Run(10s);
  EXPECT_GE(subscriber.reports().size(), 5u);
  EXPECT_LE(subscriber.reports().size(), 7u);
}

// A probe that hangs stops the thread; what was due meanwhile must not refresh what it last said.
TEST_F(HealthPublisherTest, DoesNotRefreshWhatADeadProbeSaid) {
  publisher_.Start();
  FakeCaller caller = node_.Connect(kHealthSocket);
  FakeSubscriber subscriber(caller, "v1");
  Run(1s);
  // The loop stands still for a minute inside the probe, as if it hung.
  bool hung = false;
  std::size_t reports_while_hanging = 0;
  on_ask_ = [&] {
    if (std::exchange(hung, true)) return;
    node_.loop.Advance(60s);
    reports_while_hanging = subscriber.reports().size();
  };
  Run(5s);
  ASSERT_TRUE(hung);
  // Alive until three periods after its last answer, so at most one refresh (at 15 s).
  EXPECT_LE(reports_while_hanging, 2u);
}

TEST_F(HealthPublisherTest, ANewSubscriberHearsNothingOldFromADeadProbe) {
  publisher_.Start();
  FakeCaller caller = node_.Connect(kHealthSocket);
  bool hung = false;
  std::optional<FakeSubscriber> late;
  std::size_t reports_while_hanging = 99;
  on_ask_ = [&] {
    if (std::exchange(hung, true)) return;
    node_.loop.Advance(4 * 60s);
    late.emplace(caller, "v1");
    node_.loop.Advance(1s);
    reports_while_hanging = late->reports().size();
  };
  Run(5s);
  EXPECT_EQ(reports_while_hanging, 0u);
  Run(300s);
  EXPECT_GE(late->reports().size(), 1u) << "the answer after the hang is told";
}

TEST_F(HealthPublisherTest, ASubscriberThatDoesNotReadHurtsNobodyAndGetsTheNewest) {
  publisher_.Start();
  net::LinkWeather slow_weather;
  const auto slow_dialer = node_.network.MakeDialer(slow_weather);
  FakeCaller slow_caller(node_.loop, *slow_dialer, kHealthSocket);
  FakeSubscriber slow(slow_caller, "v1");
  FakeCaller caller = node_.Connect(kHealthSocket);
  FakeSubscriber quick(caller, "v1");
  Run(0s);
  slow_weather.stalled = true;
  for (int i = 0; i < 101; ++i) {
    link_down_ = !link_down_;
    publisher_.Changed();
    Run(1ms);
  }
  EXPECT_EQ(quick.reports().size(), 102u);
  slow_weather.stalled = false;
  Run(1s);
  EXPECT_LE(slow.reports().size(), 4u);
  EXPECT_EQ(slow.Latest("a").health(), v1::UNHEALTHY);
}

TEST_F(HealthPublisherTest, ForgetsSubscribersThatLeave) {
  publisher_.Start();
  {
    FakeCaller caller = node_.Connect(kHealthSocket);
    FakeSubscriber subscriber(caller, "v1");
    Run(0s);
    EXPECT_EQ(publisher_.subscribers(), 1u);
  }
  link_down_ = true;
  publisher_.Changed();
  Run(0s);
  EXPECT_EQ(publisher_.subscribers(), 0u);
}

TEST_F(HealthPublisherTest, EndsStreamsProperlyWhenItStops) {
  publisher_.Start();
  FakeCaller caller = node_.Connect(kHealthSocket);
  FakeSubscriber subscriber(caller, "v1");
  Run(0s);
  publisher_.Stop();
  Run(0s);
  EXPECT_EQ(subscriber.end(), OkStatus());
  const int asked = asked_;
  Run(60s);
  EXPECT_EQ(asked_, asked);
}

TEST_F(HealthPublisherTest, TooManySubscribersPushTheOldestOut) {
  publisher_.Start();
  FakeCaller caller = node_.Connect(kHealthSocket);
  FakeSubscriber first(caller, "v1");
  std::vector<std::unique_ptr<FakeSubscriber>> rest;
  for (std::size_t i = 0; i < HealthPublisher::kSubscribersMax; ++i) {
    rest.push_back(std::make_unique<FakeSubscriber>(caller, "v1"));
  }
  Run(0s);
  EXPECT_EQ(publisher_.subscribers(), HealthPublisher::kSubscribersMax);
  ASSERT_TRUE(first.end().has_value());
  EXPECT_EQ(first.end()->code(), Code::kResourceExhausted);
}

TEST_F(HealthPublisherTest, ANewInventoryIsToldAtOnce) {
  publisher_.Start();
  FakeCaller caller = node_.Connect(kHealthSocket);
  FakeSubscriber subscriber(caller, "v1");
  Run(0s);
  publisher_.SetInventory({{.name = "a"}});
  Run(0s);
  EXPECT_EQ(subscriber.reports().back().devices_size(), 1);
}

TEST_F(HealthPublisherTest, AfterEachRoundTheSnapshotIsWhatItFound) {
  std::vector<HealthState> seen;
  publisher_.OnRound([&] { seen.push_back(publisher_.snapshot().at("a").health.state); });
  publisher_.Start();
  link_down_ = true;
  publisher_.Changed();
  Run(0s);
  EXPECT_EQ(seen, (std::vector{HealthState::kHealthy, HealthState::kUnhealthy}));
}

TEST_F(HealthPublisherTest, AStrangersNameIsToldOnceAndLeftOut) {
  stranger_ = "z";
  publisher_.Start();
  Run(60s);
  EXPECT_EQ(lines_.size(), 1u);
  EXPECT_THAT(lines_.at(0), ::testing::HasSubstr("device=z"));
  EXPECT_EQ(publisher_.snapshot().size(), 2u);
}

TEST_F(HealthPublisherTest, CountsEachDeviceInItsPresentState) {
  publisher_.Start();
  const auto value = [this](std::string_view state) {
    return node_.metrics.Value(
        "galen_device_state",
        {{"driver", "fpga.example.com"}, {"pool", "node-7"}, {"device", "a"}, {"state", state}});
  };
  EXPECT_EQ(value("Healthy"), 1);
  link_down_ = true;
  publisher_.Changed();
  Run(0s);
  EXPECT_EQ(value("Healthy"), 0);
  EXPECT_EQ(value("Unhealthy"), 1);
}

TEST_F(HealthPublisherTest, WhoComesWhileTheProbeHangsGetsItsNextAnswerThoughItSaysTheSame) {
  publisher_.Start();
  FakeCaller caller = node_.Connect(kHealthSocket);
  bool hung = false;
  std::optional<FakeSubscriber> late;
  on_ask_ = [&] {
    if (std::exchange(hung, true)) return;
    node_.loop.Advance(15s);  // the last answer was sent again at 15 s, and is dead from then on
    late.emplace(caller, "v1");
    node_.loop.Advance(1s);
  };
  Run(5s);
  ASSERT_TRUE(late);
  Run(17s);
  Run(1s);
  EXPECT_EQ(late->reports().size(), 1u);
}

}  // namespace
}  // namespace galen::sdk
