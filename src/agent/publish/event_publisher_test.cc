#include "agent/publish/event_publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "agent/agent_metrics.h"
#include "base/loop/fake_loop.h"
#include "kube/fake_transport.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAreArray;

const DeviceId kEventGpu{"gpu.example.com", "node-1", "gpu-0"};
const PodRef kPod{{"train", "trainer-0"}, "uid-1"};

DeviceHealth Health(HealthState state, const std::string& code = "", const std::string& text = "") {
  return {.id = kEventGpu, .state = state, .cause = {.code = code, .message = text}};
}

TEST(EventOf, EachTransitionHasItsReason) {
  const DeviceHealth well = Health(HealthState::kHealthy);
  const DeviceHealth lost = Health(HealthState::kUnhealthy, "XidGpuLost", "XID 79");
  const auto bad = EventOf({well, lost});
  ASSERT_TRUE(bad);
  EXPECT_TRUE(bad->warning);
  EXPECT_EQ(bad->reason, EventReason::kDeviceUnhealthy);
  EXPECT_EQ(bad->message, "gpu-0 Unhealthy: XID 79");
  EXPECT_EQ(EventOf({well, Health(HealthState::kDegraded, "X")})->reason,
            EventReason::kDeviceDegraded);
  EXPECT_EQ(EventOf({well, Health(HealthState::kUnknown, "DriverGone")})->reason,
            EventReason::kDeviceUnknown);
  const auto good = EventOf({lost, well});
  EXPECT_FALSE(good->warning);
  EXPECT_EQ(good->reason, EventReason::kDeviceRecovered);
  EXPECT_THAT(good->message, HasSubstr("was Unhealthy"));
}

// The reasons that a manifest's policy lets an agent write.
std::vector<std::string> ReasonsIn(const std::string& manifest) {
  std::ifstream file(GALEN_SOURCE_DIR "/" + manifest);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::string_view list = "e.?reason.orValue(\"\") in";
  const std::size_t from = text.find(list);
  EXPECT_NE(from, std::string::npos) << manifest << " has no list of reasons";
  if (from == std::string::npos) return {};
  std::vector<std::string> reasons;
  std::size_t at = from + list.size();
  const std::size_t end = text.find(']', at);
  while ((at = text.find('"', at)) < end) {
    const std::size_t close = text.find('"', at + 1);
    reasons.push_back(text.substr(at + 1, close - at - 1));
    at = close + 1;
  }
  return reasons;
}

TEST(EventReason, EachMayBeWrittenByTheManifestsOfItsRole) {
  std::vector<std::string> observer, manager;
  for (int i = 0; i <= static_cast<int>(kLastEventReason); ++i) {
    const auto reason = static_cast<EventReason>(i);
    manager.emplace_back(ToString(reason));
    if (reason < kFirstManagerReason) observer.emplace_back(ToString(reason));
  }
  EXPECT_THAT(ReasonsIn("deploy/galen.yaml"), UnorderedElementsAreArray(observer));
  EXPECT_THAT(ReasonsIn("deploy/examples/manager.yaml"), UnorderedElementsAreArray(manager));
}

TEST(EventOf, TheFirstReportOfADeviceThatIsWellAndASentenceThatMovesAreNone) {
  const DeviceHealth first = Health(HealthState::kUnknown, "NotReported");
  EXPECT_FALSE(EventOf({first, Health(HealthState::kHealthy)}));
  EXPECT_TRUE(EventOf({first, Health(HealthState::kUnhealthy, "X")}));
  EXPECT_FALSE(EventOf({Health(HealthState::kUnhealthy, "TemperatureHigh", "91 °C"),
                        Health(HealthState::kUnhealthy, "TemperatureHigh", "92 °C")}));
  EXPECT_TRUE(EventOf({Health(HealthState::kUnhealthy, "TemperatureHigh"),
                       Health(HealthState::kUnhealthy, "XidGpuLost")}));
}

