#include "kube/authenticator.h"

#include <gtest/gtest.h>

#include "base/data/json.h"
#include "base/files/fake_file_system.h"
#include "base/loop/fake_loop.h"
#include "kube/fake_exec_runner.h"

namespace galen::kube {
namespace {

using namespace std::chrono_literals;

class AuthenticatorTest : public testing::Test {
 protected:
  void Put(const std::string& path, std::string_view text) {
    ASSERT_TRUE(files_.MakeDirectories(path.substr(0, path.rfind('/')), 0755).ok());
    ASSERT_TRUE(files_.WriteAtomically(path, text, 0600).ok());
  }
  Authenticator& Make() {
    authenticator_.emplace(loop_, NullLog(), files_, exec_, config_);
    return *authenticator_;
  }
  // Prepares and gives the Authorization header, or why there is none.
  std::string Prepared() {
    std::string result = "waits";
    authenticator_->Prepare([&](const Status& status) {
      result = status.ok() ? authenticator_->authorization() : ToString(status);
    });
    return result;
  }
  std::string Token(std::string_view token, std::string_view more = "") const {
    return fmt::format(
        R"({{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",)"
        R"("status":{{"token":"{}"{}}}}})",
        token, more);
  }
  void UsePlugin() {
    config_.credentials.exec = ExecPlugin{.api_version = "client.authentication.k8s.io/v1",
                                          .command = {"login"},
                                          .install_hint = "see example.com"};
  }

  FakeLoop loop_;
  FakeFileSystem files_;
  FakeExecRunner exec_;
  ClusterConfig config_;
  std::optional<Authenticator> authenticator_;
};

TEST_F(AuthenticatorTest, ShowsAFixedTokenOrPassword) {
  config_.credentials.token = "t0ken\n";
  EXPECT_TRUE(Make().ready());
  EXPECT_EQ(authenticator_->authorization(), "Bearer t0ken");
  EXPECT_FALSE(authenticator_->Reject("Bearer t0ken", {})) << "there is no other";

  config_.credentials = {.username = "me", .password = "pw"};
  EXPECT_EQ(Make().authorization(), "Basic bWU6cHc=");
  config_.credentials = {};
  EXPECT_EQ(Make().authorization(), "");
}

TEST_F(AuthenticatorTest, ReadsATokenFileAgainWithinAMinute) {
  Put("/t/token", "one\n");
  config_.credentials.token_file = "/t/token";
  EXPECT_FALSE(Make().ready());
  EXPECT_EQ(Prepared(), "Bearer one");
  EXPECT_TRUE(authenticator_->ready());
  Put("/t/token", "two\n");
  loop_.Advance(Authenticator::kTokenFileAge - 1ns);
  EXPECT_TRUE(authenticator_->ready());
  loop_.Advance(1ns);
  EXPECT_FALSE(authenticator_->ready());
  EXPECT_EQ(Prepared(), "Bearer two");
}

TEST_F(AuthenticatorTest, KeepsTheLastTokenWhileTheFileIsGoneOrEmpty) {
  config_.credentials.token_file = "/t/token";
  Make();
  EXPECT_TRUE(Prepared().starts_with("Unauthenticated: token file /t/token: ")) << Prepared();
  Put("/t/token", "one");
  EXPECT_EQ(Prepared(), "Bearer one");
  Put("/t/token", "\n");
  EXPECT_EQ(Prepared(), "Bearer one");
  EXPECT_TRUE(files_.Remove("/t/token").ok());
  EXPECT_EQ(Prepared(), "Bearer one");
}

TEST_F(AuthenticatorTest, ARefusedTokenIsTriedAgainOnlyWhenTheFileHasAnother) {
  Put("/t/token", "one");
  config_.credentials.token_file = "/t/token";
  Make();
  Prepared();
  EXPECT_FALSE(authenticator_->Reject("Bearer one", {}));
  Put("/t/token", "two");
  EXPECT_TRUE(authenticator_->Reject("Bearer one", {}));
  EXPECT_EQ(authenticator_->authorization(), "Bearer two");
  EXPECT_TRUE(authenticator_->Reject("Bearer one", {})) << "a call that was under way meanwhile";
}

TEST_F(AuthenticatorTest, KeepsWhatAPluginGaveUntilShortlyBeforeItsEnd) {
  UsePlugin();
  EXPECT_FALSE(Make().ready());
  const std::string end = FormatRfc3339(loop_.WallNow() + 1h);
  exec_.AnswerNext(Token("one", R"(,"expirationTimestamp":")" + end + "\""));
  EXPECT_EQ(Prepared(), "Bearer one");
  loop_.Advance(1h - Authenticator::kExpirySkew - 1s);
  EXPECT_TRUE(authenticator_->ready());
  loop_.Advance(1s);
  EXPECT_FALSE(authenticator_->ready());
  exec_.AnswerNext(Token("two"));
  EXPECT_EQ(Prepared(), "Bearer two");
  loop_.Advance(24h * 365);
  EXPECT_TRUE(authenticator_->ready()) << "it named no end";
  EXPECT_EQ(exec_.plugins().size(), 2u);
}

