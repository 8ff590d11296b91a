// `galen watch` as a process: in a pipe, on a terminal, and when the API server goes away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "tests/e2e/fleet_stage.h"
#include "tests/e2e/pseudo_terminal.h"

namespace galen::e2e {
namespace {

using namespace std::chrono_literals;

using ::testing::HasSubstr;
using ::testing::Not;

const char* const kSlice = R"({metadata: {name: node-1-gpu}, spec: {
    driver: gpu.example.com, nodeName: node-1, devices: [{name: gpu-0}, {name: gpu-1}],
    pool: {name: node-1, generation: 1, resourceSliceCount: 1}}})";

// The table's lines of a log: those of standard error begin otherwise.
std::vector<std::string> Rows(const std::string& log) {
  std::vector<std::string> rows;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("galen: ")) rows.push_back(line);
  }
  return rows;
}

TEST(Watch, InAPipePrintsWhatIsAndThenOneLineAChange) {
  FleetStage fleet;
  ASSERT_TRUE(fleet.StartAll());
  Program& watch = fleet.stage().Start(BuiltProgram("galen"), [&] {
    auto command = fleet.Command({"watch", "devices"});
    command.erase(command.begin());
    return command;
  }());
  ASSERT_TRUE(fleet.stage().Until([&] { return Rows(watch.Log()).size() == 9; })) << watch.Log();
  ASSERT_EQ(fleet.Galen({"inject", "gpu-3", "xid=79"}).exit_code, 0);
  ASSERT_TRUE(fleet.stage().Until([&] { return Count(watch.Log(), "XidGpuLost") == 1; }));
  // The second change shows that the first had no more to say: its state, longer than any before,
  // widened a column, which is no news of the other seven.
  ASSERT_EQ(fleet.Galen({"inject", "gpu-4", "xid=79"}).exit_code, 0);
  ASSERT_TRUE(fleet.stage().Until([&] { return Count(watch.Log(), "XidGpuLost") == 2; }));
  const std::vector<std::string> rows = Rows(watch.Log());
  ASSERT_EQ(rows.size(), 11u) << watch.Log();
  EXPECT_THAT(rows[9], HasSubstr("gpu-3"));
  EXPECT_THAT(rows[10], HasSubstr("gpu-4"));
  EXPECT_THAT(watch.Log(), Not(HasSubstr("no agent has reported")))
      << "it said so before it had looked";
  EXPECT_THAT(watch.Log(), Not(HasSubstr("\x1b"))) << "a pipe gets no escapes";
  watch.Signal(SIGINT);
  ASSERT_TRUE(fleet.stage().Until([&] { return !watch.running(); }));
  EXPECT_EQ(watch.exit_code(), 130);
}

TEST(Watch, SaysWhichDeviceIsGoneAndWritesAnObjectALineForPrograms) {
  FleetStage fleet(kEmptyCluster);
  ASSERT_TRUE(fleet.serves());
  fleet.Create(kube::kResourceSlices, "", kSlice);
  Program& table = fleet.stage().Start(
      "galen", {"--kubeconfig", fleet.cluster().kubeconfig(), "get", "devices", "--watch"});
  Program& json = fleet.stage().Start(
      "galen", {"--kubeconfig", fleet.cluster().kubeconfig(), "-o", "json", "watch", "devices"});
  ASSERT_TRUE(fleet.stage().Until([&] { return Count(table.Log(), "gpu-") >= 2; })) << table.Log();
  ASSERT_TRUE(fleet.stage().Until([&] { return Count(json.Log(), "ADDED") == 2; })) << json.Log();
  ASSERT_TRUE(fleet.session().Fetch(kube::Delete(kube::kResourceSlices, "", "node-1-gpu")).ok());
  EXPECT_TRUE(fleet.stage().Until([&] { return Count(table.Log(), " gone\n") == 2; }))
      << table.Log();
  EXPECT_TRUE(fleet.stage().Until([&] { return Count(json.Log(), "DELETED") == 2; })) << json.Log();
  for (const std::string& line : Rows(json.Log())) EXPECT_TRUE(Json::Parse(line).ok()) << line;
}