TEST(EventOf, AProgramsFaultOnADeviceThatStaysWellIsNone) {
  EXPECT_FALSE(
      EventOf({Health(HealthState::kHealthy), Health(HealthState::kHealthy, "XidPageFault")}));
  EXPECT_FALSE(
      EventOf({Health(HealthState::kHealthy, "XidPageFault"), Health(HealthState::kHealthy)}));
}

TEST(EventOfAssignment, WarnsOfADeviceThatIsNotWellWhenAPodGetsIt) {
  const auto lost = EventOfAssignment(Health(HealthState::kUnhealthy, "XidGpuLost", "XID 79"));
  ASSERT_TRUE(lost);
  EXPECT_TRUE(lost->warning);
  EXPECT_EQ(lost->reason, EventReason::kDeviceUnhealthy);
  EXPECT_EQ(lost->message, "This Pod was given gpu-0: Unhealthy: XID 79");
  EXPECT_EQ(EventOfAssignment(Health(HealthState::kUnknown, "DriverGone"))->reason,
            EventReason::kDeviceUnknown);
  EXPECT_EQ(EventOfAssignment(Health(HealthState::kDegraded, "X"))->reason,
            EventReason::kDeviceDegraded);
  EXPECT_FALSE(EventOfAssignment(Health(HealthState::kHealthy)));
  EXPECT_FALSE(EventOfAssignment(Health(HealthState::kUnknown, "NotReported")))
      << "its driver has no health";
}

class EventPublisherTest : public ::testing::Test {
 protected:
  EventPublisherTest() {
    metric::Declare(metrics_);
    api_.AnswerBy([this](const net::HttpRequest& request) {
      return kube::FakeTransport::Answer{
          .status = request.method == "POST" ? create_status_ : status_, .body = body_};
    });
  }
  Json Body(std::size_t i) { return Json::Parse(api_.requests().at(i).body).value(); }

  FakeLoop loop_;
  Random random_{1};
  Metrics metrics_;
  kube::FakeTransport api_{loop_};
  kube::Client client_{loop_, api_};
  int create_status_ = 201;
  int status_ = 200;
  std::string body_ = "{}";
  std::vector<std::string> lines_;  // of the log
  Log log_{LogLevel::kInfo, [this] { return loop_.WallNow(); },
           [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }};
  EventPublisher events_{{loop_, random_, log_, metrics_, client_}, "node-1"};
  const EventText text_{true, EventReason::kDeviceUnhealthy, "gpu-0 Unhealthy: XID 79"};
};

TEST_F(EventPublisherTest, WritesAnEventAboutThePod) {
  events_.Publish(kPod, "gpu-0", text_);
  loop_.Advance(10ms);
  ASSERT_THAT(api_.requests(), SizeIs(1));
  EXPECT_EQ(api_.last(), "POST /api/v1/namespaces/train/events");
  const Json event = Body(0);
  EXPECT_EQ(event["involvedObject"]["uid"].AsString(), "uid-1");
  EXPECT_EQ(event["reason"].AsString(), "DeviceUnhealthy");
  EXPECT_EQ(event["type"].AsString(), "Warning");
  EXPECT_EQ(event["source"]["host"].AsString(), "node-1");
}

TEST_F(EventPublisherTest, AFlappingDeviceIsOneEventWithACount) {
  for (int i = 0; i < 1000; ++i) {
    events_.Publish(kPod, "gpu-0", text_);
    loop_.Advance(10ms);
  }
  EXPECT_LE(api_.requests().size(), 6u);
  loop_.Advance(2min);
  EXPECT_EQ(Body(api_.requests().size() - 1)["count"].AsInt(), 1000);
  EXPECT_EQ(api_.requests().back().method, "PATCH");
}

TEST_F(EventPublisherTest, DevicesAndReasonsHaveEventsOfTheirOwn) {
  events_.Publish(kPod, "gpu-0", text_);
  events_.Publish(kPod, "gpu-1", text_);
  events_.Publish(kPod, "gpu-0", {false, EventReason::kDeviceRecovered, "gpu-0 Healthy"});
  loop_.Advance(10ms);
  EXPECT_THAT(api_.requests(), SizeIs(3));
}

