#include "net/http1/http1_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/loop/fake_loop.h"
#include "net/fake_keeping_handler.h"
#include "net/fake_memory_stream.h"

namespace galen::net {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Http1ServerTest : public ::testing::Test {
 protected:
  Http1ServerTest() { Start({}); }

  void Start(SessionLimits limits) {
    client_ = RecordingByteSink();
    pair_ = MemoryStream::Make(loop_);
    pair_.left->SetSink(client_);
    server_ = std::make_unique<Http1Server>(SessionContext{.loop = loop_,
                                                           .handler = handler_,
                                                           .limits = limits,
                                                           .peer = std::nullopt,
                                                           .on_end =
                                                               [this](const Status& why) {
                                                                 ended_ = why;
                                                                 server_.reset();
                                                               }},
                                            std::move(pair_.right));
    server_->Start("");
  }

  void Say(std::string_view bytes) {
    pair_.left->Write(bytes);
    loop_.RunUntilIdle();
  }
  // What the client has received since this was last called.
  std::string Heard() {
    loop_.RunUntilIdle();
    return std::exchange(client_.received, {});
  }
  HttpExchange& Last() { return *handler_.exchanges.back(); }

  FakeLoop loop_;
  KeepingHandler handler_;
  RecordingByteSink client_;
  MemoryStream::Pair pair_;
  Status ended_;
  std::unique_ptr<Http1Server> server_;
};

TEST_F(Http1ServerTest, ConnectionServesOneRequestAfterTheOther) {
  for (const std::string body : {"one", "two"}) {
    Say("GET /" + body + " HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(Last().request().path, "/" + body);
    Respond(Last(), 200, "text/plain", body);
    EXPECT_THAT(Heard(), EndsWith("\r\n\r\n" + body));
  }
  EXPECT_NE(server_, nullptr);
}

TEST_F(Http1ServerTest, ConnectionIsIdleSinceItsLastAnswerWhateverItsClientDrawsOut) {
  const Time start = loop_.Now();
  loop_.Advance(5s);
  Say("GET / HT");
  EXPECT_EQ(server_->idle_since(), start) << "half a request is none";
  Say("TP/1.1\r\n\r\n");
  EXPECT_EQ(server_->idle_since(), std::nullopt);
  loop_.Advance(5s);
  pair_.left->SetReading(false);
  Respond(Last(), 200, "text/plain", std::string(300'000, 'x'));
  const Time answered = loop_.Now();
  loop_.Advance(5s);
  EXPECT_EQ(server_->idle_since(), answered) << "nobody reads the answer";
}

TEST_F(Http1ServerTest, RequestsSentAheadAreAnsweredInTheirOrder) {
  Say("GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\n\r\nGET /3 HTTP/1.1\r\n\r\n");
  ASSERT_EQ(handler_.exchanges.size(), 1U);
  for (const std::string path : {"/1", "/2", "/3"}) {
    EXPECT_EQ(Last().request().path, path);
    Respond(Last(), 200, "text/plain", path);
    EXPECT_THAT(Heard(), EndsWith(path));
  }
}

TEST_F(Http1ServerTest, ClientThatSendsTooMuchAheadIsCutOff) {
  Say("GET /1 HTTP/1.1\r\n\r\n");
  for (int i = 0; i < 3; ++i) Say(std::string(30'000, 'x'));
  EXPECT_EQ(server_, nullptr);
  EXPECT_EQ(ended_.code(), Code::kResourceExhausted);
}

TEST_F(Http1ServerTest, StreamGoesOutInChunksAsItIsWritten) {
  Say("GET /events HTTP/1.1\r\n\r\n");
  Last().Head(200, {});
  EXPECT_THAT(Heard(), HasSubstr("chunked"));
  Last().Write("one");
  EXPECT_EQ(Heard(), "3\r\none\r\n");
  Last().Write("two");
  EXPECT_EQ(Heard(), "3\r\ntwo\r\n");
  Last().End();
  EXPECT_EQ(Heard(), "0\r\n\r\n");
}

TEST_F(Http1ServerTest, SlowReaderHoldsTheQueueAndDrainingIsTold) {
  Say("GET / HTTP/1.1\r\n\r\n");
  int drained = 0;
  Last().OnDrained([&] { ++drained; });
  pair_.left->SetReading(false);
  Last().Head(200, {});
  Last().Write(std::string(150'000, 'x'));
  Last().Write(std::string(150'000, 'y'));
  loop_.RunUntilIdle();
  EXPECT_GT(Last().queued(), 100'000U);
  EXPECT_EQ(drained, 0);
  pair_.left->SetReading(true);
  loop_.RunUntilIdle();
  EXPECT_EQ(Last().queued(), 0U);
  EXPECT_EQ(drained, 1);
  const std::string heard = Heard();
  EXPECT_EQ(std::count(heard.begin(), heard.end(), 'x'), 150'000);
  EXPECT_EQ(std::count(heard.begin(), heard.end(), 'y'), 150'000);
  EXPECT_LT(heard.rfind('x'), heard.find('y'));
}

TEST_F(Http1ServerTest, HandlerMayForgetAnEndedAnswerBeforeItIsSent) {
  Say("GET / HTTP/1.1\r\n\r\n");
  pair_.left->SetReading(false);
  Respond(Last(), 200, "text/plain", std::string(300'000, 'x'));
  handler_.exchanges.clear();
  pair_.left->SetReading(true);
  EXPECT_GT(Heard().size(), 300'000U);
  EXPECT_NE(server_, nullptr);
}

TEST_F(Http1ServerTest, ExchangeThatDiesBeforeItsEndClosesTheConnection) {
  Say("GET / HTTP/1.1\r\n\r\n");
  Last().Head(200, {});
  handler_.exchanges.clear();
  loop_.RunUntilIdle();
  EXPECT_EQ(server_, nullptr);
  EXPECT_FALSE(client_.closed.ok());
}

TEST_F(Http1ServerTest, ClientThatLeavesIsTold) {
  Say("GET / HTTP/1.1\r\n\r\n");
  bool gone = false;
  Last().OnGone([&] { gone = true; });
  pair_.left.reset();
  loop_.RunUntilIdle();
  EXPECT_TRUE(gone);
  Last().Head(200, {});  // to nobody, without harm
}

TEST_F(Http1ServerTest, OldClientGetsItsAnswerAndTheConnectionCloses) {
  Say("GET / HTTP/1.0\r\n\r\n");
  Last().Head(200, {});
  Last().Write("text");
  Last().End();
  EXPECT_THAT(Heard(), EndsWith("\r\n\r\ntext"));
  EXPECT_FALSE(client_.closed.ok());
}

TEST_F(Http1ServerTest, HeadRequestIsAnsweredWithoutABody) {
  Say("HEAD / HTTP/1.1\r\n\r\n");
  Respond(Last(), 200, "text/plain", "body");
  const std::string heard = Heard();
  EXPECT_THAT(heard, HasSubstr("content-length: 4"));
  EXPECT_THAT(heard, EndsWith("\r\n\r\n"));
}

TEST_F(Http1ServerTest, GarbageIsAnsweredThenTheConnectionEnds) {
  Say("NONSENSE\r\n\r\n");
  EXPECT_THAT(Heard(), StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_NE(server_, nullptr);  // reads on a little, so that the answer is not lost
  Say("more nonsense");
  loop_.Advance(1s);
  EXPECT_EQ(server_, nullptr);
  EXPECT_TRUE(handler_.exchanges.empty());
}

TEST_F(Http1ServerTest, BodyPastTheLimitIsRefusedWith413) {
  Start({.request_body_bytes_max = 10});
  Say("PUT / HTTP/1.1\r\nContent-Length: 11\r\n\r\n");
  EXPECT_THAT(Heard(), StartsWith("HTTP/1.1 413 "));
}

TEST_F(Http1ServerTest, ClientThatWaitsToContinueIsTold) {
  Say("PUT / HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(Heard(), "HTTP/1.1 100 Continue\r\n\r\n");
  Say("ok");
  EXPECT_EQ(Last().request().body, "ok");
}

TEST_F(Http1ServerTest, SlowRequestEndsAtItsTimeLimit) {
  Start({.request_timeout = 60s});
  Say("GET / HT");
  loop_.Advance(59s);
  EXPECT_NE(server_, nullptr);
  loop_.Advance(1s);
  EXPECT_EQ(server_, nullptr);
  EXPECT_EQ(ended_.code(), Code::kDeadlineExceeded);
}

TEST_F(Http1ServerTest, SlowAnswerHasNoTimeLimit) {
  Say("GET /events HTTP/1.1\r\n\r\n");
  Last().Head(200, {});
  loop_.Advance(24h);
  EXPECT_NE(server_, nullptr);
}

TEST_F(Http1ServerTest, ClientThatDoesNotTakeItsAnswerIsLetGo) {
  Start({.request_timeout = 60s});
  Say("GET / HTTP/1.1\r\n\r\n");
  pair_.left->SetReading(false);
  Respond(Last(), 200, "text/plain", std::string(3'000'000, 'x'));
  loop_.Advance(59s);
  ASSERT_NE(server_, nullptr);
  pair_.left->SetReading(true);  // takes all that is under way
  loop_.RunUntilIdle();
  EXPECT_EQ(Heard().size() > 3'000'000, true);
  loop_.Advance(59s);
  EXPECT_NE(server_, nullptr) << "a client that reads has another while";
  Say("GET / HTTP/1.1\r\n\r\n");
  pair_.left->SetReading(false);
  Respond(Last(), 200, "text/plain", std::string(3'000'000, 'x'));
  loop_.Advance(60s);
  EXPECT_EQ(server_, nullptr);
  EXPECT_EQ(ended_.code(), Code::kDeadlineExceeded);
}

TEST_F(Http1ServerTest, DrainEndsAnIdleConnectionAtOnce) {
  server_->Drain();
  loop_.RunUntilIdle();
  EXPECT_EQ(server_, nullptr);
}

TEST_F(Http1ServerTest, DrainLetsTheAnswerUnderWayFinish) {
  Say("GET / HTTP/1.1\r\n\r\nGET /next HTTP/1.1\r\n\r\n");
  server_->Drain();
  loop_.RunUntilIdle();
  EXPECT_NE(server_, nullptr);
  Respond(Last(), 200, "text/plain", "done");
  EXPECT_THAT(Heard(), EndsWith("done"));
  EXPECT_EQ(server_, nullptr);
  EXPECT_EQ(handler_.exchanges.size(), 1U);
}

}  // namespace
}  // namespace galen::net