TEST(Watch, EndsWhenNobodyReadsItAnyMore) {
  FleetStage fleet(kEmptyCluster);
  ASSERT_TRUE(fleet.serves());
  fleet.Create(kube::kResourceSlices, "", kSlice);
  const Outcome piped =
      fleet.stage().Run({"/bin/bash", "-o", "pipefail", "-c",
                         BuiltProgram("galen") + " --kubeconfig " + fleet.cluster().kubeconfig() +
                             " watch devices | head -n 1"},
                        {.environment = {}, .deadline = 10s});
  EXPECT_THAT(piped.output, HasSubstr("DEVICE"));
  EXPECT_EQ(piped.exit_code, 141) << piped.error;
}

TEST(Watch, SaysThatItIsNotLiveWhileTheServerIsAwayAndThatItIsAgain) {
  Stage stage;
  const std::string data = stage.Path("data");
  SimCluster first(stage, {"--data", data});
  ASSERT_TRUE(first.serves());
  Program& watch = stage.Start("galen", {"--kubeconfig", first.kubeconfig(), "watch", "devices"});
  // Once it follows all kinds, there is nothing to report.
  stage.Until([&] { return !watch.running(); }, 1s);
  ASSERT_TRUE(watch.running()) << watch.Log();
  first.program().Signal(SIGKILL);
  ASSERT_TRUE(stage.Until([&] { return Count(watch.Log(), "not live since") > 0; }));
  EXPECT_THAT(watch.Log(), HasSubstr("cannot reach the API server"));
  const std::string kubeconfig = stage.Read("kubeconfig");
  const std::size_t port = kubeconfig.find("127.0.0.1:") + 10;
  SimCluster again(stage,
                   {"--data", data, "--listen",
                    "127.0.0.1:" + kubeconfig.substr(port, kubeconfig.find('\n', port) - port)});
  EXPECT_TRUE(stage.Until([&] { return Count(watch.Log(), "live again") == 1; })) << watch.Log();
  EXPECT_EQ(Count(watch.Log(), "not live since"), 1u) << "printed once: " << watch.Log();
}

class WatchOnATerminal : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(fleet_.StartAll()); }
  FleetStage fleet_;
};

TEST_F(WatchOnATerminal, DrawsInPlaceAndNoWiderThanItIs) {
  PseudoTerminal terminal(fleet_.Command({"watch", "devices"}), {"TERM=xterm"},
                          {.columns = 50, .rows = 6});
  ASSERT_TRUE(fleet_.stage().Until([&] { return Count(terminal.Output(), "DEVICE") > 0; }));
  ASSERT_EQ(fleet_.Galen({"inject", "gpu-3", "xid=79"}).exit_code, 0);
  // The worst comes first, so it is seen though not all fits.
  ASSERT_TRUE(fleet_.stage().Until([&] { return Count(terminal.Output(), "Unhealthy") > 0; }))
      << terminal.Output();
  const std::string drawn = terminal.Output();
  EXPECT_THAT(drawn, HasSubstr("\x1b[5F")) << "five rows, drawn over";
  EXPECT_THAT(drawn, HasSubstr("lines more"));
  EXPECT_THAT(drawn, Not(HasSubstr("\x1b[2J"))) << "what stood above is left alone";
  terminal.Type("\x03");
  ASSERT_TRUE(fleet_.stage().Until([&] { return !terminal.running(); }));
  EXPECT_EQ(terminal.exit_code(), 130);
}

TEST_F(WatchOnATerminal, SaysBelowTheTableThatItIsNotLive) {
  PseudoTerminal terminal(fleet_.Command({"watch", "devices"}), {"TERM=xterm"}, {});
  ASSERT_TRUE(fleet_.stage().Until([&] { return Count(terminal.Output(), "gpu-7") > 0; }));
  fleet_.cluster().program().Signal(SIGKILL);
  EXPECT_TRUE(fleet_.stage().Until([&] { return Count(terminal.Output(), "not live since") > 0; }))
      << terminal.Output();
}

}  // namespace
}  // namespace galen::e2e
