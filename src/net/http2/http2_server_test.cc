#include "net/http2/http2_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "base/loop/fake_loop.h"
#include "net/fake_keeping_handler.h"
#include "net/fake_memory_stream.h"
#include "net/fake_recording_sink.h"
#include "net/http2/http2_client.h"
#include "net/http2/test_http2_frames.h"

namespace galen::net {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class Http2ServerTest : public ::testing::Test {
 protected:
  void Start(SessionLimits limits, bool lax_messages = false) {
    pair_ = MemoryStream::Make(loop_);
    server_ = std::make_unique<Http2Server>(SessionContext{.loop = loop_,
                                                           .handler = handler_,
                                                           .limits = limits,
                                                           .peer = std::nullopt,
                                                           .on_end =
                                                               [this](const Status& why) {
                                                                 ended_ = why;
                                                                 server_.reset();
                                                               }},
                                            std::move(pair_.right), lax_messages);
    server_->Start("");
  }

  // A well-behaved client at the other end.
  void StartWithClient(SessionLimits limits = {}, bool lax_messages = false) {
    Start(limits, lax_messages);
    link_ = pair_.left.get();
    client_ = std::make_unique<Http2Client>(loop_, std::move(pair_.left),
                                            Http2Client::Options{.peer = "server"});
    loop_.RunUntilIdle();
  }
  std::unique_ptr<HttpCall> Send(HttpRequest request) {
    auto call = client_->Send(std::move(request), sink_);
    loop_.RunUntilIdle();
    return call;
  }

  // A client that is only bytes.
  void StartWithBytes(bool lax_messages, SessionLimits limits = {}) {
    Start(limits, lax_messages);
    pair_.left->SetSink(bytes_);
    pair_.left->Write(std::string(kClientPreface) + Encode({.type = kSettingsFrame}));
    loop_.RunUntilIdle();
  }
  // The head of a request whose body does not come.
  void BeginRequest(std::uint32_t stream, Headers fields) {
    const Headers first = {
        {":method", "PUT"}, {":scheme", "http"}, {":path", "/"}, {":authority", "h"}};
    fields.insert(fields.begin(), first.begin(), first.end());
    pair_.left->Write(Encode({kHeadersFrame, kEndHeaders, stream, EncodeFields(fields)}));
    loop_.RunUntilIdle();
  }
  void SayRequest(const Headers& fields) {
    pair_.left->Write(Encode({kHeadersFrame, kEndHeaders | kEndStream, 1, EncodeFields(fields)}));
    loop_.RunUntilIdle();
  }
  std::vector<RawFrame> Answered(std::uint8_t type) {
    loop_.RunUntilIdle();
    std::vector<RawFrame> frames = DecodeFrames(bytes_.received);
    std::erase_if(frames, [&](const RawFrame& frame) { return frame.type != type; });
    return frames;
  }

