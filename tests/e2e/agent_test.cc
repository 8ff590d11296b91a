// galen-agent as a process: what it refuses, how it ends, and what it says beside a kubelet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <csignal>

#include "base/fd.h"
#include "base/files/posix_file_system.h"
#include "base/random.h"
#include "history/store/store.h"
#include "tests/e2e/fleet_stage.h"

namespace galen::e2e {
namespace {

using ::testing::HasSubstr;

class ObserverTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(fleet_.serves()); }

  FleetStage fleet_;
  Stage& stage_ = fleet_.stage();
};

TEST_F(ObserverTest, ReportsDevicesByItsObjectAndOverItsSocket) {
  fleet_.InstallDefinitions();
  fleet_.StartGpuDriver();
  fleet_.StartAgent();
  ASSERT_TRUE(fleet_.GalenSays({"get", "drivers"}, "gpu.example.com"));
  ASSERT_TRUE(fleet_.GalenSays({"get", "devices"}, "gpu-3"));
  ASSERT_EQ(fleet_.Galen({"inject", "gpu-3", "xid=79"}).exit_code, 0);
  EXPECT_TRUE(fleet_.GalenSays({"get", "devices"}, "XidGpuLost"));
  EXPECT_TRUE(fleet_.GalenSays({"get", "nodes", "-o", "json"}, "\"unhealthy\": 1"));
}

TEST_F(ObserverTest, IsTheOnlyAgentOfItsNodeAndSaysWhoHoldsTheLock) {
  Program& first = fleet_.StartAgent();
  ASSERT_TRUE(stage_.Until([&] { return stage_.HasFile("agent.sock"); }));
  Program& second = fleet_.StartAgent();
  ASSERT_TRUE(stage_.Until([&] { return !second.running(); }));
  EXPECT_EQ(second.exit_code(), 1);
  EXPECT_THAT(second.Log(), HasSubstr(std::to_string(first.pid())));
  EXPECT_TRUE(first.running());
}

constexpr Duration kAtOnce = std::chrono::seconds(2);
// What it waits for at its end at the most: writes to the API 5 s, the disk 1 s. StopTest begins
// when kAtOnce of them are over.
constexpr Duration kStopsWithin = std::chrono::seconds(6) - kAtOnce;

TEST_F(ObserverTest, EndsCleanlyOnSigterm) {
  Program& agent = fleet_.StartAgent();
  ASSERT_TRUE(stage_.Until([&] { return stage_.HasFile("agent.sock"); }));
  agent.Signal(SIGTERM);
  ASSERT_TRUE(stage_.Until([&] { return !agent.running(); }, kAtOnce));
  EXPECT_EQ(agent.exit_code(), 0) << agent.Log();
}

class StopTest : public ObserverTest {
 protected:
  // A driver dies while the API server hangs: the agent has what it cannot write, and is asked to
  // stop.
  void SetUp() override {
    ASSERT_TRUE(fleet_.serves());
    fleet_.InstallDefinitions();
    Program& driver = fleet_.StartGpuDriver();
    agent_ = &fleet_.StartAgent();
    ASSERT_TRUE(fleet_.GalenSays({"get", "devices"}, " Healthy "));
    fleet_.cluster().program().Signal(SIGSTOP);
    driver.Signal(SIGKILL);
    ASSERT_TRUE(stage_.Until([&] { return Count(agent_->Log(), "driver disconnected") == 1; }));
    agent_->Signal(SIGTERM);
    ASSERT_FALSE(stage_.Until([&] { return !agent_->running(); }, kAtOnce)) << agent_->Log();
  }
  void TearDown() override { fleet_.cluster().program().Signal(SIGCONT); }

  Program* agent_ = nullptr;
};

TEST_F(StopTest, WaitsForAnApiServerThatHangsUntilItsDeadline) {
  ASSERT_TRUE(stage_.Until([&] { return !agent_->running(); }, kStopsWithin));
  EXPECT_EQ(agent_->exit_code(), 0) << agent_->Log();
}

TEST_F(StopTest, ASecondSignalEndsItAtOnce) {
  agent_->Signal(SIGTERM);
  ASSERT_TRUE(stage_.Until([&] { return !agent_->running(); }, kAtOnce));
  EXPECT_EQ(agent_->exit_code(), 128 + SIGTERM) << agent_->Log();
}

