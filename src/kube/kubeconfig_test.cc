#include <gtest/gtest.h>

#include "base/data/base64.h"
#include "base/files/fake_file_system.h"
#include "kube/config.h"

namespace galen::kube {
namespace {

constexpr const char* kPath = "/me/.kube/config";
constexpr std::string_view kPem = "-----BEGIN CERTIFICATE-----\nx\n";

class KubeconfigTest : public testing::Test {
 protected:
  void Put(const std::string& path, std::string_view text) {
    ASSERT_TRUE(files_.MakeDirectories(path.substr(0, path.rfind('/')), 0755).ok());
    ASSERT_TRUE(files_.WriteAtomically(path, text, 0600).ok());
  }
  // A kubeconfig at the usual place with one cluster and user that have these fields more.
  void PutOne(std::string_view cluster, std::string_view user) {
    Put(kPath,
        fmt::format("apiVersion: v1\nkind: Config\n"
                    "clusters:\n- name: c\n  cluster:\n    server: https://127.0.0.1:6443\n{}"
                    "users:\n- name: u\n  user:\n    password: \"\"\n{}"
                    "contexts:\n- name: dev\n  context: {{cluster: c, user: u, namespace: train}}\n"
                    "current-context: dev\n",
                    cluster, user));
  }
  StatusOr<ClusterConfig> Load(const KubeconfigOptions& options = {}) {
    return LoadKubeconfig(files_, environment_, options);
  }
  std::string Fault() {
    const StatusOr<ClusterConfig> config = Load();
    return config.ok() ? "none" : ToString(config.status());
  }

