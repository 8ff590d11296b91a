// Stories of a driver that breaks, with real processes: what its Pod says meanwhile and afterwards,
// and how galen explains it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/e2e/fault_stage.h"
#include "tests/e2e/scripted_driver.h"

namespace galen::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class DriverFault : public ::testing::Test {
 protected:
  std::string DataSocket() { return node_.Path("kubelet/plugins/gpu.example.com/dra.sock"); }
  std::string RegistrationSocket() {
    return node_.Path("kubelet/plugins_registry/gpu.example.com-reg.sock");
  }

  FaultStage node_;
};

TEST_F(DriverFault, KilledWithNineMakesItsDeviceUnknownUntilItIsBack) {
  ASSERT_TRUE(node_.Up());
  node_.End(node_.driver(), SIGKILL);
  node_.ExpectSays(kTrainer, {"gpu-0 Unknown since ", "driver gpu.example.com is gone: "});
  EXPECT_EQ(node_.ConditionOf(kTrainer), "Unknown DriverGone");
  EXPECT_EQ(node_.HealthOf(kTrainer), "Unknown");
  node_.ExpectDoctor({"drivers.dead-sockets", "gpu.example.com-reg.sock", "claims.driver-gone"});

  node_.StartDriver();
  node_.ExpectSays(kTrainer, {"gpu-0 Healthy"});
  EXPECT_EQ(node_.ConditionOf(kTrainer).substr(0, 4), "True");
  EXPECT_EQ(node_.HealthOf(kTrainer), "Healthy");
  node_.ExpectWhy(
      kTrainer, {"driver-lost", "driver gpu.example.com is gone: ", "Healthy → Unknown, DriverGone",
                 "driver-connected", "Unknown → Healthy"});
  node_.ExpectBystanderUntouched();
}

// Half-open: the kernel keeps its connection and answers for it, and nobody sends.
TEST_F(DriverFault, StoppedIsSilentUntilItsDeadlineAndThenUnknownUntilItGoesOn) {
  node_.Configure("timeouts: [{driver: gpu.example.com, timeout: 2s}]\n");
  node_.DriverFlags({"--health-timeout", "1s"});
  ASSERT_TRUE(node_.Up());
  const std::string since = node_.SinceOf(kTrainer);
  node_.Pause(node_.driver());
  node_.ExpectSays(kTrainer, {"gpu-0 Unknown since ", "no report for 2 s, the configured limit"});
  EXPECT_EQ(node_.ConditionOf(kTrainer), "Unknown DriverSilent");
  EXPECT_EQ(node_.HealthOf(kTrainer), "Unknown");
  node_.ExpectDoctor({"drivers.answer", "gpu.example.com-reg.sock"});

  node_.Resume(node_.driver());
  node_.ExpectSays(kTrainer, {"gpu-0 Healthy"});
  const std::string why =
      node_.ExpectWhy(kTrainer, {"Healthy → Unknown, DriverSilent",
                                 "no report for 2 s, the configured limit", "Unknown → Healthy"});
  EXPECT_THAT(why, Not(HasSubstr("driver-lost"))) << "its connection held";
  node_.ExpectSince(kTrainer, since);
  node_.ExpectBystanderUntouched();
}

TEST_F(DriverFault, ItsSocketIsMadeAgainAtOnceWhenSomebodyRemovesIt) {
  ASSERT_TRUE(node_.Up());
  std::filesystem::remove(DataSocket());
  EXPECT_TRUE(node_.stage().Until([&] { return std::filesystem::exists(DataSocket()); }));
  node_.ExpectSays(kTrainer, {"gpu-0 Healthy"});
  const std::string lost = node_.LoseGpu();
  node_.ExpectSays(kTrainer, {"gpu-0 Unhealthy since ", "XID 79: GPU has fallen off the bus"});
  EXPECT_EQ(node_.SinceOf(kTrainer), lost);
  node_.ExpectWhy(kTrainer, {"Healthy → Unhealthy, XidGpuLost"});
  node_.ExpectBystanderUntouched();
}

// A driver that is stopped cannot put its registration back: the time in between is seen for sure.
TEST_F(DriverFault, ItsRegistrationIsRemovedAndPutBack) {
  ASSERT_TRUE(node_.Up());
  const std::string since = node_.SinceOf(kTrainer);
  node_.Pause(node_.driver());
  std::filesystem::remove(RegistrationSocket());
  node_.ExpectSays(kTrainer,
                   {"gpu-0 Unknown since ",
                    "driver gpu.example.com is gone: its registration socket was removed"});
  EXPECT_EQ(node_.ConditionOf(kTrainer), "Unknown DriverGone");
  node_.Resume(node_.driver());
  node_.ExpectSays(kTrainer, {"gpu-0 Healthy"});
  node_.ExpectWhy(kTrainer,
                  {"its registration socket was removed", "driver-connected", "Unknown → Healthy"});
  node_.ExpectSince(kTrainer, since);
  node_.ExpectBystanderUntouched();
}