TEST_F(ObserverTest, ReportsToItsServiceManagerThatItIsReadyAndThatItsLoopRuns) {
  const std::string path = stage_.Path("notify");
  const Fd manager(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(manager.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  std::string heard;
  const auto hears = [&](const std::string& text) {
    return stage_.Until([&] {
      char buffer[100];
      const ssize_t size = ::recv(manager.get(), buffer, sizeof(buffer), 0);
      if (size > 0) heard += std::string(buffer, static_cast<std::size_t>(size)) + "\n";
      return heard.find(text) != std::string::npos;
    });
  };
  Program& agent =
      fleet_.StartAgent({}, {.environment = {"NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=200000"}});
  EXPECT_TRUE(hears("READY=1\nWATCHDOG=1\nWATCHDOG=1\n")) << heard;
  agent.Signal(SIGTERM);
  EXPECT_TRUE(hears("STOPPING=1")) << heard;
}

// Device after device fails; the agent is killed right then, or once it has published.
TEST_F(ObserverTest, KeepsEveryPublishedChangeAndItsTimeOverKillsWithNine) {
  fleet_.InstallDefinitions();
  fleet_.StartGpuDriver();
  std::vector<history::Record> before;
  Random chance(Random::Seed());
  for (std::size_t round = 0; round < 8; ++round) {
    Program& agent = fleet_.StartAgent();
    const std::string gpu = fmt::format("gpu-{}", round);
    // As soon as the agent knows where the driver is.
    ASSERT_TRUE(
        stage_.Until([&] { return fleet_.Galen({"inject", gpu, "xid=79"}).exit_code == 0; }));
    const bool published = round % 2 == 0;
    // The present agent publishes in time also those changes at which an agent was killed at once.
    const auto all_published = [&] {
      return Count(fleet_.Galen({"get", "devices"}).output, "XidGpuLost") == round + 1;
    };
    if (published) {
      ASSERT_TRUE(stage_.Until(all_published));
    } else {
      stage_.Until([] { return false; }, chance.Below(20) * std::chrono::milliseconds(1));
    }
    agent.Signal(SIGKILL);
    ASSERT_TRUE(stage_.Until([&] { return !agent.running(); }));
    PosixFileSystem files;
    const auto kept = history::Store::Open(files, {.directory = stage_.Path("agent/journal")});
    ASSERT_TRUE(kept.ok()) << ToString(kept.status());
    const std::vector<history::Record> now = (*kept)->Since(0);
    ASSERT_GE(now.size(), before.size());
    EXPECT_TRUE(std::equal(before.begin(), before.end(), now.begin())) << "records never change";
    const auto latest = (*kept)->Latest();
    const auto found = latest.find({"gpu.example.com", "node-7", gpu});
    if (published) {
      EXPECT_TRUE(found != latest.end() && found->second.cause.code == "XidGpuLost") << gpu;
    }
    before = now;
  }
}

TEST(Agent, ReportsEveryFaultOfItsConfigurationAtOnceAndStartsNothing) {
  Stage stage;
  const std::string config = stage.Write("agent.yaml", "role: king\ntimeouts: 7\nnoed: x\n");
  const Outcome agent = stage.Run(
      {BuiltProgram("galen-agent"), "--config", config, "--state-dir", stage.Path("state")});
  EXPECT_EQ(agent.exit_code, 64);
  const std::string said = agent.output + agent.error;
  EXPECT_THAT(said, HasSubstr("role"));
  EXPECT_THAT(said, HasSubstr("timeouts"));
  EXPECT_THAT(said, HasSubstr("noed"));
  EXPECT_FALSE(stage.HasFile("state"));
}

TEST(Agent, SaysWhichKubeconfigIsBroken) {
  Stage stage;
  const std::string kubeconfig = stage.Write("kubeconfig", "clusters: [\n");
  const Outcome agent =
      stage.Run({BuiltProgram("galen-agent"), "--node", "n", "--kubeconfig", kubeconfig,
                 "--state-dir", stage.Path("state"), "--socket", stage.Path("a.sock")});
  EXPECT_EQ(agent.exit_code, 64);
  EXPECT_THAT(agent.output + agent.error, HasSubstr(kubeconfig));
}

}  // namespace
}  // namespace galen::e2e