TEST_F(EventPublisherTest, WhatAServerThatIsAwayMissesIsWrittenMerged) {
  create_status_ = 503;
  for (int i = 0; i < 5; ++i) {
    events_.Publish(kPod, "gpu-0", text_);
    loop_.Advance(30s);
  }
  EXPECT_LE(api_.requests().size(), 14u);
  create_status_ = 201;
  loop_.Advance(61s);
  EXPECT_EQ(api_.requests().back().method, "POST");
  EXPECT_EQ(Body(api_.requests().size() - 1)["count"].AsInt(), 5);
}

TEST_F(EventPublisherTest, SaysWhenTheServerHasItAndNotBefore) {
  int written = 0;
  create_status_ = 503;
  events_.Publish(kPod, "gpu-0", text_, [&](bool ok) { written += ok ? 1 : 0; });
  loop_.Advance(10s);
  EXPECT_EQ(written, 0);
  EXPECT_FALSE(events_.idle());
  create_status_ = 201;
  loop_.Advance(61s);
  EXPECT_EQ(written, 1);
  EXPECT_TRUE(events_.idle());
}

TEST_F(EventPublisherTest, AnAgentThatEndsGathersNothing) {
  events_.Publish(kPod, "gpu-0", text_);
  loop_.RunUntilIdle();
  events_.Publish(kPod, "gpu-0", text_);
  loop_.RunUntilIdle();
  EXPECT_FALSE(events_.idle()) << "the second waits for more of its kind";
  events_.Flush();
  loop_.RunUntilIdle();
  EXPECT_TRUE(events_.idle());
  EXPECT_EQ(Body(1)["count"].AsInt(), 2);
}

TEST_F(EventPublisherTest, AnEventOfTheAgentBeforeIsCountedUp) {
  create_status_ = 409;
  body_ = R"({"kind": "Status", "reason": "AlreadyExists", "message": "there"})";
  events_.Publish(kPod, "gpu-0", text_);
  api_.AnswerBy([](const net::HttpRequest& request) {
    if (request.method == "POST") {
      return kube::FakeTransport::Answer{
          .status = 409,
          .body = R"({"kind": "Status", "reason": "AlreadyExists", "message": "x"})"};
    }
    return kube::FakeTransport::Answer{
        .body = R"({"metadata": {"name": "e", "namespace": "train", "uid": "e1"}, "count": 7,
                    "firstTimestamp": "2026-11-21T13:00:00Z"})"};
  });
  loop_.Advance(2s);
  ASSERT_EQ(api_.requests().back().method, "PATCH");
  EXPECT_EQ(Body(api_.requests().size() - 1)["count"].AsInt(), 8);
}

TEST_F(EventPublisherTest, AnEventWhoseAnswerWasLostIsCountedOnce) {
  // Made, and the stream broke before the answer; what the server took comes back when asked for.
  std::string stored;
  api_.AnswerBy([&](const net::HttpRequest& request) {
    if (request.method != "POST") return kube::FakeTransport::Answer{.body = stored};
    if (stored.empty()) {
      Json object = Json::Parse(request.body).value();
      object["metadata"]["uid"] = "e1";
      stored = object.Dump();
      return kube::FakeTransport::Answer{
          .status = 503, .body = R"({"kind": "Status", "reason": "ServiceUnavailable"})"};
    }
    return kube::FakeTransport::Answer{.status = 409,
                                       .body = R"({"kind": "Status", "reason": "AlreadyExists"})"};
  });
  events_.Publish(kPod, "gpu-0", text_);
  loop_.Advance(2min);
  EXPECT_EQ(api_.requests().back().method, "GET");
  // The next one counts on from there.
  events_.Publish(kPod, "gpu-0", text_);
  loop_.Advance(2min);
  ASSERT_EQ(api_.requests().back().method, "PATCH");
  EXPECT_EQ(Body(api_.requests().size() - 1)["count"].AsInt(), 2);
}

