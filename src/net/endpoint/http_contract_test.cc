// What both ends of a connection may rely on, whatever is between them: run against real sockets
// and against the fake network, so that tests above may trust the fake.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "net/endpoint/test_contract_world.h"
#include "net/fake_keeping_handler.h"
#include "net/fake_recording_sink.h"

namespace galen::net {
namespace {

using ::testing::HasSubstr;

class HttpContract : public ::testing::TestWithParam<ContractWorld::Kind> {
 protected:
  HttpContract() { world_->Listen(handler_); }

  // Waits until the server has `count` requests, and gives the last.
  HttpExchange& Arrived(std::size_t count = 1) {
    world_->RunUntil([&] { return handler_.exchanges.size() >= count; });
    return *handler_.exchanges.back();
  }

  const std::unique_ptr<ContractWorld> world_ = ContractWorld::Make(GetParam());
  KeepingHandler handler_;
  RecordingSink sink_;
};

TEST_P(HttpContract, RequestArrivesWholeAndItsAnswerComesBack) {
  const auto connection = world_->Connect();
  const auto call = connection->Send(
      {.method = "POST", .path = "/a?b=c", .headers = {{"x-one", "1"}}, .body = "hello"}, sink_);
  HttpExchange& exchange = Arrived();
  EXPECT_EQ(exchange.request().method, "POST");
  EXPECT_EQ(exchange.request().path, "/a?b=c");
  EXPECT_EQ(exchange.request().body, "hello");
  EXPECT_EQ(FindHeader(exchange.request().headers, "x-one"), "1");
  EXPECT_EQ(FindHeader(exchange.request().headers, "host"), "localhost");
  Respond(exchange, 201, "text/plain", "made");
  world_->RunUntil([&] { return sink_.ended(); });
  EXPECT_EQ(sink_.status(), 201);
  EXPECT_EQ(FindHeader(sink_.headers(), "content-type"), "text/plain");
  EXPECT_EQ(sink_.body(), "made");
  EXPECT_TRUE(sink_.end().ok());
}

TEST_P(HttpContract, BodiesOfMegabytesArriveUnharmedBothWays) {
  std::string big(3'000'000, 'x');
  for (std::size_t i = 0; i < big.size(); i += 977) big[i] = static_cast<char>('a' + i % 26);
  const auto connection = world_->Connect();
  const auto call = connection->Send({.method = "PUT", .path = "/", .body = big}, sink_);
  HttpExchange& exchange = Arrived();
  EXPECT_TRUE(exchange.request().body == big);
  Respond(exchange, 200, "text/plain", big);
  world_->RunUntil([&] { return sink_.ended(); });
  EXPECT_TRUE(sink_.body() == big);
}

TEST_P(HttpContract, PiecesOfAnAnswerComeAsTheyAreWritten) {
  const auto connection = world_->Connect();
  const auto call = connection->Send({.path = "/watch"}, sink_);
  HttpExchange& exchange = Arrived();
  exchange.Head(200, {});
  world_->RunUntil([&] { return sink_.status() == 200; });
  exchange.Write("one");
  world_->RunUntil([&] { return sink_.body() == "one"; });
  exchange.Write("two");
  world_->RunUntil([&] { return sink_.body() == "onetwo"; });
  EXPECT_FALSE(sink_.ended());
  exchange.End();
  world_->RunUntil([&] { return sink_.ended(); });
  EXPECT_TRUE(sink_.end().ok());
}

TEST_P(HttpContract, PacedAnswerComesAsFarAsItIsTaken) {
  const std::string big(3'000'000, 'x');
  const std::size_t window = DialOptions().stream_window_bytes;
  const auto connection = world_->Connect();
  const auto call = connection->Send({.path = "/", .paced = true}, sink_);
  Respond(Arrived(), 200, "text/plain", big);
  world_->RunUntil([&] { return sink_.body().size() == window; });
  // What would be under way besides has come by the time this is answered.
  RecordingSink other;
  const auto second = connection->Send({.path = "/"}, other);
  Respond(Arrived(2), 200, "text/plain", "");
  world_->RunUntil([&] { return other.ended(); });
  EXPECT_EQ(sink_.body().size(), window) << "the server is held back";
  EXPECT_FALSE(sink_.ended());
  call->Take(window);
  world_->RunUntil([&] { return sink_.body().size() == 2 * window; });
  call->Take(window);
  world_->RunUntil([&] { return sink_.ended(); });
  EXPECT_TRUE(sink_.body() == big);
}

TEST_P(HttpContract, TrailersComeAfterTheBody) {
  const auto connection = world_->Connect();
  const auto call = connection->Send({.path = "/"}, sink_);
  HttpExchange& exchange = Arrived();
  exchange.Head(200, {{"x-head", "h"}});
  exchange.Write("body");
  exchange.End({{"x-trailer", "t"}});
  world_->RunUntil([&] { return sink_.ended(); });
  EXPECT_EQ(sink_.trailers(), (Headers{{"x-trailer", "t"}}));
  EXPECT_EQ(FindHeader(sink_.headers(), "x-trailer"), std::nullopt);
  EXPECT_EQ(sink_.body(), "body");
}

TEST_P(HttpContract, TrailersComeWithoutABodyToo) {
  const auto connection = world_->Connect();
  const auto call = connection->Send({.path = "/"}, sink_);
  HttpExchange& exchange = Arrived();
  exchange.Head(204, {});
  exchange.End({{"x-trailer", "t"}});
  world_->RunUntil([&] { return sink_.ended(); });
  EXPECT_EQ(sink_.status(), 204);
  EXPECT_EQ(sink_.trailers(), (Headers{{"x-trailer", "t"}}));
}

TEST_P(HttpContract, AnswerThatWouldCloseAnOldConnectionIsPlainHere) {
  const auto connection = world_->Connect();
  const auto call = connection->Send({.path = "/"}, sink_);
  HttpExchange& exchange = Arrived();
  exchange.Head(200, {{"connection", "close"}, {"x-one", "1"}});
  exchange.Write("ok");
  exchange.End();
  world_->RunUntil([&] { return sink_.ended(); });
  EXPECT_TRUE(sink_.end().ok());
  EXPECT_EQ(sink_.body(), "ok");
  EXPECT_EQ(FindHeader(sink_.headers(), "connection"), std::nullopt);
  EXPECT_EQ(FindHeader(sink_.headers(), "x-one"), "1");
  EXPECT_TRUE(connection->usable());
}

TEST_P(HttpContract, ManyCallsShareAConnectionAndEndInAnyOrder) {
  const auto connection = world_->Connect();
  std::vector<RecordingSink> sinks(20);
  std::vector<std::unique_ptr<HttpCall>> calls;
  for (std::size_t i = 0; i < sinks.size(); ++i) {
    calls.push_back(connection->Send({.path = "/" + std::to_string(i)}, sinks[i]));
  }
  Arrived(sinks.size());
  for (auto exchange = handler_.exchanges.rbegin(); exchange != handler_.exchanges.rend();
       ++exchange) {
    Respond(**exchange, 200, "text/plain", (*exchange)->request().path);
  }
  for (std::size_t i = 0; i < sinks.size(); ++i) {
    world_->RunUntil([&] { return sinks[i].ended(); });
    EXPECT_EQ(sinks[i].body(), "/" + std::to_string(i));
  }
}

TEST_P(HttpContract, CancelledCallHearsNothingAndItsServerIsTold) {
  const auto connection = world_->Connect();
  auto call = connection->Send({.path = "/"}, sink_);
  HttpExchange& exchange = Arrived();
  bool gone = false;
  exchange.OnGone([&] { gone = true; });
  exchange.Head(200, {});
  exchange.Write("x");
  call.reset();
  world_->RunUntil([&] { return gone; });
  exchange.Write("into the void");
  exchange.End();
  EXPECT_EQ(sink_.status(), 0);
  EXPECT_FALSE(sink_.ended());
  EXPECT_TRUE(connection->usable());
}

TEST_P(HttpContract, CallCancelledAtOnceHarmsNoOther) {
  const auto connection = world_->Connect();
  RecordingSink other;
  connection->Send({.path = "/cancelled"}, sink_).reset();
  const auto call = connection->Send({.path = "/other"}, other);
  world_->RunUntil([&] {
    return !handler_.exchanges.empty() && handler_.exchanges.back()->request().path == "/other";
  });
  Respond(*handler_.exchanges.back(), 200, "text/plain", "fine");
  world_->RunUntil([&] { return other.ended(); });
  EXPECT_EQ(other.body(), "fine");
  EXPECT_FALSE(sink_.ended());
}

TEST_P(HttpContract, ExchangeThatDiesBeforeItsEndCutsTheAnswerOff) {
  const auto connection = world_->Connect();
  const auto call = connection->Send({.path = "/"}, sink_);
  Arrived().Head(200, {});
  handler_.exchanges.back()->Write("half");
  world_->RunUntil([&] { return sink_.body() == "half"; });
  handler_.exchanges.clear();
  world_->RunUntil([&] { return sink_.ended(); });
  EXPECT_EQ(sink_.end().code(), Code::kUnavailable);
  EXPECT_THAT(sink_.end().message(), HasSubstr("cut the answer off"));
  EXPECT_TRUE(connection->usable());
}

TEST_P(HttpContract, DeadServerEndsCallsThenTheConnection) {
  const auto connection = world_->Connect();
  std::vector<std::string> order;
  const auto call = connection->Send({.path = "/"}, sink_);
  Status why;
  connection->OnClosed([&](const Status& status) {
    why = status;
    EXPECT_TRUE(sink_.ended());
  });
  Arrived();
  world_->StopServer();
  world_->RunUntil([&] { return !why.ok(); });
  EXPECT_EQ(why.code(), Code::kUnavailable);
  EXPECT_EQ(sink_.end().code(), Code::kUnavailable);
  EXPECT_EQ(sink_.ends(), 1);
  EXPECT_FALSE(connection->usable());
}

TEST_P(HttpContract, ExchangesHearThatTheirServerStopped) {
  const auto connection = world_->Connect();
  const auto call = connection->Send({.path = "/"}, sink_);
  bool gone = false;
  Arrived().OnGone([&] { gone = true; });
  world_->StopServer();
  world_->RunUntil([&] { return gone; });
  EXPECT_TRUE(gone);
  handler_.exchanges.back()->Head(200, {});  // to nobody, without harm
}

TEST_P(HttpContract, ExchangesHearThatTheirClientLeft) {
  auto connection = world_->Connect();
  auto call = connection->Send({.path = "/"}, sink_);
  bool gone = false;
  Arrived().OnGone([&] {
    gone = true;
    handler_.exchanges.clear();  // from within its own callback
  });
  call.reset();
  connection.reset();
  world_->RunUntil([&] { return gone; });
  EXPECT_TRUE(gone);
  EXPECT_FALSE(sink_.ended()) << "who left is not answered";
}

TEST_P(HttpContract, CallsOnADeadConnectionFailLater) {
  const auto connection = world_->Connect();
  world_->StopServer();
  world_->RunUntil([&] { return !connection->usable(); });
  const auto call = connection->Send({.path = "/"}, sink_);
  EXPECT_FALSE(sink_.ended());  // never before Send returns
  world_->RunUntil([&] { return sink_.ended(); });
  EXPECT_EQ(sink_.end().code(), Code::kUnavailable);
}

TEST_P(HttpContract, WhoAsksLateWhyItClosedIsStillTold) {
  const auto connection = world_->Connect();
  world_->StopServer();
  world_->RunUntil([&] { return !connection->usable(); });
  Status why;
  connection->OnClosed([&](const Status& status) { why = status; });
  world_->RunUntil([&] { return !why.ok(); });
  EXPECT_EQ(why.code(), Code::kUnavailable);
}

TEST_P(HttpContract, WriterIsToldEachTimeItsQueueHasDrained) {
  const auto connection = world_->Connect();
  const auto call = connection->Send({.path = "/"}, sink_);
  HttpExchange& exchange = Arrived();
  int drained = 0;
  exchange.OnDrained([&] { ++drained; });
  exchange.Head(200, {});
  exchange.Write("abc");
  EXPECT_EQ(exchange.queued(), 3U);
  EXPECT_EQ(drained, 0);
  world_->RunUntil([&] { return drained == 1; });
  EXPECT_EQ(exchange.queued(), 0U);
  exchange.Write("d");
  world_->RunUntil([&] { return drained == 2; });
  world_->RunUntil([&] { return sink_.body() == "abcd"; });
}

TEST_P(HttpContract, DrainedCallbackMayDestroyTheExchange) {
  const auto connection = world_->Connect();
  const auto call = connection->Send({.path = "/"}, sink_);
  HttpExchange& exchange = Arrived();
  exchange.OnDrained([&] { handler_.exchanges.clear(); });
  exchange.Head(200, {});
  exchange.Write("abc");
  world_->RunUntil([&] { return sink_.ended(); });
  EXPECT_EQ(sink_.end().code(), Code::kUnavailable);
}

// Destroys what it can reach in its first callback.
class RuinousSink final : public HttpResponseSink {
 public:
  explicit RuinousSink(std::function<void()> ruin) : ruin_(std::move(ruin)) {}
  void OnHead(int, const Headers&) override {}
  void OnData(std::string_view) override { ruin_(); }
  void OnEnd(const Status&, const Headers&) override { ruin_(); }