  FakeFileSystem files_;
  Environment environment_{{"HOME", "/me"}};
};

TEST_F(KubeconfigTest, ReadsServerAndNamespaceOfTheCurrentContext) {
  PutOne("", "    token: t0ken\n");
  const StatusOr<ClusterConfig> config = Load();
  ASSERT_TRUE(config.ok()) << ToString(config.status());
  EXPECT_EQ(config->server, "https://127.0.0.1:6443");
  EXPECT_EQ(config->ns, "train");
  EXPECT_EQ(config->credentials.token, "t0ken");
}

TEST_F(KubeconfigTest, ReadsDataThatStandsInTheFile) {
  PutOne("    certificate-authority-data: " + EncodeBase64(kPem) + "\n",
         "    client-certificate-data: " + EncodeBase64(kPem) +
             "\n    client-key-data: " + EncodeBase64("-----BEGIN PRIVATE KEY-----") + "\n");
  const StatusOr<ClusterConfig> config = Load();
  ASSERT_TRUE(config.ok()) << ToString(config.status());
  EXPECT_EQ(config->ca_pem, kPem);
  EXPECT_EQ(config->credentials.certificate_pem, kPem);
  EXPECT_EQ(config->credentials.key_pem, "-----BEGIN PRIVATE KEY-----");
}

TEST_F(KubeconfigTest, RelativePathsStartAtTheFileThatNamesThem) {
  Put("/me/.kube/pki/ca.pem", kPem);
  Put("/me/.kube/c.pem", kPem);
  Put("/etc/key.pem", kPem);
  Put("/me/.kube/token", "t");
  PutOne("    certificate-authority: pki/ca.pem\n",
         "    client-certificate: c.pem\n    client-key: /etc/key.pem\n    tokenFile: token\n");
  const StatusOr<ClusterConfig> config = Load();
  ASSERT_TRUE(config.ok()) << ToString(config.status());
  EXPECT_EQ(config->ca_file, "/me/.kube/pki/ca.pem");
  EXPECT_EQ(config->credentials.certificate_file, "/me/.kube/c.pem");
  EXPECT_EQ(config->credentials.key_file, "/etc/key.pem");
  EXPECT_EQ(config->credentials.token_file, "/me/.kube/token");
}

TEST_F(KubeconfigTest, ReadsTheLessUsualFields) {
  PutOne(
      "    insecure-skip-tls-verify: true\n    tls-server-name: api.internal\n"
      "    proxy-url: http://proxy:3128\n",
      "    username: me\n");
  const StatusOr<ClusterConfig> config = Load();
  ASSERT_TRUE(config.ok()) << ToString(config.status());
  EXPECT_TRUE(config->skip_verification);
  EXPECT_EQ(config->tls_server_name, "api.internal");
  EXPECT_EQ(config->proxy_url, "http://proxy:3128");
  EXPECT_EQ(config->credentials.username, "me");
}

TEST_F(KubeconfigTest, TakesAProxyFromTheEnvironmentWhenItNamesNone) {
  Put(kPath,
      "clusters: [{name: c, cluster: {server: 'https://api'}},\n"
      "           {name: d, cluster: {server: 'https://api', proxy-url: 'http://own:1'}}]\n"
      "contexts: [{name: x, context: {cluster: c}}, {name: y, context: {cluster: d}}]\n");
  environment_["HTTPS_PROXY"] = "http://all:3128";
  EXPECT_EQ(Load({.context = "x"})->proxy_url, "http://all:3128");
  EXPECT_EQ(Load({.context = "y"})->proxy_url, "http://own:1");
}

TEST_F(KubeconfigTest, ReadsAnExecPlugin) {
  PutOne("", R"(    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ./bin/login
      args: [get-token, --cluster=x]
      env: [{name: REGION, value: eu}]
      installHint: install it from example.com
      interactiveMode: IfAvailable
      provideClusterInfo: true
)");
  const StatusOr<ClusterConfig> config = Load();
  ASSERT_TRUE(config.ok()) << ToString(config.status());
  const ExecPlugin& plugin = *config->credentials.exec;
  EXPECT_EQ(plugin.api_version, "client.authentication.k8s.io/v1");
  EXPECT_EQ(plugin.command,
            (std::vector<std::string>{"/me/.kube/./bin/login", "get-token", "--cluster=x"}));
  EXPECT_EQ(plugin.environment, (std::vector<std::string>{"REGION=eu"}));
  EXPECT_EQ(plugin.install_hint, "install it from example.com");
  EXPECT_TRUE(plugin.provide_cluster_info);
}

TEST_F(KubeconfigTest, ACommandWithoutASlashIsLeftToPath) {
  PutOne("", "    exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: aws}\n");
  EXPECT_EQ(Load()->credentials.exec->command, std::vector<std::string>{"aws"});
}

TEST_F(KubeconfigTest, MergesSeveralFilesAndTheFirstCounts) {
  Put("/a",
      "clusters: [{name: c, cluster: {server: 'http://first'}}]\n"
      "contexts: [{name: x, context: {cluster: c, user: u}}]\n");
  Put("/b",
      "clusters: [{name: c, cluster: {server: 'http://second'}}]\n"
      "users: [{name: u, user: {token: t}}]\n"
      "current-context: x\n");
  Put("/c", "current-context: y\n");
  environment_["KUBECONFIG"] = "/a::/missing:/b:/c";
  const StatusOr<ClusterConfig> config = Load();
  ASSERT_TRUE(config.ok()) << ToString(config.status());
  EXPECT_EQ(config->server, "http://first");
  EXPECT_EQ(config->credentials.token, "t");
}

TEST_F(KubeconfigTest, AnOptionNamesFileAndContext) {
  PutOne("", "");
  Put("/other",
      "clusters: [{name: c, cluster: {server: 'http://other'}}]\n"
      "contexts: [{name: x, context: {cluster: c}}, {name: y, context: {cluster: c, namespace: "
      "n}}]\n"
      "current-context: x\n");
  EXPECT_EQ(Load({.path = "/other"})->ns, "default");
  EXPECT_EQ(Load({.path = "/other", .context = "y"})->ns, "n");
  EXPECT_EQ(Load({.path = "/other", .context = "z"}).status().message(),
            "/other: --context: there is no context \"z\", only: x, y");
}

TEST_F(KubeconfigTest, ReportsEveryFaultAtOnceWithItsFileAndField) {
  Put(kPath, R"(clusters:
- cluster: {server: http://x}
- name: c
  cluster:
    server: 127.0.0.1
    certificate-authority: missing.pem
    certificate-authority-data: "***"
    insecure-skip-tls-verify: "yes"
- name: c
  cluster: {}
users:
- name: u
  user: {token: 12, client-certificate-data: LS0=, as: root}
- name: half
contexts:
- name: dev
  context: {cluster: c, user: u}
- name: bare
current-context: dev
)");
  const std::string fault = Fault();
  std::size_t at = 0;  // in this order
  for (const char* expected : {
           "clusters[0].name: is missing",
           "clusters[2].name: \"c\" is listed twice",
           "users[1].user: is missing",
           "contexts[1].context: is missing",
           "clusters[1].cluster.server: must start with https:// or http://",
           "clusters[1].cluster.certificate-authority-data: not base64",
           "clusters[1].cluster.insecure-skip-tls-verify: must be true or false",
           "users[0].user.token: must be text; put it in quotes",
           "users[0].user.client-certificate-data: holds no PEM; it must be the base64 of a PEM "
           "text",
           "users[0].user.client-key: is missing",
           "users[0].user.as: impersonation is not supported",
       }) {
    at = fault.find(fmt::format("{}: {}", kPath, expected), at);
    ASSERT_NE(at, std::string::npos) << expected << "\nin " << fault;
  }
}

TEST_F(KubeconfigTest, ReportsReferencesToNothing) {
  Put(kPath, "contexts: [{name: dev, context: {cluster: c, user: u}}]\ncurrent-context: dev\n");
  EXPECT_EQ(Fault(),
            "InvalidArgument: /me/.kube/config: contexts[0].context.cluster: there is no "
            "cluster \"c\"; "
            "/me/.kube/config: contexts[0].context.user: there is no user \"u\"");
}

TEST_F(KubeconfigTest, ReportsAContextThatIsNotChosen) {
  Put(kPath, "contexts: [{name: dev, context: {}}]\n");
  EXPECT_EQ(Fault(),
            "InvalidArgument: /me/.kube/config: current-context: is not set; --context names "
            "one of: dev");
  Put(kPath, "current-context: gone\n");
  EXPECT_EQ(Fault(),
            "InvalidArgument: /me/.kube/config: current-context: there is no context "
            "\"gone\", only: none");
}

TEST_F(KubeconfigTest, ReportsFilesThatCannotBeRead) {
  EXPECT_NE(Fault().find(kPath), std::string::npos);
  Put(kPath, "a: [");
  EXPECT_NE(Fault().find(kPath), std::string::npos);
  Put(kPath, "[]");
  EXPECT_EQ(Fault(), "InvalidArgument: /me/.kube/config: is not a kubeconfig");
  environment_["KUBECONFIG"] = "/x:/y";
  EXPECT_EQ(Fault(),
            "InvalidArgument: /x, /y: there is no such file; KUBECONFIG or --kubeconfig names one");
  PutOne("    certificate-authority: none.pem\n", "");
  environment_.erase("KUBECONFIG");
  EXPECT_NE(Fault().find("clusters[0].cluster.certificate-authority: "), std::string::npos);
}

TEST_F(KubeconfigTest, ReportsWhatContradictsItself) {
  PutOne("    insecure-skip-tls-verify: true\n    certificate-authority-data: " +
             EncodeBase64(kPem) + "\n",
         "    token: t\n    username: me\n");
  const std::string fault = Fault();
  EXPECT_NE(fault.find("insecure-skip-tls-verify: an authority to verify by"), std::string::npos);
  EXPECT_NE(fault.find("only one can be used"), std::string::npos);
}

TEST_F(KubeconfigTest, ReportsWhatIsNotSupported) {
  PutOne("    proxy-url: https://proxy\n",
         "    auth-provider: {name: gcp}\n"
         "    exec: {apiVersion: client.authentication.k8s.io/v1alpha1, interactiveMode: Always,\n"
         "           env: [{value: x}], args: [1]}\n");
  const std::string fault = Fault();
  for (const char* expected :
       {"proxy-url: only http:// proxies", "auth-provider: is not supported",
        "exec.apiVersion: must be", "exec.command: is missing", "exec.interactiveMode: a plugin",
        "exec.env[0].name: is missing", "exec.args: must be texts"}) {
    EXPECT_NE(fault.find(expected), std::string::npos) << expected << "\nin " << fault;
  }
}

TEST_F(KubeconfigTest, AServerUrlMustHoldNoPassword) {
  Put(kPath,
      "clusters: [{name: c, cluster: {server: 'https://u:p@x'}}]\n"
      "contexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x\n");
  EXPECT_NE(Fault().find("server: must hold no user and password"), std::string::npos);
}

TEST_F(KubeconfigTest, DoesNotFillTheScreen) {
  std::string text = "clusters:\n";
  for (int i = 0; i < 1000; ++i) text += "- {}\n";
  Put(kPath, text);
  EXPECT_NE(Fault().find("; and 951 more"), std::string::npos) << Fault();
}

}  // namespace
}  // namespace galen::kube
