#include "rpc/peer_gate.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/fake_keeping_handler.h"

namespace galen::rpc {
namespace {

// A call of somebody, and what it was answered.
class CallOf final : public net::HttpExchange {
 public:
  CallOf(std::optional<net::PeerCredentials> peer, net::Headers& answer)
      : peer_(peer), answer_(answer) {}

  const net::HttpRequest& request() const override { return request_; }
  std::optional<net::PeerCredentials> peer() const override { return peer_; }
  void Head(int, net::Headers headers) override { answer_ = std::move(headers); }
  void Write(std::string) override {}
  void End(net::Headers) override {}
  std::size_t queued() const override { return 0; }
  void OnDrained(std::function<void()>) override {}
  void OnGone(std::function<void()>) override {}

 private:
  const net::HttpRequest request_{.path = "/s/M"};
  const std::optional<net::PeerCredentials> peer_;
  net::Headers& answer_;
};

class PeerGateTest : public ::testing::Test {
 protected:
  // The gRPC status of the refusal, "" when the call was let through.
  std::string Call(std::optional<net::PeerCredentials> peer) {
    net::Headers answer;
    gate_.Handle(std::make_unique<CallOf>(peer, answer));
    return std::string(net::FindHeader(answer, "grpc-status").value_or(""));
  }

  std::vector<std::string> lines_;
  Log log_{LogLevel::kInfo, [] { return WallTime{}; },
           [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }};
  net::KeepingHandler behind_;
  PeerGate gate_{log_, 1000, behind_};
};

TEST_F(PeerGateTest, LetsRootAndItsOwnUserThrough) {
  EXPECT_EQ(Call(net::PeerCredentials{.pid = 1, .uid = 1000}), "");
  EXPECT_EQ(Call(net::PeerCredentials{.uid = 0}), "");
  EXPECT_EQ(Call(std::nullopt), "") << "over no unix socket";
  EXPECT_EQ(behind_.exchanges.size(), 3U);
  EXPECT_TRUE(lines_.empty());
}

TEST_F(PeerGateTest, RefusesAnotherUserAndLogsItOnce) {
  EXPECT_EQ(Call(net::PeerCredentials{.pid = 7, .uid = 1001}), "7") << "PERMISSION_DENIED";
  EXPECT_EQ(Call(net::PeerCredentials{.pid = 8, .uid = 1001}), "7");
  EXPECT_TRUE(behind_.exchanges.empty());
  ASSERT_EQ(lines_.size(), 1U);
  EXPECT_NE(lines_[0].find("uid=1001 pid=7 path=/s/M"), std::string::npos) << lines_[0];
}

}  // namespace
}  // namespace galen::rpc
