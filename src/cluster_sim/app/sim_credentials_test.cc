#include "cluster_sim/app/sim_credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/data/base64.h"
#include "base/data/yaml.h"
#include "base/files/fake_file_system.h"

namespace galen::cluster_sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const WallTime kCredentialTime{std::chrono::hours(500'000)};

TEST(SimCredentials, TokensAreLongAndNeverTheSame) {
  const std::string one = MakeToken().value();
  EXPECT_EQ(one.size(), 48U);
  EXPECT_NE(one, MakeToken().value());
}

TEST(SimCredentials, ThoseOfADataDirectoryOutliveARestart) {
  FakeFileSystem files;
  const SimCredentials first = LoadOrMakeCredentials(files, "/data", kCredentialTime).value();
  const SimCredentials second = LoadOrMakeCredentials(files, "/data", kCredentialTime).value();
  EXPECT_EQ(first.admin_token, second.admin_token);
  EXPECT_EQ(first.authority->pair().certificate_pem, second.authority->pair().certificate_pem);
}

TEST(SimCredentials, AKeptAuthorityIsRenewedBeforeItEnds) {
  FakeFileSystem files;
  const SimCredentials first = LoadOrMakeCredentials(files, "/data", kCredentialTime).value();
  constexpr Duration kMonth = std::chrono::hours(24 * 30);
  EXPECT_EQ(LoadOrMakeCredentials(files, "/data", kCredentialTime + 5 * kMonth)
                .value()
                .authority->expires(),
            first.authority->expires());
  for (const Duration later : {7 * kMonth, 70 * kMonth}) {
    const SimCredentials renewed =
        LoadOrMakeCredentials(files, "/data", kCredentialTime + later).value();
    EXPECT_EQ(renewed.authority->expires(),
              kCredentialTime + later + CertificateAuthority::kValidity);
    EXPECT_EQ(renewed.authority->pair().key_pem, first.authority->pair().key_pem);
    EXPECT_EQ(renewed.admin_token, first.admin_token);
    EXPECT_EQ(*files.Read("/data/ca.crt"), renewed.authority->pair().certificate_pem);
  }
}

TEST(SimCredentials, WithoutADirectoryTheyAreNewEachTimeAndWrittenNowhere) {
  FakeFileSystem files;
  const SimCredentials first = LoadOrMakeCredentials(files, "", kCredentialTime).value();
  EXPECT_NE(first.admin_token,
            LoadOrMakeCredentials(files, "", kCredentialTime).value().admin_token);
  EXPECT_EQ(files.writes(), 0U);
}

TEST(SimCredentials, AHalfWrittenSetIsMadeAnewAndABrokenOneIsNamed) {
  FakeFileSystem files;
  const std::string before =
      LoadOrMakeCredentials(files, "/data", kCredentialTime).value().admin_token;
  ASSERT_TRUE(files.Remove("/data/admin.token").ok());
  EXPECT_NE(LoadOrMakeCredentials(files, "/data", kCredentialTime).value().admin_token, before);
  ASSERT_TRUE(files.WriteAtomically("/data/ca.key", "rubbish", 0600).ok());
  const Status broken = LoadOrMakeCredentials(files, "/data", kCredentialTime).status();
  EXPECT_EQ(broken.code(), Code::kInvalidArgument);
  EXPECT_THAT(broken.message(), HasSubstr("credentials kept in /data"));
}

TEST(SimCredentials, ATokenFileNamesUsersAndGroups) {
  const auto users = ParseTokenFile("t1,alice,1\n\nt2,bob,2,\"ops,dev\"\r\n").value();
  ASSERT_EQ(users.size(), 2U);
  EXPECT_EQ(users.at("t1").name, "alice");
  EXPECT_THAT(users.at("t2").groups, ElementsAre("ops", "dev", "system:authenticated"));
}

TEST(SimCredentials, EveryBadLineOfATokenFileIsNamedWithoutItsToken) {
  const Status status = ParseTokenFile("secret\nt1,alice,1\n,x,1\nt1,bob,2\n").status();
  EXPECT_THAT(status.message(), HasSubstr("line 1: want token,user,uid"));
  EXPECT_THAT(status.message(), HasSubstr("line 3: want token,user,uid"));
  EXPECT_THAT(status.message(), HasSubstr("line 4: its token is used by an earlier line already"));
  EXPECT_THAT(status.message(), Not(HasSubstr("secret")));
}

TEST(SimCredentials, TheKubeconfigHoldsUrlAuthorityAndToken) {
  const Json config = ParseYaml(Kubeconfig("https://127.0.0.1:6443", "pem", "secret")).value();
  const Json& cluster = config["clusters"][std::size_t{0}]["cluster"];
  EXPECT_EQ(cluster["server"].AsString(), "https://127.0.0.1:6443");
  EXPECT_EQ(cluster["certificate-authority-data"].AsString(), EncodeBase64("pem"));
  EXPECT_EQ(config["users"][std::size_t{0}]["user"]["token"].AsString(), "secret");
  EXPECT_EQ(config["current-context"], config["contexts"][std::size_t{0}]["name"]);
}

}  // namespace
}  // namespace galen::cluster_sim
