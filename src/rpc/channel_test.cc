// The channel against answers by hand: those that no good server gives.
#include "rpc/channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "base/loop/fake_loop.h"
#include "rpc/frame.h"

namespace galen::rpc {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

const net::Headers kGrpc = {{"content-type", "application/grpc"}};

// Keeps the last request and its sink, so that the test gives the answer.
class HandClient final : public net::HttpClient {
 public:
  std::unique_ptr<net::HttpCall> Send(net::HttpRequest request,
                                      net::HttpResponseSink& to) override {
    sent = std::move(request);
    sink = &to;
    return std::make_unique<Call>(*this);
  }

  net::HttpRequest sent;
  net::HttpResponseSink* sink = nullptr;  // null once cancelled
  std::size_t taken = 0;                  // bytes given back to the server

 private:
  class Call final : public net::HttpCall {
   public:
    explicit Call(HandClient& client) : client_(client) {}
    ~Call() override { client_.sink = nullptr; }
    void Take(std::size_t bytes) override { client_.taken += bytes; }

   private:
    HandClient& client_;
  };
};

class ChannelTest : public ::testing::Test {
 protected:
  void Ask(Duration deadline = 5s) {
    call_ = channel_.Unary("/t.T/M", "request", deadline, [this](StatusOr<std::string> answer) {
      answer_ = std::move(answer);
      call_.reset();  // from within, as users do
    });
  }

