#include "model/device.h"

#include <gtest/gtest.h>

#include <set>

namespace galen {
namespace {

const DeviceId kGpu{"gpu.example.com", "node-7", "gpu-3"};

TEST(DeviceId, ReadsAsKubernetesWritesIt) {
  EXPECT_EQ(ToString(kGpu), "gpu.example.com/node-7/gpu-3");
}

TEST(DeviceId, SameDeviceNameInAnotherPoolIsAnotherDevice) {
  const std::set<DeviceId> ids = {kGpu, {"gpu.example.com", "node-8", "gpu-3"}, kGpu};
  EXPECT_EQ(ids.size(), 2u);
}

TEST(DeviceId, NamesThatKubernetesTakesAreValid) {
  const DeviceId good[] = {
      kGpu,
      {"a", "pool", "0"},
      {std::string(63, 'a'), std::string(253, 'p'), std::string(63, 'd')},
      {"nic.example.com", "rack.a/switch-1/port.2", "eth0"},
  };
  for (const DeviceId& id : good) EXPECT_EQ(Validate(id), OkStatus()) << ToString(id);
}

TEST(DeviceId, EachBadPartIsNamed) {
  const std::pair<DeviceId, const char*> bad[] = {
      {{"", "node-7", "gpu-3"}, "driver name \"\""},
      {{"GPU.example.com", "node-7", "gpu-3"}, "driver name"},
      {{std::string(64, 'a'), "node-7", "gpu-3"}, "driver name"},
      {{"gpu.example.com", "", "gpu-3"}, "pool name"},
      {{"gpu.example.com", "a//b", "gpu-3"}, "pool name \"a//b\""},
      {{"gpu.example.com", "a/", "gpu-3"}, "pool name"},
      {{"gpu.example.com", "/a", "gpu-3"}, "pool name"},
      {{"gpu.example.com", "rack/A_b", "gpu-3"}, "pool name"},
      {{"gpu.example.com", std::string(200, 'p') + "/" + std::string(53, 'p'), "gpu-3"},
       "pool name"},
      {{"gpu.example.com", "node-7", ""}, "device name"},
      {{"gpu.example.com", "node-7", "gpu.3"}, "device name \"gpu.3\""},
      {{"gpu.example.com", "node-7", "GPU-3"}, "device name"},
      {{"gpu.example.com", "node-7", std::string(64, 'd')}, "device name"},
  };
  for (const auto& [id, part] : bad) {
    const Status status = Validate(id);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << ToString(id);
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  }
}

TEST(DeviceId, HostileNameIsShownShortAndHarmless) {
  const std::string message =
      Validate({"gpu.example.com", "node-7", "\x1b[2J" + std::string(1 << 20, 'x')}).message();
  EXPECT_LT(message.size(), 300u);
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
}

TEST(DeviceIdentity, AnotherSerialInTheSameSlotIsAnotherThing) {
  EXPECT_NE((DeviceIdentity{kGpu, "1", "H200"}), (DeviceIdentity{kGpu, "2", "H200"}));
}

}  // namespace
}  // namespace galen
