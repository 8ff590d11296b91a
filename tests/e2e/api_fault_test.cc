// Stories of an API server that is away, hangs, or lets nobody in, with real processes: the node
// goes on, and what happened is published once it can be, with the time at which it happened.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/data/base64.h"
#include "base/data/yaml.h"
#include "tests/e2e/fault_stage.h"

namespace galen::e2e {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ApiFault : public ::testing::Test {
 protected:
  // The administrator's kubeconfig as the API wrote it.
  Json AdminConfig() { return ParseYaml(node_.stage().Read("kubeconfig")).value(); }
  // What a node has: a kubeconfig that names files, which somebody renews.
  void WriteNodeFiles(const std::string& token) {
    const Json admin = AdminConfig();
    const Json& cluster = admin["clusters"][0]["cluster"];
    node_.stage().Write("ca.pem",
                        DecodeBase64(cluster["certificate-authority-data"].AsString()).value());
    node_.stage().Write("token", token);
    node_.stage().Write(
        "node.kubeconfig",
        fmt::format("{{apiVersion: v1, kind: Config, current-context: c, clusters: [{{name: c, "
                    "cluster: {{server: '{}', certificate-authority: ca.pem}}}}], users: [{{name: "
                    "u, user: {{tokenFile: token}}}}], contexts: [{{name: c, context: {{cluster: "
                    "c, user: u}}}}]}}",
                    cluster["server"].AsString()));
    node_.NodeKubeconfig(node_.Path("node.kubeconfig"));
  }
  std::string AdminToken() {
    const Json admin = AdminConfig();
    return admin["users"][0]["user"]["token"].AsString();
  }
  void ExpectPublishedInTheEnd(const std::string& lost) {
    node_.ExpectSays(kTrainer, {"gpu-0 Unhealthy since " + lost.substr(0, 19) + "Z",
                                "XID 79: GPU has fallen off the bus"});
    EXPECT_EQ(node_.HealthOf(kTrainer), "Unhealthy");
    EXPECT_EQ(node_.SinceOf(kTrainer), lost);
    EXPECT_THAT(node_.Steps(kTrainer, "change"),
                ElementsAre("Unknown → Healthy", "Healthy → Unhealthy, XidGpuLost"));
    node_.ExpectWhy(kTrainer, {"sign", "Healthy → Unhealthy, XidGpuLost", "published"});
    node_.ExpectBystanderUntouched();
  }

  FaultStage node_;
};

TEST_F(ApiFault, AwayForAWhileLearnsAfterwardsWhatHappenedMeanwhile) {
  ASSERT_TRUE(node_.Up());
  node_.KillApi();
  const std::string lost = node_.LoseGpu();
  // The node knows, whoever asks it there.
  node_.ExpectWhy(kTrainer, {"gpu-0   Unhealthy since ", "XID 79: GPU has fallen off the bus"});
  node_.ExpectDoctor({"api.reachable"});
  node_.StartApi();
  ExpectPublishedInTheEnd(lost);
}

// Its connections stand, and nothing comes over them.
TEST_F(ApiFault, HangsAndIsWrittenOnceItGoesOn) {
  ASSERT_TRUE(node_.Up());
  node_.Pause(node_.fleet().cluster().program());
  const std::string lost = node_.LoseGpu();
  node_.Let(std::chrono::seconds(2));
  node_.Resume(node_.fleet().cluster().program());
  ExpectPublishedInTheEnd(lost);
}

TEST_F(ApiFault, GetsANewAuthorityAndIsWrittenOnceTheNodesFileHasIt) {
  WriteNodeFiles(AdminToken());
  ASSERT_TRUE(node_.Up());
  node_.KillApi();
  for (const char* name : {"ca.crt", "ca.key", "admin.token"}) {
    ASSERT_TRUE(std::filesystem::remove(node_.Path("data/") + name));
  }
  node_.StartApi();
  const std::string lost = node_.LoseGpu();
  // A person reads there what hinders, and that it is the certificate.
  node_.ExpectDoctor({"agent.troubles", "certificate"});
  EXPECT_EQ(node_.LineOf(kTrainer), "gpu-0 Healthy");
  WriteNodeFiles(AdminToken());
  ExpectPublishedInTheEnd(lost);
}

TEST_F(ApiFault, RefusesAnOldTokenAndIsWrittenOnceTheNodesFileHasTheNewOne) {
  const std::string users = node_.stage().Write("users", "old-token-of-node-7,node-7,u1\n");
  node_.KillApi();
  node_.StartApi({"--token-file", users});
  WriteNodeFiles("old-token-of-node-7");
  ASSERT_TRUE(node_.Up());
  node_.KillApi();
  node_.stage().Write("users", "new-token-of-node-7,node-7,u1\n");
  node_.StartApi({"--token-file", users});
  const std::string lost = node_.LoseGpu();
  node_.ExpectDoctor({"agent.troubles", "Unauthorized"});
  EXPECT_EQ(node_.LineOf(kTrainer), "gpu-0 Healthy");
  node_.stage().Write("token", "new-token-of-node-7");
  ExpectPublishedInTheEnd(lost);
}

}  // namespace
}  // namespace galen::e2e
