#include "web/token_gate.h"

#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"
#include "base/loop/fake_loop.h"
#include "base/metrics.h"
#include "web/asked_page.h"
#include "web/probe_page.h"

namespace galen::web {
namespace {

using namespace std::chrono_literals;

constexpr char kRefused[] = "401 this asks for a bearer token\n";

class TokenGateTest : public ::testing::Test {
 protected:
  TokenGateTest() { Write("s3cret\n"); }

  void Write(const std::string& token) {
    EXPECT_TRUE(files_.WriteAtomically("/token", token, 0600).ok());
  }
  std::string With(const std::string& authorization) {
    return asked_.Ask(
        {.method = "GET", .path = "/healthz", .headers = {{"authorization", authorization}}});
  }

  FakeLoop loop_;
  FakeFileSystem files_;
  Metrics metrics_;
  net::AdminPage page_{metrics_};
  ProbePage behind_{page_};
  TokenGate gate_{loop_, files_, "/token", behind_};
  AskedPage asked_{gate_};
};

TEST_F(TokenGateTest, LetsThroughWhoBringsTheToken) {
  EXPECT_EQ(With("Bearer s3cret"), "200 ok\n");
  EXPECT_EQ(With("bearer  s3cret "), "200 ok\n") << "a scheme is written in any case";
}

TEST_F(TokenGateTest, RefusesEverybodyElse) {
  EXPECT_EQ(asked_.Get("/healthz"), kRefused);
  for (const char* wrong : {"", "Bearer", "Bearer ", "Bearer s3cre", "Bearer s3crets",
                            "Bearer S3cret", "Basic s3cret", "s3cret"}) {
    EXPECT_EQ(With(wrong), kRefused) << wrong;
  }
}

TEST_F(TokenGateTest, AnotherTokenCountsWithinASecondAndNoneIsNobodys) {
  EXPECT_EQ(With("Bearer s3cret"), "200 ok\n");
  Write("other");
  loop_.Advance(1s);
  EXPECT_EQ(With("Bearer s3cret"), kRefused);
  EXPECT_EQ(With("Bearer other"), "200 ok\n");
  Write("\n");
  loop_.Advance(1s);
  EXPECT_EQ(With("Bearer "), kRefused);
  EXPECT_EQ(With("Bearer \n"), kRefused);
  EXPECT_EQ(With("Bearer other"), kRefused);
  EXPECT_TRUE(files_.Remove("/token").ok());
  loop_.Advance(1s);
  EXPECT_EQ(With("Bearer other"), kRefused);
}

TEST_F(TokenGateTest, FileIsReadAtMostOnceASecondHoweverOftenItIsAsked) {
  EXPECT_EQ(With("Bearer guess"), kRefused);
  Write("other");
  loop_.Advance(999ms);
  EXPECT_EQ(With("Bearer other"), kRefused) << "not looked at yet";
  loop_.Advance(1ms);
  EXPECT_EQ(With("Bearer other"), "200 ok\n");
}

}  // namespace
}  // namespace galen::web
