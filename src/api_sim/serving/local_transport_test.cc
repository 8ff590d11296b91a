#include "api_sim/serving/local_transport.h"

#include <gtest/gtest.h>

#include "api_sim/serving/fake_api_client.h"

namespace galen::api_sim {
namespace {

// Keeps each exchange for the test to answer.
class Keeper final : public net::HttpHandler {
 public:
  void Handle(std::unique_ptr<net::HttpExchange> exchange) override {
    last = std::move(exchange);
    last->OnGone([this] { gone = true; });
  }

  std::unique_ptr<net::HttpExchange> last;
  bool gone = false;
};

class LocalTransportTest : public testing::Test {
 protected:
  std::unique_ptr<net::HttpCall> Send() {
    auto call = transport_.Send({.method = "GET", .path = "/x", .headers = {}, .body = {}}, got_);
    EXPECT_EQ(got_.code(), 0);  // never before Send returns
    loop_.RunUntilIdle();
    return call;
  }

  FakeLoop loop_;
  Keeper keeper_;
  LocalTransport transport_{loop_, keeper_, {{"authorization", "Bearer t"}}};
  Exchanged got_;
};

TEST_F(LocalTransportTest, CarriesTheAnswerInOrder) {
  const auto call = Send();
  EXPECT_EQ(net::FindHeader(keeper_.last->request().headers, "authorization"), "Bearer t");
  keeper_.last->Head(201, {{"a", "b"}});
  keeper_.last->Write("one ");
  keeper_.last->Write("two");
  EXPECT_EQ(keeper_.last->queued(), 7u);
  loop_.RunUntilIdle();
  EXPECT_EQ(keeper_.last->queued(), 0u);
  EXPECT_FALSE(got_.ended());
  keeper_.last->End();
  loop_.RunUntilIdle();
  EXPECT_EQ(got_.code(), 201);
  EXPECT_EQ(got_.text(), "one two");
  EXPECT_TRUE(got_.ended());
}

TEST_F(LocalTransportTest, NotifiesTheServerWhenTheClientWentAway) {
  auto call = Send();
  call.reset();
  loop_.RunUntilIdle();
  EXPECT_TRUE(keeper_.gone);
  keeper_.last->Write("late");
  loop_.RunUntilIdle();
  EXPECT_EQ(got_.text(), "");
}

TEST_F(LocalTransportTest, AServerThatAsksLateIsNotifiedToo) {
  auto call = Send();
  keeper_.last->Write("for nobody");
  call.reset();
  loop_.RunUntilIdle();
  EXPECT_EQ(keeper_.last->queued(), 0u);
  bool gone = false;
  keeper_.last->OnGone([&] {
    gone = true;
    keeper_.last.reset();
  });
  EXPECT_FALSE(gone) << "not from inside the call";
  loop_.RunUntilIdle();
  EXPECT_TRUE(gone);
}

TEST_F(LocalTransportTest, EndsTheCallWhenTheServerDropsIt) {
  const auto call = Send();
  keeper_.last.reset();
  loop_.RunUntilIdle();
  EXPECT_TRUE(got_.ended());
  EXPECT_FALSE(keeper_.gone);
}

TEST_F(LocalTransportTest, SaysWhenEverythingWasTaken) {
  const auto call = Send();
  int drained = 0;
  keeper_.last->OnDrained([&drained] { ++drained; });
  keeper_.last->Head(200, {});
  loop_.RunUntilIdle();
  EXPECT_EQ(drained, 0);
  keeper_.last->Write("x");
  loop_.RunUntilIdle();
  EXPECT_EQ(drained, 1);
}

}  // namespace
}  // namespace galen::api_sim