// As after an agent that ended when the Event was written and its journal was not.
class EventOfTheAgentBefore : public EventPublisherTest {
 protected:
  // The count of the Event in the end, after this agent published `text` `times` times.
  std::int64_t CountAfter(const EventText& text, int times = 1) {
    Json stored =
        kube::EncodeEvent({.message = before_, .count = 7, .first = loop_.WallNow() - 1h});
    stored["metadata"] = Json::MakeObject({{"name", "e"}, {"namespace", "train"}, {"uid", "e1"}});
    api_.AnswerBy([&](const net::HttpRequest& request) {
      if (request.method == "POST") {
        return kube::FakeTransport::Answer{
            .status = 409,
            .body = R"({"kind": "Status", "reason": "AlreadyExists", "message": "x"})"};
      }
      if (request.method == "PATCH") stored["count"] = *Json::Parse(request.body)->Find("count");
      return kube::FakeTransport::Answer{.body = stored.Dump()};
    });
    for (int i = 0; i < times; ++i) {
      events_.Publish(kPod, "gpu-0", text);
      loop_.Advance(2min);
    }
    return stored["count"].AsInt();
  }

  const std::string before_ = "gpu-0 Unhealthy since 2026-11-21T14:02:11Z: XID 79";
};

TEST_F(EventOfTheAgentBefore, IsNotCountedUpForTheSameHappening) {
  const EventText same{true, EventReason::kDeviceUnhealthy, before_, KnownBy::kMessage};
  EXPECT_EQ(CountAfter(same), 7);
}

TEST_F(EventOfTheAgentBefore, IsCountedUpForWhatThisAgentSawAfterIt) {
  const EventText same{true, EventReason::kDeviceUnhealthy, before_, KnownBy::kMessage};
  EXPECT_EQ(CountAfter(same, 3), 9);
}

TEST_F(EventOfTheAgentBefore, IsCountedUpForAnotherHappening) {
  const EventText other{true, EventReason::kDeviceUnhealthy,
                        "gpu-0 Unhealthy since 2026-11-21T15:02:11Z: XID 79", KnownBy::kMessage};
  EXPECT_EQ(CountAfter(other), 8);
}

TEST_F(EventOfTheAgentBefore, IsCountedUpWhereNoMessageHasATime) {
  EXPECT_EQ(CountAfter({true, EventReason::kFailedPrepare, before_}), 8);
}

TEST_F(EventOfTheAgentBefore, IsTheOnlyOneOfARecord) {
  EXPECT_EQ(CountAfter({true, EventReason::kPostMortem, "in other words", KnownBy::kSubject}), 7);
}

TEST(EventOf, AnEventIsKnownByItsMessageWhereThatHasATime) {
  DeviceHealth well = Health(HealthState::kHealthy), lost = Health(HealthState::kUnhealthy, "X");
  EXPECT_EQ(EventOf({well, lost})->known_by, KnownBy::kNothing);
  lost.since = WallTime(1s);
  EXPECT_EQ(EventOf({well, lost})->known_by, KnownBy::kMessage);
  EXPECT_EQ(EventOf({lost, well})->known_by, KnownBy::kMessage) << "it has when the trouble began";
  EXPECT_EQ(EventOfAssignment(lost)->known_by, KnownBy::kMessage);
}

TEST_F(EventPublisherTest, AnEventThatTheServerLetGoOfIsMadeAgain) {
  events_.Publish(kPod, "gpu-0", text_);
  loop_.Advance(10s);
  status_ = 404;
  events_.Publish(kPod, "gpu-0", text_);
  loop_.Advance(10s);
  EXPECT_EQ(api_.requests().back().method, "POST");
}

TEST_F(EventPublisherTest, ANamespaceThatTakesNoneIsNotAskedForEver) {
  create_status_ = 403;
  events_.Publish(kPod, "gpu-0", text_);
  loop_.Advance(1h);
  EXPECT_THAT(api_.requests(), SizeIs(1));
}

