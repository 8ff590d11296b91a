#include "tests/sim/api_gate.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "api_sim/serving/local_transport.h"
#include "base/loop/fake_loop.h"
#include "net/fake_recording_sink.h"

namespace galen::sim {
namespace {

using namespace std::chrono_literals;

// Answers each request at once, and keeps watches, as the embedded API does.
class Api final : public net::HttpHandler {
 public:
  void Handle(std::unique_ptr<net::HttpExchange> exchange) override {
    ++requests;
    exchange->Head(200, {});
    if (exchange->request().path.find("watch=1") == std::string::npos) {
      exchange->Write("{\"metadata\":{\"resourceVersion\":\"" + version + "\"}}");
      return exchange->End();
    }
    exchange->OnGone([this] { watch.reset(); });
    watch = std::move(exchange);
  }

  int requests = 0;
  std::string version = "1";
  std::unique_ptr<net::HttpExchange> watch;
};

class Gate : public testing::Test {
 protected:
  void Spoil(void (*how)(GateWeather&)) {
    GateWeather weather;
    how(weather);
    gate.SetWeather(weather);
  }
  std::unique_ptr<net::HttpCall> Send(const std::string& method, const std::string& path) {
    auto call = client.Send({.method = method, .path = path, .headers = {}, .body = "{}"}, sink);
    loop.Advance(1ms);
    return call;
  }
  void SendEvent(const std::string& event) {
    api.watch->Write(event);
    loop.Advance(1ms);
  }

  FakeLoop loop;
  Random random{1};
  Api api;
  ApiGate gate{loop, random, api};
  api_sim::LocalTransport client{loop, gate};
  net::RecordingSink sink;
};

TEST_F(Gate, LetsEverythingPassInGoodWeather) {
  const auto call = Send("GET", "/api/v1/pods/a");
  EXPECT_EQ(sink.status(), 200);
  EXPECT_EQ(VersionIn(sink.body()), "1");
  EXPECT_FALSE(gate.doubtful());
}

TEST_F(Gate, RequestsThatWaitArriveWhenItClearsIfTheirSenderStillWaits) {
  Spoil([](GateWeather& weather) { weather.requests_wait = true; });
  auto call = Send("GET", "/api/v1/pods/a");
  EXPECT_EQ(api.requests, 0);
  Spoil([](GateWeather&) {});
  loop.Advance(1ms);
  EXPECT_EQ(sink.status(), 200);
  Spoil([](GateWeather& weather) { weather.requests_wait = true; });
  net::RecordingSink another;
  call = client.Send({.method = "GET", .path = "/b", .headers = {}, .body = {}}, another);
  loop.Advance(1ms);
  call.reset();
  loop.Advance(1ms);
  Spoil([](GateWeather&) {});
  loop.Advance(1ms);
  EXPECT_EQ(api.requests, 1);
}

TEST_F(Gate, AnswersThatWaitAreOfRequestsThatTookEffect) {
  Spoil([](GateWeather& weather) { weather.answers_wait = true; });
  const auto call = Send("PATCH", "/api/v1/namespaces/n/pods/a/status");
  EXPECT_EQ(api.requests, 1);
  EXPECT_EQ(sink.status(), 0);
  Spoil([](GateWeather&) {});
  loop.Advance(1ms);
  EXPECT_EQ(sink.status(), 200);
}

TEST_F(Gate, RefusesWithAStatusAndConflictsOnlyWrites) {
  Spoil([](GateWeather& weather) {
    weather.refuse_with = 409;
    weather.refuse_chance = 1;
  });
  const auto get = Send("GET", "/api/v1/pods/a");
  EXPECT_EQ(sink.status(), 200);
  net::RecordingSink refused;
  const auto write =
      client.Send({.method = "PUT", .path = "/a", .headers = {}, .body = "{}"}, refused);
  loop.Advance(1ms);
  EXPECT_EQ(refused.status(), 409);
  EXPECT_NE(refused.body().find("Conflict"), std::string::npos);
}

TEST_F(Gate, AWriteWhoseAnswerIsLostTookEffect) {
  Spoil([](GateWeather& weather) { weather.lost_answer_chance = 1; });
  const auto call = Send("PATCH", "/api/v1/namespaces/n/pods/a/status");
  EXPECT_EQ(api.requests, 1);
  EXPECT_EQ(sink.status(), 0);
  ASSERT_TRUE(sink.ended());
  EXPECT_FALSE(sink.end().ok());
}

TEST_F(Gate, EventsComeTwiceOrLateButInOrder) {
  const auto call = Send("GET", "/api/v1/pods?watch=1");
  Spoil([](GateWeather& weather) { weather.events_twice = true; });
  SendEvent("a\n");
  EXPECT_EQ(sink.body(), "a\na\n");
  Spoil([](GateWeather& weather) { weather.watch_delay_most = 5s; });
  SendEvent("b\n");
  SendEvent("c\n");
  loop.Advance(6s);
  EXPECT_EQ(sink.body(), "a\na\nb\nc\n");
}

TEST_F(Gate, AWatchThatExpiresGets410AndTheServerSeesThatItsReaderIsGone) {
  const auto call = Send("GET", "/api/v1/pods?watch=1");
  gate.ExpireWatches();
  loop.Advance(1ms);
  EXPECT_NE(sink.body().find("\"code\":410"), std::string::npos);
  ASSERT_TRUE(sink.ended());
  EXPECT_TRUE(sink.end().ok());
  EXPECT_EQ(api.watch, nullptr);
}

TEST_F(Gate, KnowsAWriteThatChangedNothing) {
  std::vector<bool> changed;
  gate.OnWrite([&](const ApiGate::Write& write) { changed.push_back(write.changed); });
  auto call = Send("PATCH", "/api/v1/namespaces/n/pods/a/status");
  call = Send("PATCH", "/api/v1/namespaces/n/pods/a/status");
  api.version = "2";
  call = Send("PATCH", "/api/v1/namespaces/n/pods/a/status");
  EXPECT_EQ(changed, (std::vector{true, false, true}));
}

}  // namespace
}  // namespace galen::sim