 private:
  const std::function<void()> ruin_;
};

TEST_P(HttpContract, SinkMayDestroyCallsAndConnectionInTheMiddleOfData) {
  auto connection = world_->Connect();
  std::unique_ptr<HttpCall> first;
  std::unique_ptr<HttpCall> second;
  bool ruined = false;
  RuinousSink sink([&] {
    ruined = true;
    first.reset();
    second.reset();
    connection.reset();
  });
  first = connection->Send({.path = "/1"}, sink);
  second = connection->Send({.path = "/2"}, sink_);
  Arrived(2);
  for (const auto& exchange : handler_.exchanges) Respond(*exchange, 200, "text/plain", "x");
  world_->RunUntil([&] { return ruined; });
  EXPECT_FALSE(sink_.ended());
}

TEST_P(HttpContract, SinkMayDestroyEverythingWhenTheServerDies) {
  auto connection = world_->Connect();
  std::unique_ptr<HttpCall> first;
  std::unique_ptr<HttpCall> second;
  bool ruined = false;
  RuinousSink sink([&] {
    ruined = true;
    first.reset();
    second.reset();
    connection.reset();
  });
  first = connection->Send({.path = "/1"}, sink);
  second = connection->Send({.path = "/2"}, sink_);
  Arrived(2);
  world_->StopServer();
  world_->RunUntil([&] { return ruined; });
  EXPECT_FALSE(sink_.ended());
}

TEST_P(HttpContract, NewServerAtTheSamePlaceIsFound) {
  const auto before = world_->Connect();
  world_->StopServer();
  world_->RunUntil([&] { return !before->usable(); });
  world_->Listen(handler_);
  const auto after = world_->Connect();
  const auto call = after->Send({.path = "/"}, sink_);
  Respond(Arrived(), 200, "text/plain", "again");
  world_->RunUntil([&] { return sink_.ended(); });
  EXPECT_EQ(sink_.body(), "again");
}

TEST_P(HttpContract, DialWhereNobodyListensFailsRetryably) {
  world_->StopServer();
  Status status;
  const auto dialling =
      world_->Dial([&](StatusOr<std::unique_ptr<Connection>> result) { status = result.status(); });
  world_->RunUntil([&] { return !status.ok(); });
  EXPECT_EQ(status.code(), Code::kUnavailable);
}

TEST_P(HttpContract, DialGivenUpIsNotAnswered) {
  bool answered = false;
  auto dialling = world_->Dial([&](StatusOr<std::unique_ptr<Connection>>) { answered = true; });
  dialling.reset();
  world_->Connect();
  EXPECT_FALSE(answered);
}

INSTANTIATE_TEST_SUITE_P(Worlds, HttpContract,
                         ::testing::Values(ContractWorld::Kind::kUnixSocket,
                                           ContractWorld::Kind::kTls,
                                           ContractWorld::Kind::kFakeNetwork),
                         [](const auto& world) { return ToString(world.param); });

}  // namespace
}  // namespace galen::net
