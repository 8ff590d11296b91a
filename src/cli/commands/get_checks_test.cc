#include <gtest/gtest.h>

#include "cli/commands/get.h"
#include "protos/galen/checks/v1/checks.pb.h"

namespace galen::cli {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kCheckedAt{1000s};

ListedCheck FanCheck() {
  ListedCheck check{.driver = "gpu.example.com", .name = "fan", .device = "gpu-0"};
  check.state = "running";
  check.result = "problem";
  check.says = "fan 3 stands still";
  check.every = 10s;
  check.interval = 40s;
  check.last_run = kCheckedAt - 5s;
  check.took = 1500ms;
  check.cpu = 250ms;
  check.cpu_of_all = 800ms;
  check.runs = 3;
  return check;
}

ListedCheck CheckThatHasNotRun() {
  ListedCheck check{.driver = "gpu.example.com", .name = "fan", .device = "gpu-1"};
  check.state = "waiting";
  check.every = check.interval = 10s;
  return check;
}

TEST(ChecksTable, ShowsWhatEachCheckSaysAndWhatTheLastRunCost) {
  EXPECT_EQ(ChecksTable({FanCheck(), CheckThatHasNotRun()}, false, kCheckedAt).Text(false),
            "CHECK  DEVICE  RESULT   STATE    EVERY         LAST  TOOK  CPU    SAYS\n"
            "fan    gpu-0   problem  running  40s (of 10s)  5s    1.5s  0.25s  fan 3 stands still\n"
            "fan    gpu-1            waiting  10s\n");
}

TEST(ChecksTable, ShowsWhatAllRunsCostWhenWide) {
  const std::string text = ChecksTable({FanCheck()}, true, kCheckedAt).Text(false);
  EXPECT_NE(text.find("RUNS  CPU OF ALL  DRIVER"), std::string::npos) << text;
  EXPECT_NE(text.find("3     0.8s        gpu.example.com"), std::string::npos) << text;
}

TEST(ChecksTable, ALineOfACommandDrivesNoTerminal) {
  ListedCheck check = FanCheck();
  check.says = "\x1b[31mred";
  EXPECT_EQ(ChecksTable({check}, false, kCheckedAt).Text(false).find('\x1b'), std::string::npos);
}

TEST(ChecksJson, LeavesOutWhatIsNotKnownYet) {
  const Json json = ChecksJson({FanCheck(), CheckThatHasNotRun()}, {"driver a: no file"});
  EXPECT_EQ(json["troubles"][0].AsString(), "driver a: no file");
  EXPECT_EQ(json["items"][0]["result"].AsString(), "problem");
  EXPECT_EQ(json["items"][0]["intervalSeconds"].AsDouble(), 40);
  EXPECT_EQ(json["items"][0]["lastRun"].AsString(), FormatRfc3339(kCheckedAt - 5s, 3));
  EXPECT_TRUE(json["items"][1]["result"].is_null());
  EXPECT_TRUE(json["items"][1]["lastRun"].is_null());
}

TEST(ListedCheckOfProto, KeepsEveryField) {
  checks::v1::Check check;
  check.set_name("fan");
  check.set_device("gpu-0");
  check.set_state("running");
  check.set_result("problem");
  check.set_says("fan 3 stands still");
  check.set_every_millis(10'000);
  check.set_interval_millis(40'000);
  check.set_last_run_unix_nanos((kCheckedAt - 5s).time_since_epoch().count());
  check.set_last_run_millis(1500);
  check.set_last_run_cpu_millis(250);
  check.set_cpu_millis(800);
  check.set_runs(3);
  const ListedCheck listed = FromProto("gpu.example.com", check);
  EXPECT_EQ(ChecksJson({listed}, {}).DumpPretty(2), ChecksJson({FanCheck()}, {}).DumpPretty(2));
}

TEST(GetChecks, WithoutAnAgentSaysSo) {
  Options options;
  options.agent_socket = "/nowhere/agent.sock";
  EXPECT_EQ(GetChecks(options, "").status().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace galen::cli
