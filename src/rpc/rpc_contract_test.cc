// Our channel against our dispatcher, over real sockets and over the fake network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "net/endpoint/test_contract_world.h"
#include "rpc/channel.h"
#include "rpc/newest_stream.h"
#include "rpc/service.h"

namespace galen::rpc {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ContractStream final : public StreamSink {
 public:
  void OnMessage(std::string_view message) override { messages.emplace_back(message); }
  void OnEnd(const Status& status) override { end = status; }

  std::vector<std::string> messages;
  std::optional<Status> end;
};

class RpcContract : public ::testing::TestWithParam<net::ContractWorld::Kind> {
 protected:
  RpcContract() {
    dispatcher_.AddUnary("/t.T/Echo", [](std::string_view request, const Caller&, Reply reply) {
      reply(std::string(request));
    });
    dispatcher_.AddUnary("/t.T/Fail", [](std::string_view, const Caller&, Reply reply) {
      reply(NotFound("no \"gpu-0\" at 100% — 无\nsecond line"));
    });
    dispatcher_.AddUnary("/t.T/Keep", [this](std::string_view, const Caller&, Reply reply) {
      kept_ = std::move(reply);
    });
    dispatcher_.AddStream("/t.T/Watch", [this](std::string_view, const Caller& caller,
                                               std::unique_ptr<StreamWriter> writer) {
      caller_ = caller;
      writers_.push_back(std::move(writer));
    });
    world_->Listen(dispatcher_);
    connection_ = world_->Connect();
    channel_.emplace(world_->loop(), *connection_);
  }

  StatusOr<std::string> Ask(std::string_view method, std::string request, Duration deadline = 5s) {
    std::optional<StatusOr<std::string>> answer;
    const auto call = channel_->Unary(method, std::move(request), deadline,
                                      [&](StatusOr<std::string> got) { answer = std::move(got); });
    EXPECT_FALSE(answer.has_value());
    world_->RunUntil([&] { return answer.has_value(); });
    return *std::move(answer);
  }

  const std::unique_ptr<net::ContractWorld> world_ = net::ContractWorld::Make(GetParam());
  Dispatcher dispatcher_{world_->loop()};
  Reply kept_;
  Caller caller_;
  std::vector<std::unique_ptr<StreamWriter>> writers_;
  std::unique_ptr<net::Connection> connection_;
  std::optional<Channel> channel_;
  ContractStream stream_;
};

TEST_P(RpcContract, UnaryCallBringsItsAnswer) { EXPECT_EQ(*Ask("/t.T/Echo", "hello"), "hello"); }

TEST_P(RpcContract, EmptyMessageIsAMessage) { EXPECT_EQ(*Ask("/t.T/Echo", ""), ""); }

TEST_P(RpcContract, MessagesOfAMegabyteArriveUnharmed) {
  const std::string big(1'000'000, 'm');
  EXPECT_TRUE(*Ask("/t.T/Echo", big) == big);
}

TEST_P(RpcContract, ErrorKeepsItsCodeAndOddCharacters) {
  const Status status = Ask("/t.T/Fail", "").status();
  // In one line, whatever a stranger puts into it: it ends up in logs and on terminals.
  EXPECT_EQ(status, NotFound("no \"gpu-0\" at 100% — 无 second line"));
}

TEST_P(RpcContract, UnknownMethodIsUnimplementedAndNamed) {
  const Status status = Ask("/t.T/Nothing", "").status();
  EXPECT_EQ(status.code(), Code::kUnimplemented);
  EXPECT_THAT(status.message(), HasSubstr("/t.T/Nothing"));
}

TEST_P(RpcContract, MessageThatIsTooLargeIsRefusedByTheServer) {
  const Status status = Ask("/t.T/Echo", std::string(5'000'000, 'm')).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("5000000"));
}

TEST_P(RpcContract, AnswerThatIsTooLargeIsRefusedByTheClient) {
  Channel narrow(world_->loop(), *connection_, {.message_bytes_max = 10});
  std::optional<Status> status;
  const auto call = narrow.Unary("/t.T/Echo", "eleven byte", 5s,
                                 [&](StatusOr<std::string> got) { status = got.status(); });
  world_->RunUntil([&] { return status.has_value(); });
  EXPECT_EQ(status->code(), Code::kResourceExhausted);
}

TEST_P(RpcContract, SilentMethodEndsAtTheDeadline) {
  EXPECT_EQ(Ask("/t.T/Keep", "", 20ms).status().code(), Code::kDeadlineExceeded);
  kept_(std::string("too late"));  // to nobody, without harm
}

TEST_P(RpcContract, ForgottenReplyIsAnErrorNotSilence) {
  std::optional<Status> status;
  const auto call = channel_->Unary("/t.T/Keep", "", 5s,
                                    [&](StatusOr<std::string> got) { status = got.status(); });
  world_->RunUntil([&] { return static_cast<bool>(kept_); });
  kept_ = {};
  world_->RunUntil([&] { return status.has_value(); });
  EXPECT_EQ(status->code(), Code::kInternal);
}

TEST_P(RpcContract, StreamBringsMessagesThenItsStatus) {
  const auto call = channel_->ServerStream("/t.T/Watch", "", stream_);
  world_->RunUntil([&] { return !writers_.empty(); });
  writers_[0]->Write("one");
  writers_[0]->Write("two");
  world_->RunUntil([&] { return stream_.messages.size() == 2; });
  EXPECT_FALSE(stream_.end.has_value());
  writers_[0]->Finish(Aborted("enough"));
  world_->RunUntil([&] { return stream_.end.has_value(); });
  EXPECT_THAT(stream_.messages, ElementsAre("one", "two"));
  EXPECT_EQ(*stream_.end, Aborted("enough"));
}

