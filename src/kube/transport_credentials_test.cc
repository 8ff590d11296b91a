// The transport and credentials that are refused, rotate or must be waited for.
#include <gtest/gtest.h>

#include "kube/test_transport.h"

namespace galen::kube {
namespace {

using namespace std::chrono_literals;

TEST_F(TransportTest, WaitsForAPluginAndRunsItOnce) {
  UsePlugin();
  Create();
  const auto a = Ask(), b = Ask();
  loop_.Advance(1s);
  EXPECT_EQ(exec_.plugins().size(), 1u);
  EXPECT_TRUE(dialer_.dials.empty());
  exec_.Finish(Token("one"));
  loop_.Advance(10ms);
  EXPECT_EQ(SentHeader(0, "authorization"), "Bearer one");
  EXPECT_EQ(SentHeader(1, "authorization"), "Bearer one");
}

TEST_F(TransportTest, FailsAllThatWaitWhenAPluginFails) {
  UsePlugin();
  exec_.AnswerNext(Unauthenticated("ended with exit code 1"));
  Create();
  const auto asked = Ask();
  loop_.RunUntilIdle();
  EXPECT_EQ(ToString(asked->end),
            "Unauthenticated: credential plugin \"login\": ended with exit code 1");
}

TEST_F(TransportTest, TriesOnceMoreWithNewCredentialsAfterA401) {
  UsePlugin();
  exec_.AnswerNext(Token("one"));
  exec_.AnswerNext(Token("two"));
  answers_.AnswerNext({.status = 401, .body = "go away"});
  answers_.AnswerNext({.body = "welcome"});
  Create();
  const auto asked = Ask();
  loop_.Advance(10ms);
  EXPECT_EQ(asked->text, "200 welcome.");
  EXPECT_EQ(SentHeader(1, "authorization"), "Bearer two");
}

TEST_F(TransportTest, ShowsARotatedCertificateAfterA401) {
  Put("/pki/cert", "cert 1");
  Put("/pki/key", "key 1");
  config_.credentials.certificate_file = "/pki/cert";
  config_.credentials.key_file = "/pki/key";
  answers_.AnswerNext({.body = "welcome"});
  answers_.AnswerNext({.status = 401, .body = "expired"});
  answers_.AnswerNext({.body = "welcome again"});
  answers_.AnswerNext({.status = 401, .body = "no"});
  Create();
  const auto first = Ask();
  loop_.Advance(10ms);
  Put("/pki/cert", "cert 2");
  const auto second = Ask();
  loop_.Advance(20ms);
  EXPECT_EQ(second->text, "200 welcome again.");
  ASSERT_EQ(dialer_.dials.size(), 2u);
  EXPECT_EQ(dialer_.dials[1].tls->certificate_pem, "cert 2");
  const auto third = Ask();
  loop_.Advance(20ms);
  EXPECT_EQ(third->text, "401 no.") << "the files hold nothing newer";
  EXPECT_EQ(dialer_.dials.size(), 2u);
}

TEST_F(TransportTest, RunsAPluginWhoseAnswersHaveExpiredOnceForManyCalls) {
  UsePlugin();
  const std::string past = FormatRfc3339(loop_.WallNow() - 1h);
  const std::string expired =
      Token("one\",\"expirationTimestamp\":\"" + past);  // closes the quotes of the token
  for (int i = 0; i < 5; ++i) exec_.AnswerNext(expired);
  answers_.AnswerNext({.body = "a"});
  answers_.AnswerNext({.body = "b"});
  Create();
  const auto a = Ask(), b = Ask();
  loop_.Advance(1s);
  EXPECT_EQ(a->text, "200 a.");
  EXPECT_EQ(b->text, "200 b.");
  EXPECT_EQ(exec_.plugins().size(), 1u);
}

TEST_F(TransportTest, PassesASecond401On) {
  UsePlugin();
  exec_.AnswerNext(Token("one"));
  exec_.AnswerNext(Token("two"));
  answers_.AnswerNext({.status = 401});
  answers_.AnswerNext({.status = 401, .body = "no"});
  Create();
  const auto asked = Ask();
  loop_.Advance(10ms);
  EXPECT_EQ(asked->text, "401 no.");
  EXPECT_EQ(answers_.requests().size(), 2u);
}

TEST_F(TransportTest, PassesA401OnWhenThereIsNothingElseToShow) {
  config_.credentials.token = "t";
  answers_.AnswerNext({.status = 401});
  Create();
  const auto asked = Ask();
  loop_.Advance(10ms);
  EXPECT_EQ(asked->text, "401 .");
}

}  // namespace
}  // namespace galen::kube
