// The dispatcher against requests by hand: those that no good client sends.
#include "rpc/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "base/loop/fake_loop.h"
#include "net/fake_link.h"
#include "net/fake_recording_sink.h"
#include "rpc/frame.h"
#include "rpc/wire.h"

namespace galen::rpc {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() {
    dispatcher_.AddUnary("/t.T/Keep", [this](std::string_view request, const Caller&, Reply reply) {
      asked_ = request;
      reply_ = std::move(reply);
    });
    network_.Listen("unix:/s", dispatcher_);
    dialling_ = dialer_->Dial({.target = "unix:/s"},
                              [this](auto result) { connection_ = *std::move(result); });
    loop_.RunUntilIdle();
  }

  void Send(net::HttpRequest request) {
    call_ = connection_->Send(std::move(request), sink_);
    loop_.RunUntilIdle();
  }
  static net::HttpRequest Request(std::string body, net::Headers more = {}) {
    net::HttpRequest request{.method = "POST",
                             .path = "/t.T/Keep",
                             .headers = {{"content-type", "application/grpc"}},
                             .body = std::move(body)};
    for (net::Header& header : more) request.headers.push_back(std::move(header));
    return request;
  }
  Code GrpcCode() const {
    const auto status = StatusFromHeaders(sink_.headers());
    return status ? status->code() : StatusFromHeaders(sink_.trailers())->code();
  }

  FakeLoop loop_;
  Random random_{1};
  const net::LinkWeather weather_;
  net::FakeNetwork network_{loop_, random_};
  Dispatcher dispatcher_{loop_, {.message_bytes_max = 100}};
  std::string asked_ = "nothing";
  Reply reply_;
  net::RecordingSink sink_;
  const std::unique_ptr<net::Dialer> dialer_ = network_.MakeDialer(weather_);
  std::unique_ptr<net::Dialling> dialling_;
  std::unique_ptr<net::Connection> connection_;
  std::unique_ptr<net::HttpCall> call_;
};

TEST_F(ServiceTest, AnswerIsAHeadAMessageAndAStatusBehindIt) {
  Send(Request(Frame("hello")));
  EXPECT_EQ(asked_, "hello");
  reply_(std::string("world"));
  loop_.RunUntilIdle();
  EXPECT_EQ(sink_.status(), 200);
  EXPECT_EQ(net::FindHeader(sink_.headers(), "content-type"), "application/grpc");
  EXPECT_EQ(sink_.body(), Frame("world"));
  EXPECT_EQ(sink_.trailers(), (net::Headers{{"grpc-status", "0"}}));
}

TEST_F(ServiceTest, ErrorIsAHeadAlone) {
  Send(Request(Frame("hello")));
  reply_(Aborted("busy"));
  loop_.RunUntilIdle();
  EXPECT_EQ(StatusFromHeaders(sink_.headers()), Aborted("busy"));
  EXPECT_EQ(sink_.body(), "");
  EXPECT_TRUE(sink_.trailers().empty());
}

TEST_F(ServiceTest, RequestWithoutAMessageIsRefused) {
  Send(Request(""));
  EXPECT_EQ(GrpcCode(), Code::kUnimplemented);
  EXPECT_EQ(asked_, "nothing");
}

TEST_F(ServiceTest, RequestOfTwoMessagesIsRefused) {
  Send(Request(Frame("one") + Frame("two")));
  EXPECT_EQ(GrpcCode(), Code::kUnimplemented);
  EXPECT_EQ(asked_, "nothing");
}

TEST_F(ServiceTest, RequestThatBreaksOffIsRefused) {
  Send(Request(Frame("hello").substr(0, 8)));
  EXPECT_EQ(GrpcCode(), Code::kInternal);
}

TEST_F(ServiceTest, CompressedRequestIsRefused) {
  Send(Request(std::string("\1\0\0\0\1x", 6), {{"grpc-encoding", "gzip"}}));
  EXPECT_EQ(GrpcCode(), Code::kUnimplemented);
}

TEST_F(ServiceTest, RequestPastTheLimitIsRefused) {
  Send(Request(Frame(std::string(101, 'x'))));
  EXPECT_EQ(GrpcCode(), Code::kResourceExhausted);
}

TEST_F(ServiceTest, BrowserLearnsWhatThisIs) {
  Send({.method = "GET", .path = "/"});
  EXPECT_EQ(sink_.status(), 405);
  EXPECT_THAT(sink_.body(), HasSubstr("gRPC"));
}

TEST_F(ServiceTest, OtherContentIsRefusedByAStatusOfHttp) {
  Send({.method = "POST", .path = "/t.T/Keep", .headers = {{"content-type", "text/json"}}});
  EXPECT_EQ(sink_.status(), 415);
}

TEST_F(ServiceTest, CallersDeadlineEndsTheCallAndDropsTheLateReply) {
  Send(Request(Frame("hello"), {{"grpc-timeout", "2S"}}));
  loop_.Advance(1999ms);
  EXPECT_FALSE(sink_.ended());
  loop_.Advance(1ms);
  EXPECT_EQ(GrpcCode(), Code::kDeadlineExceeded);
  reply_(std::string("late"));
  loop_.RunUntilIdle();
  EXPECT_EQ(sink_.body(), "");
}

TEST_F(ServiceTest, ReplyBeforeTheDeadlineEndsItsTimer) {
  Send(Request(Frame("hello"), {{"grpc-timeout", "2S"}}));
  reply_(std::string("in time"));
  loop_.Advance(10s);
  EXPECT_EQ(sink_.body(), Frame("in time"));
  EXPECT_EQ(sink_.ends(), 1);
}

TEST_F(ServiceTest, BrokenDeadlineIsIgnored) {
  Send(Request(Frame("hello"), {{"grpc-timeout", "soon"}}));
  loop_.Advance(1h);
  reply_(std::string("here"));
  loop_.RunUntilIdle();
  EXPECT_EQ(sink_.body(), Frame("here"));
}

TEST_F(ServiceTest, SecondReplyIsDropped) {
  Send(Request(Frame("hello")));
  reply_(std::string("first"));
  reply_(std::string("second"));
  loop_.RunUntilIdle();
  EXPECT_EQ(sink_.body(), Frame("first"));
}

TEST_F(ServiceTest, ReplyToACallerThatLeftIsDropped) {
  Send(Request(Frame("hello")));
  call_.reset();
  loop_.RunUntilIdle();
  reply_(std::string("to nobody"));
  loop_.RunUntilIdle();
  EXPECT_FALSE(sink_.ended());
}

TEST_F(ServiceTest, MethodsHaveOneMeaning) {
  const auto again = [&] { dispatcher_.AddStream("/t.T/Keep", nullptr); };
  EXPECT_DEATH(again(), "check failed");
}

}  // namespace
}  // namespace galen::rpc
