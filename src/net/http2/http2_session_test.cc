// The session alone, against bytes; calls and exchanges are tested with client and server.
#include "net/http2/http2_session.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/loop/fake_loop.h"
#include "net/fake_memory_stream.h"
#include "net/http2/test_http2_frames.h"

namespace galen::net {
namespace {

// Notes how the session ended and otherwise lets things pass.
class QuietEvents final : public Http2Session::Events {
 public:
  void OnHeadersBegin(std::int32_t) override {}
  void OnHeader(std::int32_t, std::string_view, std::string_view) override {}
  void OnHeadersEnd(std::int32_t, bool) override {}
  bool OnData(std::int32_t, std::string_view) override { return true; }
  void OnDataEnd(std::int32_t) override {}
  void OnStreamClosed(std::int32_t, Http2Error) override {}
  Http2Session::BodyPiece ReadBody(std::int32_t, char*, std::size_t) override {
    return {.bytes = 0, .then = Http2Session::BodyPiece::Then::kEnd};
  }
  void OnTurn() override { ++turns; }
  void OnSessionEnd(const Status& status) override { end = status; }

  int turns = 0;
  Status end;
};

class Http2SessionTest : public ::testing::Test {
 protected:
  Http2SessionTest() { pair_.left->SetSink(peer_); }

  FakeLoop loop_;
  RecordingByteSink peer_;
  MemoryStream::Pair pair_ = MemoryStream::Make(loop_);
  QuietEvents events_;
  Http2Session session_{loop_, std::move(pair_.right), {}, events_};
};

TEST_F(Http2SessionTest, FramesOfOneTurnLeaveTogetherAndLater) {
  session_.Start({});
  const auto first = session_.SubmitRequest({{":method", "GET"}, {":path", "/1"}}, false);
  const auto second = session_.SubmitRequest({{":method", "GET"}, {":path", "/2"}}, false);
  EXPECT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(peer_.received, "");
  loop_.RunUntilIdle();
  const auto frames = DecodeFrames(std::string_view(peer_.received).substr(kClientPreface.size()));
  ASSERT_EQ(frames.size(), 4U);  // settings, the connection's window, two requests
  EXPECT_EQ(frames[0].type, kSettingsFrame);
  EXPECT_EQ(frames[1].type, kWindowUpdateFrame);
  EXPECT_EQ(frames[3].type, kHeadersFrame);
}

TEST_F(Http2SessionTest, BytesReadBeforeItStartedAreNotLost) {
  session_.Start(Encode({.type = kSettingsFrame}) +
                 Encode({.type = kPingFrame, .payload = "12345678"}));
  loop_.RunUntilIdle();
  const auto frames = DecodeFrames(std::string_view(peer_.received).substr(kClientPreface.size()));
  const auto pong = std::find_if(frames.begin(), frames.end(),
                                 [](const RawFrame& f) { return f.type == kPingFrame; });
  ASSERT_NE(pong, frames.end());
  EXPECT_EQ(pong->payload, "12345678");
}

TEST_F(Http2SessionTest, BrokenPeerIsToldWhyBeforeTheEnd) {
  session_.Start(Encode({.type = kSettingsFrame}));
  pair_.left->Write(Encode({.type = kWindowUpdateFrame, .stream = 0, .payload = Number(0)}));
  loop_.RunUntilIdle();
  EXPECT_TRUE(session_.over());
  EXPECT_FALSE(peer_.closed.ok());
  EXPECT_EQ(events_.end.code(), Code::kUnavailable);
  const auto frames = DecodeFrames(std::string_view(peer_.received).substr(kClientPreface.size()));
  EXPECT_EQ(frames.back().type, kGoawayFrame);
}

TEST_F(Http2SessionTest, NothingHappensOnceItIsOver) {
  session_.Start({});
  pair_.left.reset();
  loop_.RunUntilIdle();
  EXPECT_TRUE(session_.over());
  const int turns = events_.turns;
  session_.Reset(1, Http2Error::kCancel);
  session_.Goaway();
  loop_.RunUntilIdle();
  EXPECT_EQ(events_.turns, turns);
}

TEST(Http2Error, HasTheNameOfTheStandard) {
  EXPECT_EQ(ToString(Http2Error::kRefusedStream), "REFUSED_STREAM");
  EXPECT_FALSE(ToString(Http2Error{12345}).empty());
}

}  // namespace
}  // namespace galen::net