  FakeLoop loop_;
  KeepingHandler handler_;
  RecordingByteSink bytes_;
  RecordingSink sink_;
  MemoryStream::Pair pair_;
  MemoryStream* link_ = nullptr;
  std::unique_ptr<Http2Client> client_;
  Status ended_;
  std::unique_ptr<Http2Server> server_;
};

// A client that hangs keeps its place no longer than twice the limit; one that only rests stays.
TEST_F(Http2ServerTest, ClientThatAnswersNoPingIsLetGo) {
  StartWithBytes(false);
  const Duration limit = SessionLimits{}.ping_after;
  loop_.Advance(limit - 1ns);
  EXPECT_TRUE(Answered(kPingFrame).empty());
  loop_.Advance(1ns);
  EXPECT_EQ(Answered(kPingFrame).size(), 1U);
  EXPECT_NE(server_, nullptr);
  loop_.Advance(limit);
  EXPECT_EQ(server_, nullptr);
  EXPECT_THAT(ended_.message(), HasSubstr("no answer to a PING"));
}

TEST_F(Http2ServerTest, ClientThatRestsAndLivesIsKept) {
  StartWithClient();
  loop_.Advance(24h);
  EXPECT_NE(server_, nullptr);
}

const Headers kGet = {{":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {":authority", "h"}};
const Headers kOldGrpcGo = {{":method", "POST"},
                            {":scheme", "http"},
                            {":path", "/pluginregistration.Registration/GetInfo"},
                            {":authority", "/var/lib/kubelet/plugins_registry/x.sock"}};

TEST_F(Http2ServerTest, ConnectionThatOnlyAnswersPingsIsIdle) {
  const Time start = loop_.Now();
  StartWithClient();
  loop_.Advance(24h);
  ASSERT_NE(server_, nullptr);
  EXPECT_EQ(server_->idle_since(), start);
}

TEST_F(Http2ServerTest, ConnectionIsIdleSinceItsLastAnswerHoweverThatEnds) {
  StartWithClient();
  const auto first = Send({.path = "/1"});
  auto second = Send({.path = "/2"});
  const auto third = Send({.path = "/3"});
  const auto ask = [&](auto&& end) {
    loop_.Advance(5s);
    EXPECT_EQ(server_->idle_since(), std::nullopt);
    end();
    loop_.RunUntilIdle();
  };
  ask([&] { Respond(*handler_.exchanges[0], 200, "text/plain", "x"); });
  ask([&] { second.reset(); });              // by its client
  ask([&] { handler_.exchanges.clear(); });  // by its handler
  const Time last = loop_.Now();
  loop_.Advance(5s);
  EXPECT_EQ(server_->idle_since(), last);
}

TEST_F(Http2ServerTest, PathAsAuthorityPassesWhereOldKubeletsCall) {
  StartWithBytes(/*lax_messages=*/true);
  SayRequest(kOldGrpcGo);
  ASSERT_EQ(handler_.exchanges.size(), 1U);
  EXPECT_EQ(handler_.exchanges[0]->request().path, "/pluginregistration.Registration/GetInfo");
}

TEST_F(Http2ServerTest, PathAsAuthorityIsRefusedElsewhere) {
  StartWithBytes(/*lax_messages=*/false);
  SayRequest(kOldGrpcGo);
  EXPECT_TRUE(handler_.exchanges.empty());
  EXPECT_EQ(Answered(kResetFrame).size(), 1U);
}

TEST_F(Http2ServerTest, RequestWithoutAPathIsRefusedEvenWhereMuchPasses) {
  StartWithBytes(/*lax_messages=*/true);
  SayRequest({{":method", "GET"}, {":scheme", "http"}});
  EXPECT_TRUE(handler_.exchanges.empty());
  EXPECT_EQ(Answered(kHeadersFrame).size(), 1U);
}

TEST_F(Http2ServerTest, AnswerOfNothingButAHeadIsOneFrame) {
  StartWithBytes(false);
  SayRequest(kGet);
  handler_.exchanges[0]->Head(200, {{"grpc-status", "5"}});
  handler_.exchanges[0]->End();
  const std::vector<RawFrame> heads = Answered(kHeadersFrame);
  ASSERT_EQ(heads.size(), 1U);
  EXPECT_NE(heads[0].flags & kEndStream, 0);
  EXPECT_TRUE(Answered(kDataFrame).empty());
}

TEST_F(Http2ServerTest, AnswerWithABodyEndsWithItsLastData) {
  StartWithBytes(false);
  SayRequest(kGet);
  Respond(*handler_.exchanges[0], 200, "text/plain", "body");
  const std::vector<RawFrame> data = Answered(kDataFrame);
  ASSERT_EQ(data.size(), 1U);
  EXPECT_EQ(data[0].payload, "body");
  EXPECT_EQ(data[0].flags, kEndStream);
}

TEST_F(Http2ServerTest, WriterIsNotToldOfDrainingWhileTheClientsWindowIsShut) {
  StartWithBytes(false);
  SayRequest(kGet);
  HttpExchange& exchange = *handler_.exchanges[0];
  bool drained = false;
  exchange.OnDrained([&] { drained = true; });
  exchange.Head(200, {});
  exchange.Write(std::string(100'000, 'x'));
  loop_.RunUntilIdle();
  EXPECT_EQ(exchange.queued(), 100'000U - 65'535U);
  EXPECT_FALSE(drained);
  for (const std::uint32_t stream : {0U, 1U}) {
    pair_.left->Write(
        Encode({.type = kWindowUpdateFrame, .stream = stream, .payload = Number(100'000)}));
  }
  loop_.RunUntilIdle();
  EXPECT_EQ(exchange.queued(), 0U);
  EXPECT_TRUE(drained);
}

TEST_F(Http2ServerTest, AnswersWaitInTheQueueWhileTheSocketIsFull) {
  StartWithClient();
  const auto call = Send({.path = "/"});
  link_->SetReading(false);
  HttpExchange& exchange = *handler_.exchanges[0];
  exchange.Head(200, {});
  exchange.Write(std::string(450'000, 'x'));
  exchange.Write(std::string(450'000, 'y'));
  loop_.RunUntilIdle();
  EXPECT_GT(exchange.queued(), 700'000U);  // what fits into one batch and the socket has left
  link_->SetReading(true);
  loop_.RunUntilIdle();
  EXPECT_TRUE(sink_.body() == std::string(450'000, 'x') + std::string(450'000, 'y'));
}

TEST_F(Http2ServerTest, BodyPastTheLimitIsRefusedWith413AndTheConnectionKept) {
  StartWithClient({.request_body_bytes_max = 1000});
  const auto call = Send({.method = "PUT", .path = "/", .body = std::string(500'000, 'x')});
  EXPECT_EQ(sink_.status(), 413);
  EXPECT_THAT(sink_.body(), HasSubstr("1000 bytes"));
  EXPECT_TRUE(client_->usable());
  EXPECT_TRUE(handler_.exchanges.empty());
}

TEST_F(Http2ServerTest, BodyOfACallPastTheLimitIsRefusedInWordsOfGrpc) {
  StartWithClient({.request_body_bytes_max = 1000});
  const auto call = Send({.method = "POST",
                          .path = "/",
                          .headers = {{"content-type", "application/grpc"}},
                          .body = std::string(2000, 'x')});
  EXPECT_EQ(sink_.status(), 200);
  EXPECT_EQ(FindHeader(sink_.headers(), "grpc-status"), "8");
}

// Not RESOURCE_EXHAUSTED, which would have the caller look for what is used up.
TEST_F(Http2ServerTest, CallWithoutAPathIsRefusedAsBrokenInWordsOfGrpc) {
  StartWithClient({}, /*lax_messages=*/true);
  const auto call =
      Send({.method = "POST", .path = "", .headers = {{"content-type", "application/grpc+proto"}}});
  EXPECT_EQ(sink_.status(), 200);
  EXPECT_EQ(FindHeader(sink_.headers(), "grpc-status"), "13");
}

TEST_F(Http2ServerTest, HeadersPastTheLimitAreRefusedWith431) {
  StartWithClient({.head_bytes_max = 1000});
  const auto call = Send({.path = "/", .headers = {{"x-long", std::string(2000, 'x')}}});
  EXPECT_EQ(sink_.status(), 431);
  EXPECT_TRUE(client_->usable());
}

TEST_F(Http2ServerTest, FieldsOfNothingCountAsWell) {
  StartWithClient({.head_bytes_max = 1000});
  const auto call = Send({.path = "/", .headers = Headers(40, {"a", ""})});
  EXPECT_EQ(sink_.status(), 431);
}

const Headers kFields = {{"x", std::string(100, 'x')}};

TEST_F(Http2ServerTest, HeadersOfOneConnectionTogetherAreBounded) {
  StartWithBytes(false, {.heads_bytes_max = 1000});
  for (const std::uint32_t stream : {1U, 3U, 5U}) BeginRequest(stream, kFields);
  EXPECT_TRUE(Answered(kResetFrame).empty());
  BeginRequest(7, kFields);
  const std::vector<RawFrame> resets = Answered(kResetFrame);
  ASSERT_EQ(resets.size(), 1U);
  EXPECT_EQ(resets[0].stream, 7U);
  EXPECT_EQ(resets[0].payload, Number(11)) << "ENHANCE_YOUR_CALM";
  // What is gone counts no more.
  pair_.left->Write(Encode({kResetFrame, 0, 1, Number(8)}));
  BeginRequest(9, kFields);
  EXPECT_EQ(Answered(kResetFrame).size(), 1U);
  BeginRequest(11, kFields);
  EXPECT_EQ(Answered(kResetFrame).size(), 2U) << "the others do";
}

TEST_F(Http2ServerTest, RefusedHeadersAreGivenBack) {
  StartWithBytes(false, {.head_bytes_max = 300, .heads_bytes_max = 400});
  for (const std::uint32_t stream : {1U, 3U, 5U, 7U}) {
    BeginRequest(stream, {kFields[0], kFields[0]});
  }
  EXPECT_EQ(Answered(kHeadersFrame).size(), 4U);
  EXPECT_TRUE(Answered(kResetFrame).empty());
}

TEST_F(Http2ServerTest, RequestThatIsNotWholeInTimeIsReset) {
  StartWithBytes(false, {.heads_bytes_max = 700, .request_timeout = 60s});
  BeginRequest(1, kFields);
  loop_.Advance(30s);
  BeginRequest(3, kFields);
  loop_.Advance(30s);
  ASSERT_EQ(Answered(kResetFrame).size(), 1U);
  EXPECT_EQ(Answered(kResetFrame)[0].stream, 1U);
  BeginRequest(5, kFields);  // the place of the first is free again
  EXPECT_EQ(Answered(kResetFrame).size(), 1U);
  pair_.left->Write(Encode({kDataFrame, kEndStream, 3, "all"}));
  loop_.Advance(30s);
  EXPECT_EQ(handler_.exchanges.size(), 1U);
  EXPECT_EQ(Answered(kResetFrame).size(), 1U) << "an answer may take as long as it likes";
}

TEST_F(Http2ServerTest, ClientThatAsksAndReadsNothingIsLetGo) {
  StartWithBytes(false, {.streams_max = 1});
  pair_.left->SetReading(false);
  BeginRequest(1, {});
  // Each is refused by a frame that waits once the socket is full.
  for (std::uint32_t i = 1; i < 60'000 && server_ != nullptr; ++i) {
    pair_.left->Write(
        Encode({kHeadersFrame, kEndHeaders | kEndStream, 2 * i + 1, EncodeFields(kGet)}));
    loop_.RunUntilIdle();
  }
  EXPECT_EQ(server_, nullptr);
  EXPECT_EQ(ended_.code(), Code::kResourceExhausted);
}

TEST_F(Http2ServerTest, BodiesOfOneConnectionTogetherAreBounded) {
  StartWithClient({.waiting_bytes_max = 30'000});
  const auto call = Send({.method = "PUT", .path = "/", .body = std::string(40'000, 'x')});
  EXPECT_EQ(sink_.end().code(), Code::kResourceExhausted);
  const auto other = Send({.method = "PUT", .path = "/", .body = std::string(20'000, 'x')});
  EXPECT_EQ(handler_.exchanges.size(), 1U);  // what was dropped counts no more
}

TEST_F(Http2ServerTest, CallsPastTheStreamLimitWaitAtTheClient) {
  StartWithClient({.streams_max = 2});
  RecordingSink sinks[3];
  std::vector<std::unique_ptr<HttpCall>> calls;
  for (RecordingSink& sink : sinks) calls.push_back(client_->Send({.path = "/"}, sink));
  loop_.RunUntilIdle();
  EXPECT_EQ(handler_.exchanges.size(), 2U);
  Respond(*handler_.exchanges[0], 200, "text/plain", "x");
  loop_.RunUntilIdle();
  EXPECT_EQ(handler_.exchanges.size(), 3U);
}

TEST_F(Http2ServerTest, DrainFinishesWhatIsUnderWayThenEnds) {
  StartWithClient();
  const auto call = Send({.path = "/"});
  server_->Drain();
  loop_.RunUntilIdle();
  EXPECT_FALSE(client_->usable());
  EXPECT_NE(server_, nullptr);
  Respond(*handler_.exchanges[0], 200, "text/plain", "last");
  loop_.RunUntilIdle();
  EXPECT_EQ(sink_.body(), "last");
  EXPECT_TRUE(sink_.end().ok());
  EXPECT_EQ(server_, nullptr);
}

TEST_F(Http2ServerTest, ClientThatSpeaksSomethingElseEndsTheConnection) {
  Start({});
  pair_.left->SetSink(bytes_);
  pair_.left->Write("GET / HTTP/1.1\r\n\r\n and so on and on");
  loop_.RunUntilIdle();
  EXPECT_EQ(server_, nullptr);
  EXPECT_EQ(ended_.code(), Code::kUnavailable);
}

// Ends the whole connection from inside the handler.
class RuinousHandler final : public HttpHandler {
 public:
  explicit RuinousHandler(std::function<void()> ruin) : ruin_(std::move(ruin)) {}
  void Handle(std::unique_ptr<HttpExchange>) override { ruin_(); }

 private:
  const std::function<void()> ruin_;
};

TEST_F(Http2ServerTest, HandlerMayDestroyTheConnection) {
  std::unique_ptr<Http2Server> server;
  RuinousHandler handler([&] { server.reset(); });
  pair_ = MemoryStream::Make(loop_);
  server = std::make_unique<Http2Server>(SessionContext{.loop = loop_,
                                                        .handler = handler,
                                                        .limits = {},
                                                        .peer = std::nullopt,
                                                        .on_end = [](const Status&) {}},
                                         std::move(pair_.right), false);
  server->Start("");
  Http2Client client(loop_, std::move(pair_.left), {.peer = "server"});
  const auto one = client.Send({.path = "/1"}, sink_);
  RecordingSink other;
  const auto two = client.Send({.path = "/2"}, other);
  loop_.RunUntilIdle();
  EXPECT_EQ(server, nullptr);
  EXPECT_EQ(sink_.end().code(), Code::kUnavailable);
  EXPECT_EQ(other.end().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace galen::net
