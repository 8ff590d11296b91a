#include "kube/exec_credential.h"

#include <gtest/gtest.h>

#include "base/data/json.h"

namespace galen::kube {
namespace {

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

TEST(ExecInfoVariable, TellsThePluginWhatIsAsked) {
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
