// Stories of a whole node, with real processes: its kubelet is installed anew, it reboots.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/e2e/fault_stage.h"
#include "tests/e2e/own_mounts.h"

namespace galen::e2e {
namespace {

using ::testing::HasSubstr;

namespace fs = std::filesystem;

class NodeFault : public ::testing::Test {
 protected:
  // How often the agent has come to know the driver of the Pod's device.
  std::size_t Meetings(const std::string& pod) {
    return node_.Steps(pod, "driver-connected").size();
  }

  FaultStage node_;
};

// As when a kubelet is installed anew. Drivers that are stopped cannot put themselves back, so that
// the time in between is seen for sure.
TEST_F(NodeFault, RegistryIsRemovedAndEveryDriverComesBackToIt) {
  ASSERT_TRUE(node_.Up());
  const std::string since = node_.SinceOf(kTrainer), others_since = node_.SinceOf(kBystander);
  node_.Pause(node_.driver());
  node_.Pause(node_.other_driver());
  fs::remove_all(node_.Path("kubelet/plugins_registry"));
  for (const std::string pod : {kTrainer, kBystander}) {
    node_.ExpectSays(pod,
                     {"gpu-0 Unknown since ", " is gone: its registration socket was removed"});
  }
  node_.ExpectDoctor({"drivers.registry", "plugins_registry"});
  node_.Resume(node_.driver());
  node_.Resume(node_.other_driver());
  for (const std::string pod : {kTrainer, kBystander}) {
    node_.ExpectSays(pod, {"gpu-0 Healthy"});
    node_.ExpectWhy(pod, {"its registration socket was removed", "driver-connected"});
  }
  // Once more while they run: they put it back at once, perhaps before any Pod could say so, and
  // the agent meets each of them anew.
  const fs::path registry = node_.Path("kubelet/plugins_registry");
  const std::size_t met = Meetings(kTrainer), others_met = Meetings(kBystander);
  // They may be quicker than the removal of the directory that is just empty.
  std::error_code not_empty;
  do {
    fs::remove_all(registry, not_empty);
  } while (not_empty == std::errc::directory_not_empty);
  ASSERT_FALSE(not_empty) << not_empty.message();
  EXPECT_TRUE(node_.stage().Until([&] {
    return fs::exists(registry / "gpu.example.com-reg.sock") &&
           fs::exists(registry / "spare.example.com-reg.sock") && Meetings(kTrainer) > met &&
           Meetings(kBystander) > others_met;
  })) << "the trainer's driver was met "
      << Meetings(kTrainer) << " times, " << met << " before; the bystander's "
      << Meetings(kBystander) << ", " << others_met << " before";
  node_.ExpectSays(kTrainer, {"gpu-0 Healthy"});
  node_.ExpectSays(kBystander, {"gpu-0 Healthy"});
  node_.ExpectSince(kTrainer, since);
  node_.ExpectSince(kBystander, others_since);
}

TEST_F(NodeFault, RebootsWithItsClaimsInPlaceAndItsDevicesAreWhatTheyAreThen) {
  if (const Status own = EnterOwnMounts(); !own.ok()) {
    GTEST_SKIP() << "a node that reboots: " << own.message();
  }
  ASSERT_TRUE(node_.Up());
  node_.LoseGpu();
  node_.ExpectSays(kTrainer, {"gpu-0 Unhealthy since ", "XID 79"});
  for (Program* program : {&node_.agent(), &node_.driver(), &node_.other_driver()}) {
    node_.End(*program, SIGKILL);
  }
  // /run is empty after a boot; the kubelet's root is not, sockets that nobody listens on included.
  fs::remove_all(node_.Path("cdi"));
  fs::remove(node_.Path("agent.sock"));
  const FileInPlace boot(node_.stage().Write("boot_id", "6f0c2f5e-3b0d-4a4b-9a69-0d2f6f3a1b77\n"),
                         "/proc/sys/kernel/random/boot_id");
  node_.StartAgent();
  // Before its driver runs nothing else is known than what was.
  node_.ExpectDoctor({"drivers.dead-sockets", "gpu.example.com-reg.sock"});
  node_.StartDriver();
  node_.StartOtherDriver();

  node_.ExpectSays(kTrainer, {"gpu-0 Healthy"});
  node_.ExpectSays(kBystander, {"gpu-0 Healthy"});
  node_.ExpectWhy(kTrainer, {"gpu-0   Healthy since ", "Healthy → Unhealthy, XidGpuLost",
                             "agent-started", "driver-connected", " → Healthy"});
  // Prepared once more: what containers get lies in /run.
  EXPECT_TRUE(node_.stage().Until([&] {
    if (!fs::exists(node_.Path("cdi"))) return false;
    return std::distance(fs::directory_iterator(node_.Path("cdi")), fs::directory_iterator()) == 2;
  }));
}

}  // namespace
}  // namespace galen::e2e