TEST_P(RpcContract, StreamMayEndWithoutAMessage) {
  const auto call = channel_->ServerStream("/t.T/Watch", "", stream_);
  world_->RunUntil([&] { return !writers_.empty(); });
  writers_[0]->Finish(OkStatus());
  world_->RunUntil([&] { return stream_.end.has_value(); });
  EXPECT_TRUE(stream_.end->ok());
}

TEST_P(RpcContract, ForgottenStreamEndsAsUnavailable) {
  const auto call = channel_->ServerStream("/t.T/Watch", "", stream_);
  world_->RunUntil([&] { return !writers_.empty(); });
  writers_[0]->Write("one");
  writers_.clear();
  world_->RunUntil([&] { return stream_.end.has_value(); });
  EXPECT_THAT(stream_.messages, ElementsAre("one"));
  EXPECT_EQ(stream_.end->code(), Code::kUnavailable);
}

TEST_P(RpcContract, CancelledStreamNotifiesItsWriter) {
  auto call = channel_->ServerStream("/t.T/Watch", "", stream_);
  world_->RunUntil([&] { return !writers_.empty(); });
  bool gone = false;
  writers_[0]->OnGone([&] {
    gone = true;
    writers_.clear();
  });
  call.reset();
  world_->RunUntil([&] { return gone; });
  EXPECT_FALSE(stream_.end.has_value());
}

TEST_P(RpcContract, ServerThatDiesEndsCallsAsUnavailable) {
  const auto call = channel_->ServerStream("/t.T/Watch", "", stream_);
  std::optional<Status> status;
  const auto unary = channel_->Unary("/t.T/Keep", "", 5s,
                                     [&](StatusOr<std::string> got) { status = got.status(); });
  world_->RunUntil([&] { return !writers_.empty() && static_cast<bool>(kept_); });
  world_->StopServer();
  world_->RunUntil([&] { return stream_.end.has_value() && status.has_value(); });
  EXPECT_EQ(stream_.end->code(), Code::kUnavailable);
  EXPECT_EQ(status->code(), Code::kUnavailable);
}

TEST_P(RpcContract, CallerOnAUnixSocketIsKnownByItsCredentials) {
  const auto call = channel_->ServerStream("/t.T/Watch", "", stream_);
  world_->RunUntil([&] { return !writers_.empty(); });
  EXPECT_EQ(caller_.credentials.has_value(), GetParam() != net::ContractWorld::Kind::kTls);
}

TEST_P(RpcContract, NewestSnapshotReplacesThoseThatWait) {
  const auto call = channel_->ServerStream("/t.T/Watch", "", stream_);
  world_->RunUntil([&] { return !writers_.empty(); });
  NewestStream newest(std::move(writers_[0]), [] {});
  newest.Send("first");
  for (int i = 0; i < 100; ++i) newest.Send("between");
  newest.Send("last");
  EXPECT_EQ(newest.merged(), 100U);
  world_->RunUntil([&] { return stream_.messages.size() == 2; });
  newest.Send("more");
  newest.Finish(OkStatus());
  world_->RunUntil([&] { return stream_.end.has_value(); });
  EXPECT_THAT(stream_.messages, ElementsAre("first", "last", "more"));
}

TEST_P(RpcContract, NewestStreamSendsWhatWaitsBeforeItsEnd) {
  const auto call = channel_->ServerStream("/t.T/Watch", "", stream_);
  world_->RunUntil([&] { return !writers_.empty(); });
  NewestStream newest(std::move(writers_[0]), [] {});
  newest.Send("first");
  newest.Send("last");
  newest.Finish(OkStatus());
  world_->RunUntil([&] { return stream_.end.has_value(); });
  EXPECT_THAT(stream_.messages, ElementsAre("first", "last"));
}

TEST_P(RpcContract, NewestStreamMayDieWhenItsReaderLeaves) {
  auto call = channel_->ServerStream("/t.T/Watch", "", stream_);
  world_->RunUntil([&] { return !writers_.empty(); });
  std::unique_ptr<NewestStream> newest;
  newest = std::make_unique<NewestStream>(std::move(writers_[0]), [&] { newest.reset(); });
  newest->Send("first");
  call.reset();
  world_->RunUntil([&] { return newest == nullptr; });
  EXPECT_EQ(newest, nullptr);
  EXPECT_FALSE(stream_.end.has_value()) << "who left is not answered";
}

// Ends its own call as soon as something comes.
class LeavingStream final : public StreamSink {
 public:
  void OnMessage(std::string_view) override {
    ++messages;
    call.reset();
  }
  void OnEnd(const Status&) override { FAIL() << "a cancelled call received more"; }
  std::unique_ptr<Call> call;
  int messages = 0;
};

TEST_P(RpcContract, StreamMayBeCancelledFromWithinItsMessage) {
  LeavingStream leaving;
  leaving.call = channel_->ServerStream("/t.T/Watch", "", leaving);
  world_->RunUntil([&] { return !writers_.empty(); });
  writers_[0]->Write("one");
  writers_[0]->Write("two");
  world_->RunUntil([&] { return leaving.call == nullptr; });
  EXPECT_EQ(leaving.messages, 1);
}

INSTANTIATE_TEST_SUITE_P(Worlds, RpcContract,
                         ::testing::Values(net::ContractWorld::Kind::kUnixSocket,
                                           net::ContractWorld::Kind::kTls,
                                           net::ContractWorld::Kind::kFakeNetwork),
                         [](const auto& world) { return net::ToString(world.param); });

}  // namespace
}  // namespace galen::rpc
