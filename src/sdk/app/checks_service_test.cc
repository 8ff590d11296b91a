#include "sdk/app/checks_service.h"

#include <gtest/gtest.h>

#include "net/endpoint/socket_keeper.h"
#include "protos/galen/checks/v1/checks.pb.h"
#include "sdk/fake_node.h"

namespace galen::sdk {
namespace {

using namespace std::chrono_literals;
namespace checks = galen::checks::v1;

struct TwoChecks final : CheckSource {
  std::vector<CheckReport> Checks() const override {
    CheckReport ran{.name = "fan", .device = "gpu-0", .state = "running", .result = "problem"};
    ran.says = "fan 3 stands still";
    ran.every = 10s;
    ran.interval = 20s;
    ran.last_run = WallTime(7s);
    ran.took = 1500ms;
    ran.cpu = 250ms;
    ran.runs = 3;
    ran.cpu_of_all = 800ms;
    return {ran, {.name = "fan", .device = "gpu-1", .state = "waiting"}};
  }
  std::vector<std::string> Troubles() const override { return {"r.yaml is not taken \xff"}; }
};

TEST(ChecksService, ListsWhatChecksSayAndCost) {
  FakeNode node;
  const TwoChecks source;
  rpc::Dispatcher methods(node.loop);
  ServeChecks(methods, source);
  net::SocketKeeper socket({node.loop, NullLog(), node.random, node.files, node.sockets},
                           "/k/d.sock", methods);
  ASSERT_EQ(socket.Start(), OkStatus());
  node.loop.RunUntilIdle();
  const auto listed = node.Connect("/k/d.sock")
                          .Call<checks::ListChecksResponse>("/galen.checks.v1.Checks/ListChecks",
                                                            checks::ListChecksRequest());
  ASSERT_TRUE(listed.ok()) << listed.status().message();
  ASSERT_EQ(listed->checks_size(), 2);
  const checks::Check& ran = listed->checks(0);
  EXPECT_EQ(ran.name(), "fan");
  EXPECT_EQ(ran.device(), "gpu-0");
  EXPECT_EQ(ran.state(), "running");
  EXPECT_EQ(ran.result(), "problem");
  EXPECT_EQ(ran.says(), "fan 3 stands still");
  EXPECT_EQ(ran.every_millis(), 10'000);
  EXPECT_EQ(ran.interval_millis(), 20'000);
  EXPECT_EQ(ran.last_run_unix_nanos(), 7'000'000'000);
  EXPECT_EQ(ran.last_run_millis(), 1500);
  EXPECT_EQ(ran.last_run_cpu_millis(), 250);
  EXPECT_EQ(ran.runs(), 3u);
  EXPECT_EQ(ran.cpu_millis(), 800);
  EXPECT_EQ(listed->checks(1).result(), "");
  EXPECT_EQ(listed->checks(1).last_run_unix_nanos(), 0);
  ASSERT_EQ(listed->troubles_size(), 1);
  EXPECT_EQ(listed->troubles(0), "r.yaml is not taken \xEF\xBF\xBD");
}

}  // namespace
}  // namespace galen::sdk