TEST_F(AuthenticatorTest, RunsThePluginAgainWhenTheServerRefusesWhatItGave) {
  UsePlugin();
  Make();
  exec_.AnswerNext(Token("one"));
  Prepared();
  EXPECT_TRUE(authenticator_->Reject("Bearer one", {}));
  EXPECT_FALSE(authenticator_->ready());
}

TEST_F(AuthenticatorTest, GivesThePluginItsRequestAndWaitsForIt) {
  UsePlugin();
  config_.credentials.exec->environment = {"REGION=eu"};
  Make();
  EXPECT_EQ(Prepared(), "waits");
  ASSERT_EQ(exec_.plugins().size(), 1u);
  EXPECT_EQ(exec_.plugins()[0].environment[0], "REGION=eu");
  EXPECT_TRUE(exec_.plugins()[0].environment[1].starts_with("KUBERNETES_EXEC_INFO={"));
}

TEST_F(AuthenticatorTest, SaysWhyAPluginDidNotHelpAndWhereToGetIt) {
  UsePlugin();
  Make();
  exec_.AnswerNext(NotFound("no such program"));
  EXPECT_EQ(Prepared(),
            "Unauthenticated: credential plugin \"login\": no such program; see example.com");
  exec_.AnswerNext(std::string("{}"));
  EXPECT_EQ(Prepared(),
            "Unauthenticated: credential plugin \"login\": its output is not an "
            "ExecCredential; see example.com");
}

TEST_F(AuthenticatorTest, APluginThatEndsAfterUsFindsNobody) {
  UsePlugin();
  Make().Prepare([](const Status&) { FAIL() << "called after its end"; });
  authenticator_.reset();
  exec_.Finish(Token("late"));
}

TEST_F(AuthenticatorTest, ReadsCertificateFilesForEachConnection) {
  Put("/c/cert", "cert 1");
  Put("/c/key", "key 1");
  config_.credentials.certificate_file = "/c/cert";
  config_.credentials.key_file = "/c/key";
  Make();
  EXPECT_EQ(*authenticator_->Certificate(), (ClientCertificate{"cert 1", "key 1"}));
  Put("/c/cert", "cert 2");
  EXPECT_EQ(authenticator_->Certificate()->certificate_pem, "cert 2");
  EXPECT_TRUE(files_.Remove("/c/key").ok());
  EXPECT_EQ(authenticator_->Certificate().status().code(), Code::kNotFound);
}

TEST_F(AuthenticatorTest, ARefusedCertificateIsTriedAgainOnlyWhenItsFilesHaveAnother) {
  Put("/c/cert", "cert 1");
  Put("/c/key", "key 1");
  config_.credentials.certificate_file = "/c/cert";
  config_.credentials.key_file = "/c/key";
  const ClientCertificate shown = *Make().Certificate();
  EXPECT_FALSE(authenticator_->Reject("", shown));
  EXPECT_FALSE(authenticator_->Outdated(shown));
  Put("/c/cert", "cert 2");
  Put("/c/key", "key 2");
  EXPECT_FALSE(authenticator_->Outdated(shown)) << "a connection that works is left alone";
  EXPECT_TRUE(authenticator_->Reject("", shown));
  EXPECT_TRUE(authenticator_->Outdated(shown));
  EXPECT_TRUE(authenticator_->Reject("", shown)) << "a call that was under way meanwhile";
  EXPECT_FALSE(authenticator_->Outdated(*authenticator_->Certificate()));
  EXPECT_TRUE(files_.Remove("/c/key").ok());
  EXPECT_FALSE(authenticator_->Reject("", {"cert 2", "key 2"})) << "it cannot be read just now";
}