  FakeLoop loop_;
  HandClient client_;
  Channel channel_{loop_, client_, {.message_bytes_max = 100}};
  std::optional<StatusOr<std::string>> answer_;
  std::unique_ptr<Call> call_;
};

TEST_F(ChannelTest, RequestIsWhatTheProtocolAsksFor) {
  Ask();
  EXPECT_EQ(client_.sent.method, "POST");
  EXPECT_EQ(client_.sent.path, "/t.T/M");
  EXPECT_EQ(client_.sent.body, Frame("request"));
  EXPECT_EQ(net::FindHeader(client_.sent.headers, "te"), "trailers");
  EXPECT_EQ(net::FindHeader(client_.sent.headers, "content-type"), "application/grpc");
  EXPECT_EQ(net::FindHeader(client_.sent.headers, "grpc-timeout"), "5000000u");
}

TEST_F(ChannelTest, AnswerMayComeInPieces) {
  Ask();
  client_.sink->OnHead(200, kGrpc);
  for (const char c : Frame("answer")) client_.sink->OnData({&c, 1});
  EXPECT_FALSE(answer_.has_value());
  client_.sink->OnEnd(OkStatus(), {{"grpc-status", "0"}});
  EXPECT_EQ(**answer_, "answer");
}

TEST_F(ChannelTest, StatusMayComeInTheHeadAlone) {
  Ask();
  client_.sink->OnHead(
      200,
      {{"content-type", "application/grpc"}, {"grpc-status", "7"}, {"grpc-message", "no%20way"}});
  client_.sink->OnEnd(OkStatus(), {});
  EXPECT_EQ(answer_->status(), PermissionDenied("no way"));
}

TEST_F(ChannelTest, TwoAnswersAreNone) {
  Ask();
  client_.sink->OnHead(200, kGrpc);
  client_.sink->OnData(Frame("one") + Frame("two"));
  EXPECT_EQ(answer_->status().code(), Code::kUnimplemented);
  EXPECT_EQ(client_.sink, nullptr);
}

TEST_F(ChannelTest, SuccessWithoutAnAnswerIsAnError) {
  Ask();
  client_.sink->OnHead(200, kGrpc);
  client_.sink->OnEnd(OkStatus(), {{"grpc-status", "0"}});
  EXPECT_EQ(answer_->status().code(), Code::kUnimplemented);
}

TEST_F(ChannelTest, ErrorAfterAnAnswerIsTheError) {
  Ask();
  client_.sink->OnHead(200, kGrpc);
  client_.sink->OnData(Frame("answer"));
  client_.sink->OnEnd(OkStatus(), {{"grpc-status", "10"}});
  EXPECT_EQ(answer_->status().code(), Code::kAborted);
}

TEST_F(ChannelTest, EndInTheMiddleOfAMessageIsAnError) {
  Ask();
  client_.sink->OnHead(200, kGrpc);
  client_.sink->OnData(Frame("answer").substr(0, 7));
  client_.sink->OnEnd(OkStatus(), {{"grpc-status", "0"}});
  EXPECT_EQ(answer_->status().code(), Code::kInternal);
}

TEST_F(ChannelTest, EndWithoutAStatusIsUnknown) {
  Ask();
  client_.sink->OnHead(200, kGrpc);
  client_.sink->OnEnd(OkStatus(), {});
  EXPECT_EQ(answer_->status().code(), Code::kUnknown);
}

TEST_F(ChannelTest, AnswerOfAnotherProtocolIsReadByItsHttpStatus) {
  Ask();
  client_.sink->OnHead(503, {{"content-type", "text/html"}});
  client_.sink->OnData("<html>busy");
  client_.sink->OnEnd(OkStatus(), {});
  EXPECT_EQ(answer_->status().code(), Code::kUnavailable);
}

TEST_F(ChannelTest, PageOfAnotherProtocolIsNoMessage) {
  Ask();
  client_.sink->OnHead(200, {{"content-type", "text/html"}});
  client_.sink->OnData(Frame("looks like one"));
  client_.sink->OnEnd(OkStatus(), {});
  EXPECT_EQ(answer_->status().code(), Code::kUnknown);
}

TEST_F(ChannelTest, LostConnectionKeepsItsReason) {
  Ask();
  client_.sink->OnEnd(Unavailable("gone"), {});
  EXPECT_EQ(answer_->status(), Unavailable("gone"));
}

TEST_F(ChannelTest, DeadlineCancelsTheCall) {
  Ask(2s);
  loop_.Advance(1999ms);
  EXPECT_FALSE(answer_.has_value());
  loop_.Advance(1ms);
  EXPECT_EQ(answer_->status(), DeadlineExceeded("no answer within 2 s"));
  EXPECT_EQ(client_.sink, nullptr);
}

TEST_F(ChannelTest, DroppedCallIsCancelled) {
  Ask();
  call_.reset();
  EXPECT_EQ(client_.sink, nullptr);
  loop_.Advance(1h);
  EXPECT_FALSE(answer_.has_value());
}

// Remembers a stream.
class RecordingStream final : public StreamSink {
 public:
  void OnMessage(std::string_view message) override { messages.emplace_back(message); }
  void OnLongMessage(std::size_t bytes) override { announced = bytes; }
  void OnEnding() override {
    ending = true;
    if (reads_on != nullptr) reads_on->Next();
  }
  void OnEnd(const Status& status) override { end = status; }

