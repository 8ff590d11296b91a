// The client against a server that is only bytes: what well-behaved servers never do, and time.
#include "net/http2/http2_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "base/loop/fake_loop.h"
#include "net/fake_memory_stream.h"
#include "net/fake_recording_sink.h"
#include "net/http2/test_http2_frames.h"

namespace galen::net {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class Http2ClientTest : public ::testing::Test {
 protected:
  Http2ClientTest() { Start({.peer = "unix:/s"}); }

  void Start(Http2Client::Options options) {
    client_.reset();
    server_ = RecordingByteSink();
    pair_ = MemoryStream::Make(loop_);
    pair_.left->SetSink(server_);
    client_ = std::make_unique<Http2Client>(loop_, std::move(pair_.right), std::move(options));
    client_->OnReady([this] { ready_ = true; });
    client_->OnClosed([this](const Status& why) { closed_ = why; });
  }

  void Serve(const RawFrame& frame) {
    pair_.left->Write(Encode(frame));
    loop_.RunUntilIdle();
  }
  void ServeHead(const Headers& fields, std::uint8_t flags = 0, std::uint32_t stream = 1) {
    Serve({kHeadersFrame, static_cast<std::uint8_t>(kEndHeaders | flags), stream,
           EncodeFields(fields)});
  }
  // Frames of one type that the client has sent so far.
  std::vector<RawFrame> Sent(std::uint8_t type) {
    loop_.RunUntilIdle();
    EXPECT_TRUE(server_.received.starts_with(kClientPreface));
    std::vector<RawFrame> frames =
        DecodeFrames(std::string_view(server_.received).substr(kClientPreface.size()));
    std::erase_if(frames, [&](const RawFrame& frame) { return frame.type != type; });
    return frames;
  }
  std::size_t SentBytes() {
    std::size_t out = 0;
    for (const RawFrame& frame : Sent(kDataFrame)) out += frame.payload.size();
    return out;
  }