TEST_F(AuthenticatorTest, UsesWhatAPluginGaveForAWhileWhateverItsEndSays) {
  UsePlugin();
  Make();
  const std::string past = FormatRfc3339(loop_.WallNow() - 1h);  // or our clock is ahead
  for (int i = 1; i <= 3; ++i) {
    exec_.AnswerNext(Token(std::to_string(i), R"(,"expirationTimestamp":")" + past + "\""));
    EXPECT_EQ(Prepared(), "Bearer " + std::to_string(i));
    EXPECT_TRUE(authenticator_->ready());
    loop_.Advance(Authenticator::kUseAtLeast);
    EXPECT_FALSE(authenticator_->ready());
  }
}

TEST_F(AuthenticatorTest, ACertificateOfAPluginOutdatesConnectionsWithAnother) {
  UsePlugin();
  Make();
  exec_.AnswerNext(Token("t"));
  Prepared();
  EXPECT_FALSE(authenticator_->Outdated({}));
  exec_.AnswerNext(Token("", R"(,"clientCertificateData":"c","clientKeyData":"k")"));
  EXPECT_EQ(Prepared(), "");
  EXPECT_EQ(*authenticator_->Certificate(), (ClientCertificate{"c", "k"}));
  EXPECT_TRUE(authenticator_->Outdated({}));
  EXPECT_FALSE(authenticator_->Outdated({"c", "k"}));
}

const ExecPlugin kPlugin{.api_version = "client.authentication.k8s.io/v1", .command = {"login"}};

std::string Output(std::string_view status) {
  return fmt::format(R"({{"apiVersion":"{}","kind":"ExecCredential","status":{}}})",
                     kPlugin.api_version, status);
}

TEST(ExecCredential, ReadsATokenWithItsEnd) {
  const auto credential = ParseExecCredential(
      kPlugin, Output(R"({"token":"t","expirationTimestamp":"2026-11-21T15:00:00Z"})"));
  ASSERT_TRUE(credential.ok());
  EXPECT_EQ(credential->token, "t");
  EXPECT_EQ(FormatRfc3339(*credential->expires), "2026-11-21T15:00:00Z");
}

TEST(ExecCredential, ReadsACertificateWithItsKey) {
  const auto credential = ParseExecCredential(
      kPlugin, Output(R"({"clientCertificateData":"cert","clientKeyData":"key"})"));
  ASSERT_TRUE(credential.ok());
  EXPECT_EQ(*credential, (ExecCredential{.certificate_pem = "cert", .key_pem = "key"}));
}

TEST(ExecCredential, RefusesWhatCannotBeUsedAndNeverShowsIt) {
  for (const std::string& output :
       {std::string("secret"), std::string(R"({"kind":"Secret"})"), Output("{}"), Output("null"),
        Output(R"({"clientCertificateData":"secret"})"),
        Output(R"({"token":"secret","expirationTimestamp":"soon"})"),
        std::string(R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1",
                        "status":{"token":"secret"}})")}) {
    const Status status = ParseExecCredential(kPlugin, output).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << output;
    EXPECT_EQ(status.message().find("secret"), std::string::npos) << status.message();
  }
}

TEST(ExecInfoVariable, GivesThePluginItsRequest) {
  ClusterConfig config;
  config.server = "https://api";
  config.ca_pem = "pem";
  EXPECT_EQ(ExecInfoVariable(kPlugin, config),
            R"(KUBERNETES_EXEC_INFO={"apiVersion":"client.authentication.k8s.io/v1",)"
            R"("kind":"ExecCredential","spec":{"interactive":false}})");
  ExecPlugin curious = kPlugin;
  curious.provide_cluster_info = true;
  EXPECT_NE(ExecInfoVariable(curious, config)
                .find(R"("cluster":{"certificate-authority-data":"cGVt","server":"https://api"})"),
            std::string::npos);
}

}  // namespace
}  // namespace galen::kube