TEST_F(EventPublisherTest, RefusalsAreOneLineUntilAnEventIsTaken) {
  const auto publish = [&](const std::string& device) {
    events_.Publish(kPod, device, text_);
    loop_.Advance(1s);
  };
  create_status_ = 403;
  publish("gpu-0");
  publish("gpu-1");
  EXPECT_THAT(lines_, SizeIs(1));
  create_status_ = 201;
  publish("gpu-2");
  create_status_ = 403;
  publish("gpu-3");
  EXPECT_THAT(lines_, SizeIs(2));
}

TEST_F(EventPublisherTest, OfAPodThatIsGoneNothingIsRememberedOnceItIsWritten) {
  events_.Publish(kPod, "gpu-0", text_);
  events_.Forget(kPod);
  EXPECT_EQ(events_.remembered(), 1u) << "it is still to be written";
  loop_.RunUntilIdle();
  EXPECT_THAT(api_.requests(), SizeIs(1));
  EXPECT_EQ(events_.remembered(), 0u);
  events_.Publish(kPod, "gpu-1", text_);
  loop_.RunUntilIdle();
  EXPECT_EQ(events_.remembered(), 1u) << "nobody said that this one is gone";
  events_.Forget(kPod);
  EXPECT_EQ(events_.remembered(), 0u);
  EXPECT_THAT(api_.requests(), SizeIs(2));
}

// Its answer would be taken for that of the series made anew, and lower the count.
TEST_F(EventPublisherTest, ASeriesThatIsBeingWrittenIsNotLetGoToMakeRoom) {
  bool answers = false;
  api_.AnswerBy([&](const net::HttpRequest&) -> std::optional<kube::FakeTransport::Answer> {
    if (!std::exchange(answers, true)) return std::nullopt;
    return kube::FakeTransport::Answer{.status = 201, .body = "{}"};
  });
  for (int i = 0; i < 5; ++i) events_.Publish(kPod, "gpu-0", text_);
  loop_.RunUntilIdle();
  for (std::size_t i = 0; i < EventPublisher::kSeriesMax; ++i) {
    loop_.Advance(1ms);
    events_.Publish(kPod, "other-" + std::to_string(i), text_);
  }
  events_.Publish(kPod, "gpu-0", text_);
  api_.Head(0, 201);
  api_.Data(0, "{}");
  api_.End(0);
  loop_.Advance(1min);
  EXPECT_EQ(api_.requests().back().method, "PATCH");
  EXPECT_EQ(Body(api_.requests().size() - 1)["count"].AsInt(), 6);
}

TEST_F(EventPublisherTest, WhoWaitsForAnEventLearnsThatItWasLetGo) {
  std::vector<bool> ends;
  const auto publish = [&](std::size_t i, bool waits) {
    events_.Publish(
        kPod, "gpu-" + std::to_string(i), text_,
        waits ? [&](bool written) { ends.push_back(written); } : EventPublisher::OnEnd());
  };
  publish(0, true);
  for (std::size_t i = 1; i < EventPublisher::kSeriesMax + 1; ++i) publish(i, false);
  EXPECT_TRUE(ends.empty()) << "it is let go last";
  for (std::size_t i = 0; i < EventPublisher::kSeriesMax; ++i) publish(i + 2000, true);
  EXPECT_EQ(ends, std::vector<bool>{false});
}

TEST_F(EventPublisherTest, RemembersSoManySeriesAndNoMore) {
  for (std::size_t i = 0; i < EventPublisher::kSeriesMax + 10; ++i) {
    events_.Publish(kPod, "gpu-" + std::to_string(i), text_);
    loop_.Advance(1ms);
  }
  loop_.Advance(1s);
  EXPECT_THAT(api_.requests(), SizeIs(EventPublisher::kSeriesMax + 10));
}

}  // namespace
}  // namespace galen::agent