// As a driver whose author took the stream for one answer, or whose only thread is stuck: the
// socket accepts and nothing comes.
TEST_F(DriverFault, EndsItsStreamWhileItsConnectionStandsAndThenHangs) {
  node_.Configure("timeouts: [{driver: odd.example.com, timeout: 3s}]\n");
  ScriptedDriver odd(node_.stage(), "odd.example.com");
  ASSERT_TRUE(node_.Up());
  node_.fleet().Create(kube::kResourceSlices, "",
                       "{metadata: {name: odd}, spec: {driver: odd.example.com, nodeName: node-7, "
                       "devices: [{name: gpu-0}], pool: {name: node-7, generation: 1, "
                       "resourceSliceCount: 1}}}");
  node_.MakePod("odd-0", "odd.example.com");
  node_.ExpectSays("odd-0", {"gpu-0 Healthy"});

  odd.Hang(true);
  odd.EndStreams();
  node_.ExpectSays(
      "odd-0", {"gpu-0 Unknown since ", "driver odd.example.com is gone: its health stream ended"});
  EXPECT_EQ(node_.ConditionOf("odd-0"), "Unknown DriverGone");
  odd.Hang(false);
  node_.ExpectSays("odd-0", {"gpu-0 Healthy"});
  odd.Hang(true);
  node_.ExpectSays("odd-0", {"gpu-0 Unknown since ", "no report for 3 s, the configured limit"});
  EXPECT_EQ(node_.ConditionOf("odd-0"), "Unknown DriverSilent");
  odd.Hang(false);
  node_.ExpectSays("odd-0", {"gpu-0 Healthy"});
  node_.ExpectWhy("odd-0", {"its health stream ended", "Healthy → Unknown, DriverGone",
                            "Healthy → Unknown, DriverSilent", "no report for 3 s"});
  node_.ExpectBystanderUntouched();
}

TEST_F(DriverFault, IsUpdatedWithTwoInstancesAndNoPodHearsOfIt) {
  node_.DriverFlags({"--instance", "old"});
  ASSERT_TRUE(node_.Up());
  const std::string lost = node_.LoseGpu("dra-old.sock");
  node_.ExpectSays(kTrainer, {"gpu-0 Unhealthy since ", "XID 79"});
  const std::string line = node_.LineOf(kTrainer);
  const auto steps = node_.Steps(kTrainer, "change");

  node_.DriverFlags({"--instance", "new"});
  Program& old = node_.driver();
  node_.StartDriver();
  // The reports of the newest connected instance count.
  EXPECT_TRUE(node_.stage().Until([&] {
    return node_.Galen({"get", "drivers", "-o", "json"}).output.find("dra-new.sock") !=
           std::string::npos;
  }));
  node_.ExpectDoctor({"drivers.instances"});
  node_.End(old, SIGTERM);
  EXPECT_EQ(old.exit_code(), 0);
  EXPECT_TRUE(node_.stage().Until([&] {
    return node_.Galen({"get", "drivers", "-o", "json"}).output.find("dra-old.sock") ==
           std::string::npos;
  }));
  EXPECT_EQ(node_.LineOf(kTrainer), line);
  EXPECT_EQ(node_.SinceOf(kTrainer), lost) << "the new instance knows what the old one saw";
  EXPECT_EQ(node_.Steps(kTrainer, "change"), steps);
  node_.ExpectBystanderUntouched();
}

TEST_F(DriverFault, IsGoneWhileItsPodIsDeletedSoThatThePodWaitsForIt) {
  ASSERT_TRUE(node_.Up());
  node_.End(node_.driver(), SIGKILL);
  node_.ExpectSays(kTrainer, {"gpu-0 Unknown since "});
  const auto asked = node_.fleet().session().Fetch(
      kube::Delete(kube::kPods, "default", kTrainer, {.grace_seconds = 1}));
  ASSERT_TRUE(asked.ok()) << ToString(asked.status());
  node_.ExpectWhy(kTrainer, {"gpu-0   Unknown since ", "driver gpu.example.com is gone: "});
  const auto events = [&] {
    return node_.fleet().session().List(kube::kEvents, "default",
                                        {.field = "involvedObject.name=trainer-0", .label = ""});
  };
  EXPECT_TRUE(node_.stage().Until([&] {
    const auto list = events();
    return list.ok() && std::ranges::any_of(*list, [](const Json& event) {
             return event["reason"].AsString() == "FailedUnprepareDynamicResources" &&
                    event["message"].AsString().find("gpu.example.com") != std::string::npos;
           });
  }));
  node_.ExpectDoctor({"claims.driver-gone", "gpu.example.com"});
  const Json waiting = node_.Pod(kTrainer);
  EXPECT_FALSE(waiting["metadata"]["deletionTimestamp"].AsString().empty());

  node_.StartDriver();
  EXPECT_TRUE(node_.stage().Until([&] { return node_.Pod(kTrainer).is_null(); }));
  node_.ExpectWhy(kTrainer,
                  {"trainer-0 ran on node-7 and held one device.", "Healthy → Unknown, DriverGone",
                   "driver gpu.example.com is gone: ", "Unknown → Healthy", "ended"});
  node_.ExpectBystanderUntouched();
}

}  // namespace
}  // namespace galen::e2e