  FakeLoop loop_;
  RecordingByteSink server_;
  MemoryStream::Pair pair_;
  bool ready_ = false;
  Status closed_;
  RecordingSink sink_;
  std::unique_ptr<Http2Client> client_;
};

TEST_F(Http2ClientTest, IsReadyOnceTheServerHasSentItsSettings) {
  loop_.RunUntilIdle();
  EXPECT_FALSE(ready_);
  Serve({.type = kSettingsFrame});
  EXPECT_TRUE(ready_);
}

TEST_F(Http2ClientTest, ServerThatSpeaksSomethingElseIsNamed) {
  const auto call = client_->Send({.path = "/"}, sink_);
  pair_.left->Write("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
  loop_.RunUntilIdle();
  EXPECT_EQ(sink_.end().code(), Code::kUnavailable);
  EXPECT_THAT(closed_.message(), HasSubstr("unix:/s"));
  EXPECT_FALSE(client_->usable());
}

TEST_F(Http2ClientTest, PreliminaryAnswersAreNotTheAnswer) {
  const auto call = client_->Send({.path = "/"}, sink_);
  Serve({.type = kSettingsFrame});
  ServeHead({{":status", "103"}, {"link", "x"}});
  EXPECT_EQ(sink_.status(), 0);
  ServeHead({{":status", "200"}, {"x-real", "1"}}, kEndStream);
  EXPECT_EQ(sink_.status(), 200);
  EXPECT_EQ(sink_.headers(), (Headers{{"x-real", "1"}}));
  EXPECT_TRUE(sink_.end().ok());
}

TEST_F(Http2ClientTest, AnswerWithTooManyHeadersIsRefusedAloneNotItsConnection) {
  Start({.peer = "unix:/s", .head_bytes_max = 100});
  const auto call = client_->Send({.path = "/"}, sink_);
  Serve({.type = kSettingsFrame});
  ServeHead({{":status", "200"}, {"x-a", std::string(90, 'a')}, {"x-b", std::string(90, 'b')}});
  EXPECT_EQ(sink_.end().code(), Code::kResourceExhausted);
  EXPECT_TRUE(client_->usable());
  EXPECT_EQ(Sent(kResetFrame).size(), 1U);
}

TEST_F(Http2ClientTest, AnswerThatEndsBeforeTheUploadStopsTheUpload) {
  const auto call =
      client_->Send({.method = "PUT", .path = "/", .body = std::string(200'000, 'x')}, sink_);
  Serve({.type = kSettingsFrame});
  ServeHead({{":status", "413"}}, kEndStream);
  EXPECT_EQ(sink_.status(), 413);
  EXPECT_TRUE(sink_.end().ok());
  ASSERT_EQ(Sent(kResetFrame).size(), 1U);
}

TEST_F(Http2ClientTest, UploadWaitsForTheServersWindow) {
  const auto call =
      client_->Send({.method = "PUT", .path = "/", .body = std::string(200'000, 'x')}, sink_);
  Serve({.type = kSettingsFrame});
  EXPECT_EQ(SentBytes(), 65'535U);
  Serve({.type = kWindowUpdateFrame, .stream = 0, .payload = Number(1000)});
  EXPECT_EQ(SentBytes(), 65'535U);
  Serve({.type = kWindowUpdateFrame, .stream = 1, .payload = Number(1000)});
  EXPECT_EQ(SentBytes(), 66'535U);
}

TEST_F(Http2ClientTest, OpenCallsFinishAfterGoawayAndNewOnesFail) {
  RecordingSink late;
  const auto call = client_->Send({.path = "/"}, sink_);
  Serve({.type = kSettingsFrame});
  Serve({.type = kGoawayFrame, .payload = Number(1) + Number(0) + "draining"});
  EXPECT_FALSE(client_->usable());
  EXPECT_TRUE(closed_.ok());
  const auto refused = client_->Send({.path = "/"}, late);
  loop_.RunUntilIdle();
  EXPECT_EQ(late.end().code(), Code::kUnavailable);
  ServeHead({{":status", "200"}}, kEndStream);
  EXPECT_TRUE(sink_.end().ok());
  EXPECT_EQ(closed_.code(), Code::kUnavailable);
  EXPECT_THAT(closed_.message(), HasSubstr("going away: NO_ERROR draining"));
}

TEST_F(Http2ClientTest, CallsThatGoawayLeavesOutMayBeTriedAgain) {
  const auto call = client_->Send({.path = "/"}, sink_);
  Serve({.type = kSettingsFrame});
  Serve({.type = kGoawayFrame, .payload = Number(0) + Number(0)});
  EXPECT_EQ(sink_.end().code(), Code::kUnavailable);
  EXPECT_FALSE(closed_.ok());
}

TEST_F(Http2ClientTest, CallsThatStillWaitForAStreamFailAtGoaway) {
  RecordingSink waiting;
  const std::string one_stream = std::string("\0\3", 2) + Number(1);
  Serve({.type = kSettingsFrame, .payload = one_stream});
  const auto call = client_->Send({.path = "/"}, sink_);
  const auto second = client_->Send({.path = "/"}, waiting);
  loop_.RunUntilIdle();
  EXPECT_EQ(Sent(kHeadersFrame).size(), 1U);
  Serve({.type = kGoawayFrame, .payload = Number(1) + Number(0)});
  loop_.RunUntilIdle();
  ASSERT_TRUE(waiting.ended());
  EXPECT_EQ(waiting.end().code(), Code::kUnavailable);
  EXPECT_FALSE(sink_.ended());
}

struct ResetCase {
  std::uint32_t error;
  Code code;
};
class Http2ClientReset : public Http2ClientTest, public ::testing::WithParamInterface<ResetCase> {};

TEST_P(Http2ClientReset, HasTheCodeThatItsReasonMeans) {
  const auto call = client_->Send({.path = "/"}, sink_);
  Serve({.type = kSettingsFrame});
  Serve({.type = kResetFrame, .stream = 1, .payload = Number(GetParam().error)});
  EXPECT_EQ(sink_.end().code(), GetParam().code);
  EXPECT_TRUE(client_->usable());
}

INSTANTIATE_TEST_SUITE_P(
    Reasons, Http2ClientReset,
    ::testing::Values(ResetCase{0, Code::kUnavailable}, ResetCase{2, Code::kUnavailable},
                      ResetCase{7, Code::kUnavailable}, ResetCase{8, Code::kCancelled},
                      ResetCase{11, Code::kResourceExhausted},
                      ResetCase{12, Code::kPermissionDenied}, ResetCase{999, Code::kUnavailable}));

TEST_F(Http2ClientTest, SilentServerIsAskedAndThenGivenUp) {
  Start({.peer = "unix:/s", .ping_after = 10s});
  Serve({.type = kSettingsFrame});
  loop_.Advance(9s);
  EXPECT_TRUE(Sent(kPingFrame).empty());
  loop_.Advance(1s);
  EXPECT_EQ(Sent(kPingFrame).size(), 1U);
  EXPECT_TRUE(closed_.ok());
  loop_.Advance(10s);
  EXPECT_EQ(closed_.code(), Code::kUnavailable);
  EXPECT_THAT(closed_.message(), HasSubstr("no answer to a PING"));
}

TEST_F(Http2ClientTest, ServerThatAnswersPingsIsKept) {
  Start({.peer = "unix:/s", .ping_after = 10s});
  Serve({.type = kSettingsFrame});
  for (std::size_t i = 1; i <= 5; ++i) {
    loop_.Advance(10s);
    const std::vector<RawFrame> pings = Sent(kPingFrame);
    ASSERT_EQ(pings.size(), i);
    Serve({.type = kPingFrame, .flags = 1, .payload = pings.back().payload});
  }
  EXPECT_TRUE(closed_.ok());
}

TEST_F(Http2ClientTest, AnythingHeardPutsThePingOff) {
  Start({.peer = "unix:/s", .ping_after = 10s});
  for (int i = 0; i < 5; ++i) {
    loop_.Advance(7s);
    Serve({.type = kSettingsFrame});
  }
  EXPECT_TRUE(Sent(kPingFrame).empty());
}

TEST_F(Http2ClientTest, CancelBeforeTheRequestLeftSendsNothingOfIt) {
  client_->Send({.path = "/"}, sink_).reset();
  Serve({.type = kSettingsFrame});
  EXPECT_TRUE(Sent(kHeadersFrame).empty());
}

TEST_F(Http2ClientTest, CallMayOutliveItsConnection) {
  const auto call = client_->Send({.path = "/"}, sink_);
  client_.reset();
  loop_.RunUntilIdle();
  EXPECT_FALSE(sink_.ended());
}

}  // namespace
}  // namespace galen::net
