// The weather of the fake network; what holds in any weather is in http_contract_test.
#include "net/fake_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "base/loop/fake_loop.h"
#include "net/fake_keeping_handler.h"
#include "net/fake_recording_sink.h"

namespace galen::net {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class FakeLinkTest : public ::testing::Test {
 protected:
  FakeLinkTest() { network_.Listen("unix:/s", handler_); }

  void Dial(DialOptions options = {.target = "unix:/s"}) {
    dialling_ = dialer_->Dial(std::move(options), [this](auto result) {
      dialled_ = result.status();
      if (!result.ok()) return;
      connection_ = *std::move(result);
      connection_->OnClosed([this](const Status& why) { closed_ = why; });
    });
  }
  void Connect(DialOptions options = {.target = "unix:/s"}) {
    Dial(std::move(options));
    loop_.Advance(1s);
    ASSERT_NE(connection_, nullptr);
  }

  FakeLoop loop_;
  Random random_{1};
  KeepingHandler handler_;
  RecordingSink sink_;
  LinkWeather weather_;
  FakeNetwork network_{loop_, random_};
  const std::unique_ptr<Dialer> dialer_ = network_.MakeDialer(weather_);
  std::unique_ptr<Dialling> dialling_;
  std::unique_ptr<Connection> connection_;
  Status dialled_ = Unavailable("not yet");
  Status closed_;
};

TEST_F(FakeLinkTest, EachWayTakesItsDelay) {
  weather_ = {.delay_least = 10ms, .delay_most = 10ms};
  Dial();
  loop_.Advance(19ms);
  EXPECT_EQ(connection_, nullptr);
  loop_.Advance(1ms);
  ASSERT_NE(connection_, nullptr);
  const auto call = connection_->Send({.path = "/"}, sink_);
  loop_.Advance(9ms);
  EXPECT_TRUE(handler_.exchanges.empty());
  loop_.Advance(1ms);
  ASSERT_EQ(handler_.exchanges.size(), 1U);
  Respond(*handler_.exchanges[0], 200, "text/plain", "x");
  loop_.Advance(9ms);
  EXPECT_FALSE(sink_.ended());
  loop_.Advance(1ms);
  EXPECT_TRUE(sink_.ended());
}

TEST_F(FakeLinkTest, LinkThatGoesDownEndsWhatIsOpenAndRefusesDials) {
  Connect();
  const auto call = connection_->Send({.path = "/"}, sink_);
  loop_.Advance(1s);
  bool gone = false;
  handler_.exchanges.at(0)->OnGone([&] { gone = true; });
  weather_.down = true;
  loop_.Advance(200ms);
  EXPECT_EQ(sink_.end().code(), Code::kUnavailable);
  EXPECT_EQ(closed_.code(), Code::kUnavailable);
  EXPECT_TRUE(gone);
  connection_.reset();
  Dial();
  loop_.Advance(1s);
  EXPECT_EQ(dialled_.code(), Code::kUnavailable);
  weather_.down = false;
  Connect();
}

TEST_F(FakeLinkTest, StalledLinkHoldsEverythingBackUntilItClears) {
  Connect();
  const auto call = connection_->Send({.path = "/"}, sink_);
  weather_.stalled = true;
  loop_.Advance(1h);
  EXPECT_TRUE(handler_.exchanges.empty());
  EXPECT_TRUE(connection_->usable());
  weather_.stalled = false;
  loop_.Advance(200ms);
  EXPECT_EQ(handler_.exchanges.size(), 1U);
}

TEST_F(FakeLinkTest, StalledLinkIsGivenUpWhenPingsAreAskedFor) {
  Connect({.target = "unix:/s", .ping_after = 10s});
  weather_.stalled = true;
  loop_.Advance(19s);
  EXPECT_TRUE(closed_.ok());
  loop_.Advance(2s);
  EXPECT_EQ(closed_.code(), Code::kUnavailable);
  EXPECT_THAT(closed_.message(), HasSubstr("PING"));
}

TEST_F(FakeLinkTest, DialThroughAStalledLinkRunsIntoItsTimeLimit) {
  weather_.stalled = true;
  Dial({.target = "unix:/s", .connect_timeout = 5s});
  loop_.Advance(4s);
  EXPECT_EQ(dialled_.message(), "not yet");
  loop_.Advance(1s);
  EXPECT_EQ(dialled_.code(), Code::kDeadlineExceeded);
}

TEST_F(FakeLinkTest, CallsFailAsOftenAsTheWeatherSays) {
  Connect();
  weather_.call_failure = 0.25;
  std::vector<RecordingSink> sinks(1000);
  std::vector<std::unique_ptr<HttpCall>> calls;
  for (RecordingSink& sink : sinks) calls.push_back(connection_->Send({.path = "/"}, sink));
  loop_.Advance(1s);
  const auto failed = std::count_if(sinks.begin(), sinks.end(),
                                    [](const RecordingSink& sink) { return sink.ended(); });
  EXPECT_GT(failed, 200);
  EXPECT_LT(failed, 300);
  EXPECT_EQ(handler_.exchanges.size(), 1000U - static_cast<std::size_t>(failed));
  EXPECT_TRUE(connection_->usable());
}

TEST_F(FakeLinkTest, CutEndsConnectionsButNotTheListener) {
  Connect();
  network_.Cut("unix:/s");
  EXPECT_TRUE(closed_.ok());  // in the next turn, as a reset would come
  loop_.RunUntilIdle();
  EXPECT_EQ(closed_.code(), Code::kUnavailable);
  connection_.reset();
  Connect();
}

TEST_F(FakeLinkTest, CutLeavesOtherPlacesAlone) {
  network_.Listen("unix:/other", handler_);
  Connect();
  network_.Cut("unix:/other");
  loop_.Advance(1s);
  EXPECT_TRUE(connection_->usable());
}

TEST_F(FakeLinkTest, HandlerHearsNothingOnceNobodyListens) {
  Connect();
  const auto call = connection_->Send({.path = "/"}, sink_);
  network_.StopListening("unix:/s");
  EXPECT_FALSE(network_.listening("unix:/s"));
  loop_.Advance(1s);
  EXPECT_TRUE(handler_.exchanges.empty());
  EXPECT_EQ(sink_.end().code(), Code::kUnavailable);
}

TEST_F(FakeLinkTest, OnlyUnixPlacesKnowTheirCallers) {
  network_.Listen("tcp:10.0.0.1:443", handler_);
  Connect({.target = "tcp:10.0.0.1:443"});
  const auto call = connection_->Send({.path = "/"}, sink_);
  loop_.Advance(1s);
  EXPECT_FALSE(handler_.exchanges.at(0)->peer().has_value());
}

TEST_F(FakeLinkTest, IdleConnectionsDoNotKeepTheLoopBusy) {
  Connect();
  loop_.Advance(10h);  // fails the process past a million steps
  EXPECT_TRUE(connection_->usable());
}

}  // namespace
}  // namespace galen::net
