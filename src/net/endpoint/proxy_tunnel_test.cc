#include "net/endpoint/proxy_tunnel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "base/loop/fake_loop.h"
#include "net/fake_memory_stream.h"

namespace galen::net {
namespace {

using ::testing::HasSubstr;

class ProxyTunnelTest : public ::testing::Test {
 protected:
  void Start(const ProxyTunnel::Options& options = {.target = "10.0.0.1:443",
                                                    .authorization = ""}) {
    pair_.left->SetSink(proxy_);
    tunnel_.emplace(std::move(pair_.right), options,
                    [this](StatusOr<std::unique_ptr<ByteStream>> through) {
                      status_ = through.status();
                      done_ = true;
                      if (!through.ok()) return;
                      through_ = *std::move(through);
                      through_->SetSink(client_);
                    });
    loop_.RunUntilIdle();
  }
  void Say(std::string_view bytes) {
    pair_.left->Write(bytes);
    loop_.RunUntilIdle();
  }

  FakeLoop loop_;
  RecordingByteSink proxy_;
  RecordingByteSink client_;
  MemoryStream::Pair pair_ = MemoryStream::Make(loop_);
  bool done_ = false;
  Status status_;
  std::unique_ptr<ByteStream> through_;
  std::optional<ProxyTunnel> tunnel_;
};

TEST_F(ProxyTunnelTest, ProxyIsAskedForTheTarget) {
  Start();
  EXPECT_EQ(proxy_.received, "CONNECT 10.0.0.1:443 HTTP/1.1\r\nHost: 10.0.0.1:443\r\n\r\n");
}

TEST_F(ProxyTunnelTest, ProxyIsShownOurPassword) {
  Start({.target = "a:1", .authorization = "Basic eDp5"});
  EXPECT_THAT(proxy_.received, HasSubstr("\r\nProxy-Authorization: Basic eDp5\r\n"));
}

TEST_F(ProxyTunnelTest, TunnelCarriesBytesOnceTheProxyAgrees) {
  Start();
  Say("HTTP/1.1 200 Connection est");
  EXPECT_FALSE(done_);
  Say("ablished\r\nVia: x\r\n\r\n");
  ASSERT_TRUE(status_.ok()) << status_.message();
  Say("from the target");
  EXPECT_EQ(client_.received, "from the target");
  proxy_.received.clear();
  through_->Write("to the target");
  loop_.RunUntilIdle();
  EXPECT_EQ(proxy_.received, "to the target");
}

struct Refusal {
  const char* answer;
  Code code;
  const char* words;
};
class ProxyTunnelRefusal : public ProxyTunnelTest, public ::testing::WithParamInterface<Refusal> {};

TEST_P(ProxyTunnelRefusal, IsToldInTheProxysWords) {
  Start();
  Say(GetParam().answer);
  ASSERT_TRUE(done_);
  EXPECT_EQ(status_.code(), GetParam().code);
  EXPECT_THAT(status_.message(), HasSubstr(GetParam().words));
}

INSTANTIATE_TEST_SUITE_P(
    Answers, ProxyTunnelRefusal,
    ::testing::Values(Refusal{"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
                              Code::kUnauthenticated, "407 Proxy"},
                      Refusal{"HTTP/1.1 403 Forbidden\r\n\r\n", Code::kPermissionDenied, "403"},
                      Refusal{"HTTP/1.1 502 Bad Gateway\r\n\r\n", Code::kUnavailable, "502 Bad"},
                      Refusal{"SSH-2.0-OpenSSH\r\n\r\n", Code::kUnavailable, "no HTTP: \"SSH-2.0"},
                      Refusal{"HTTP/1.1 200 OK\r\n\r\nintruder", Code::kUnavailable,
                              "bytes of its own"}));

TEST_F(ProxyTunnelTest, AnswerWithoutAnEndIsBounded) {
  Start();
  for (int i = 0; i < 10 && !done_; ++i) Say(std::string(3000, 'x'));
  EXPECT_EQ(status_.code(), Code::kUnavailable);
  EXPECT_THAT(status_.message(), HasSubstr("no end"));
}

TEST_F(ProxyTunnelTest, ProxyThatHangsUpIsAnError) {
  Start();
  pair_.left.reset();
  loop_.RunUntilIdle();
  EXPECT_EQ(status_.code(), Code::kUnavailable);
  EXPECT_THAT(status_.message(), HasSubstr("proxy"));
}

}  // namespace
}  // namespace galen::net