  std::size_t announced = 0;
  bool ending = false;
  Call* reads_on = nullptr;  // as soon as the end is known
  std::vector<std::string> messages;
  std::optional<Status> end;
};

TEST_F(ChannelTest, StreamHasNoDeadline) {
  RecordingStream stream;
  const auto call = channel_.ServerStream("/t.T/S", "", stream);
  EXPECT_EQ(net::FindHeader(client_.sent.headers, "grpc-timeout"), std::nullopt);
  client_.sink->OnHead(200, kGrpc);
  loop_.Advance(100h);
  client_.sink->OnData(Frame("still here"));
  EXPECT_THAT(stream.messages, ElementsAre("still here"));
}

TEST_F(ChannelTest, StreamEndsAtAMessageThatIsTooLarge) {
  RecordingStream stream;
  const auto call = channel_.ServerStream("/t.T/S", "", stream);
  client_.sink->OnHead(200, kGrpc);
  client_.sink->OnData(Frame("fits") + Frame(std::string(101, 'x')));
  EXPECT_THAT(stream.messages, ElementsAre("fits"));
  EXPECT_EQ(stream.end->code(), Code::kResourceExhausted);
  EXPECT_EQ(client_.sink, nullptr);
}

TEST_F(ChannelTest, PacedStreamGivesOneMessageAndTheWindowBackAsTheyAreRead) {
  RecordingStream stream;
  const auto call = channel_.PacedStream("/t.T/S", "", stream);
  EXPECT_TRUE(client_.sent.paced);
  client_.sink->OnHead(200, kGrpc);
  client_.sink->OnData(Frame("one") + Frame("two"));
  client_.sink->OnData(Frame("three"));
  EXPECT_THAT(stream.messages, ElementsAre("one"));
  EXPECT_EQ(client_.taken, 0u);
  call->Next();
  EXPECT_THAT(stream.messages, ElementsAre("one", "two"));
  EXPECT_EQ(client_.taken, Frame("one").size());
  call->Next();
  call->Next();
  EXPECT_THAT(stream.messages, ElementsAre("one", "two", "three"));
  EXPECT_EQ(client_.taken, Frame("onetwothree").size() + 2 * kFrameHeadBytes);
  client_.sink->OnData(Frame("four"));
  EXPECT_EQ(stream.messages.back(), "four");
}

TEST_F(ChannelTest, EndOfAPacedStreamComesAfterWhatItBrought) {
  RecordingStream stream;
  const auto call = channel_.PacedStream("/t.T/S", "", stream);
  client_.sink->OnHead(200, kGrpc);
  client_.sink->OnData(Frame("one") + Frame("two"));
  client_.sink->OnEnd(OkStatus(), {{"grpc-status", "0"}});
  EXPECT_TRUE(stream.ending);
  call->Next();
  EXPECT_EQ(stream.end, std::nullopt);
  EXPECT_EQ(stream.messages.back(), "two");
  call->Next();
  EXPECT_EQ(stream.end, OkStatus());
}

TEST_F(ChannelTest, WhoReadsOnWhenAPacedStreamEndsLearnsItsEnd) {
  RecordingStream stream;
  const auto call = channel_.PacedStream("/t.T/S", "", stream);
  stream.reads_on = call.get();
  client_.sink->OnHead(200, kGrpc);
  client_.sink->OnData(Frame("one"));
  client_.sink->OnEnd(OkStatus(), {{"grpc-status", "0"}});
  EXPECT_EQ(stream.end, OkStatus());
}

TEST_F(ChannelTest, LongMessageOfAPacedStreamComesWholeWhenItIsAdmitted) {
  RecordingStream stream;
  Channel channel(loop_, client_, {.message_bytes_max = 100, .stream_window_bytes = 40});
  const auto call = channel.PacedStream("/t.T/S", "", stream);
  client_.sink->OnHead(200, kGrpc);
  call->Admit();  // before anything is announced
  const std::string whole = Frame(std::string(90, 'x')) + Frame("next");
  client_.sink->OnData(whole.substr(0, 30));
  EXPECT_EQ(stream.announced, 95u);
  EXPECT_EQ(client_.taken, 0u);
  call->Admit();
  EXPECT_EQ(client_.taken, 30u);
  client_.sink->OnData(whole.substr(30, 40));
  EXPECT_EQ(client_.taken, 70u) << "all of it, as it comes";
  client_.sink->OnData(whole.substr(70));
  EXPECT_EQ(client_.taken, 95u) << "and of what follows nothing";
  EXPECT_EQ(stream.messages.back(), std::string(90, 'x'));
  call->Admit();
  EXPECT_EQ(client_.taken, 95u) << "nor once more, while the first is unread";
  call->Next();
  EXPECT_EQ(stream.messages.back(), "next");
}

}  // namespace
}  // namespace galen::rpc
