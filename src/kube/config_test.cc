#include "kube/config.h"

#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"

namespace galen::kube {
namespace {

const std::string kAccount = "/var/run/secrets/kubernetes.io/serviceaccount/";

void PutFile(FakeFileSystem& files, const std::string& path, std::string_view text) {
  ASSERT_TRUE(files.MakeDirectories(path.substr(0, path.rfind('/')), 0755).ok());
  ASSERT_TRUE(files.WriteAtomically(path, text, 0600).ok());
}

// Puts what a kubelet puts into a Pod.
void PutServiceAccount(FakeFileSystem& files) {
  PutFile(files, kAccount + "token", "t0ken\n");
  PutFile(files, kAccount + "ca.crt", "-----BEGIN CERTIFICATE-----");
  PutFile(files, kAccount + "namespace", "galen\n");
}

Environment InPod(std::string host) {
  return {{"KUBERNETES_SERVICE_HOST", std::move(host)}, {"KUBERNETES_SERVICE_PORT", "443"}};
}

TEST(InClusterConfig, IsWhatTheKubeletPutIntoThePod) {
  FakeFileSystem files;
  PutServiceAccount(files);
  const StatusOr<ClusterConfig> config = InClusterConfig(files, InPod("10.0.0.1"));
  ASSERT_TRUE(config.ok()) << ToString(config.status());
  EXPECT_EQ(config->server, "https://10.0.0.1:443");
  EXPECT_EQ(config->ca_file, kAccount + "ca.crt");
  EXPECT_EQ(config->credentials.token_file, kAccount + "token");
  EXPECT_EQ(config->credentials.token, "") << "it rotates, so the file is what counts";
  EXPECT_EQ(config->ns, "galen");
}

TEST(InClusterConfig, PutsIpv6IntoBrackets) {
  FakeFileSystem files;
  PutServiceAccount(files);
  EXPECT_EQ(InClusterConfig(files, InPod("fd00::1"))->server, "https://[fd00::1]:443");
}

TEST(InClusterConfig, SaysWhatIsMissing) {
  FakeFileSystem files;
  EXPECT_EQ(InClusterConfig(files, {}).status().code(), Code::kFailedPrecondition);
  const Status status = InClusterConfig(files, InPod("10.0.0.1")).status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_NE(status.message().find("service account"), std::string::npos);
}

TEST(FindConfig, PrefersAKubeconfigThatIsNamedOrFound) {
  FakeFileSystem files;
  PutServiceAccount(files);
  Environment environment = InPod("10.0.0.1");
  environment["HOME"] = "/me";
  EXPECT_EQ(FindConfig(files, environment, {})->server, "https://10.0.0.1:443");

  PutFile(files, "/me/.kube/config",
          "clusters: [{name: c, cluster: {server: 'http://home'}}]\n"
          "contexts: [{name: x, context: {cluster: c}}]\n"
          "current-context: x\n");
  EXPECT_EQ(FindConfig(files, environment, {})->server, "http://home");
  EXPECT_FALSE(FindConfig(files, environment, {.path = "/none"}).ok())
      << "what a person names is not replaced by something else";
  environment["KUBECONFIG"] = "/none";
  EXPECT_FALSE(FindConfig(files, environment, {}).ok());
}

TEST(FindConfig, SaysHowToNameAServer) {
  FakeFileSystem files;
  const Status status = FindConfig(files, {}, {}).status();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_NE(status.message().find("--kubeconfig"), std::string::npos);
}

}  // namespace
}  // namespace galen::kube
