// `galen conformance` as a process, against real drivers on real sockets and an API over TLS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/data/json.h"
#include "cli/fleet/session.h"
#include "tests/e2e/sim_cluster.h"

namespace galen::e2e {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// Our GPU driver and a cluster; no kubelet and no agent.
class ConformanceTest : public ::testing::Test {
 protected:
  ConformanceTest() : cluster_(stage_, {"--node", "node-7"}) {}

  std::string Registry() { return stage_.Path("kubelet/plugins_registry"); }

  // Waits until it has published, which is the last that it does before it is there.
  void StartDriver() {
    ASSERT_TRUE(cluster_.serves());
    driver_ = &stage_.Start(
        "galen-driver", {"gpu", "--node", "node-7", "--kubeconfig", cluster_.kubeconfig(),
                         "--kubelet-root", stage_.Path("kubelet"), "--cdi-root", stage_.Path("cdi"),
                         "--state-dir", stage_.Path("gpu"), "--metrics-address", "127.0.0.1:0"});
    ASSERT_TRUE(stage_.Until([&] { return !Items(kube::kResourceSlices).empty(); }));
    ASSERT_TRUE(
        stage_.Until([&] { return stage_.HasFile("kubelet/plugins/gpu.example.com/dra.sock"); }));
    std::filesystem::create_directories(stage_.Path("cdi"));
  }

  std::vector<Json> Items(const kube::Resource& resource) {
    cli::Options options;
    options.cluster.path = cluster_.kubeconfig();
    const auto session = cli::Session::Open(stage_.loop(), options);
    if (!session.ok()) return {};
    return (*session)->List(resource, "").value();
  }

  Outcome Conformance(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {BuiltProgram("galen"), "conformance", "--cdi-root", stage_.Path("cdi")});
    return stage_.Run(std::move(arguments), {.deadline = std::chrono::seconds(60)});
  }

  static std::vector<std::string> Ids(const Json& report, const std::string& verdict) {
    std::vector<std::string> ids;
    for (const Json& check : report["drivers"][0]["checks"].items()) {
      if (check["verdict"].AsString() == verdict) ids.push_back(check["id"].AsString());
    }
    return ids;
  }

  Stage stage_;
  SimCluster cluster_;
  Program* driver_ = nullptr;
};

TEST_F(ConformanceTest, OurDriverPassesAndIsLeftAsItWas) {
  ASSERT_NO_FATAL_FAILURE(StartDriver());
  const Outcome run =
      Conformance({Registry(), "--kubeconfig", cluster_.kubeconfig(), "-o", "json"});
  const StatusOr<Json> report = Json::Parse(run.output);
  ASSERT_TRUE(report.ok()) << run.output << run.error;
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(Ids(*report, "failed"), IsEmpty());
  EXPECT_GE(Ids(*report, "passed").size(), 70u) << run.output;
  EXPECT_THAT(Ids(*report, "passed"), Contains("claims.prepare"));
  EXPECT_THAT(Ids(*report, "passed"), Contains("cdi.ids-exist"));
  EXPECT_EQ((*report)["drivers"][0]["driver"].AsString(), "gpu.example.com");
  EXPECT_THAT(Items(kube::kResourceClaims), IsEmpty());
  EXPECT_THAT(stage_.Read("cdi"), IsEmpty());
  EXPECT_TRUE(std::filesystem::is_empty(stage_.Path("cdi")));
  EXPECT_TRUE(driver_->running());
}

TEST_F(ConformanceTest, WithoutAClusterWhatNeedsOneIsNotPassed) {
  ASSERT_NO_FATAL_FAILURE(StartDriver());
  const Outcome run = Conformance({Registry(), "--patience", "1s"});
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_THAT(run.output, StartsWith("gpu.example.com at " + Registry()));
  EXPECT_THAT(run.output,
              HasSubstr("not checked  An allocated claim is prepared: no cluster given"));
  EXPECT_THAT(run.output, HasSubstr(" 0 failed, "));
  const Outcome junit = Conformance({Registry(), "--patience", "1s", "-o", "junit"});
  EXPECT_THAT(junit.output, HasSubstr("<testsuite name=\"gpu.example.com.claims\""));
  EXPECT_THAT(junit.output, HasSubstr("<skipped message=\"no cluster given"));
}

TEST_F(ConformanceTest, BesideAKubeletItOnlyLooks) {
  ASSERT_NO_FATAL_FAILURE(StartDriver());
  std::filesystem::create_directories(stage_.Path("kubelet/pod-resources"));
  std::ofstream(stage_.Path("kubelet/pod-resources/kubelet.sock")) << "";
  const Outcome run = Conformance({"gpu.example.com", "--kubelet-root", stage_.Path("kubelet"),
                                   "--kubeconfig", cluster_.kubeconfig(), "--patience", "1s"});
  EXPECT_EQ(run.exit_code, 0) << run.output << run.error;
  EXPECT_THAT(run.output, HasSubstr("nothing was registered or prepared"));
  EXPECT_THAT(driver_->Log(), Not(HasSubstr("registered")));
}

// A driver that froze after it had registered: the kernel still takes connections for it.
TEST_F(ConformanceTest, ADriverThatHangsFails) {
  ASSERT_NO_FATAL_FAILURE(StartDriver());
  driver_->Signal(SIGSTOP);
  const Outcome run = Conformance({Registry(), "--patience", "1s"});
  driver_->Signal(SIGCONT);
  EXPECT_EQ(run.exit_code, 1) << run.output << run.error;
  EXPECT_THAT(run.output, HasSubstr("failed       GetInfo answers within 1 s"));
  EXPECT_THAT(run.output, HasSubstr("check: registration.get-info"));
}

TEST(Conformance, ExitCodesShowWhatWentWrong) {
  Stage stage;
  const std::string galen = BuiltProgram("galen");
  const Outcome nobody = stage.Run({galen, "conformance", stage.directory()});
  EXPECT_EQ(nobody.exit_code, 69);
  EXPECT_THAT(nobody.error, HasSubstr(stage.directory()));
  EXPECT_EQ(stage.Run({galen, "conformance"}).exit_code, 64);
  EXPECT_EQ(stage.Run({galen, "conformance", "x", "-o", "yaml"}).exit_code, 64);
  EXPECT_EQ(stage.Run({galen, "conformance", "x", "--full", "--read-only"}).exit_code, 64);
}

}  // namespace
}  // namespace galen::e2e
