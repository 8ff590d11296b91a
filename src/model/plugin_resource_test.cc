#include "model/plugin_resource.h"

#include <gtest/gtest.h>

namespace galen {
namespace {

TEST(PluginResource, HasASlashAndADriverHasNone) {
  EXPECT_TRUE(IsPluginResource("nvidia.com/gpu"));
  EXPECT_FALSE(IsPluginResource("gpu.nvidia.com"));
}

TEST(PluginResource, ItsDeviceHasTheIdThatThePluginGave) {
  const DeviceId good[] = {
      {"nvidia.com/gpu", "node-7", "GPU-5f3c1c8e-0000-4000-8000-000000000001::3"},
      {"nvidia.com/mig-1g.10gb", "node-7", "MIG-GPU-5f3c/1/0"},
      {"intel.com/sriov_net", "node-7", "0000:4b:00.0"},
  };
  for (const DeviceId& id : good) EXPECT_EQ(Validate(id), OkStatus()) << ToString(id);
  const std::pair<DeviceId, const char*> bad[] = {
      {{"nvidia.com/", "node-7", "a"}, "resource \"nvidia.com/\""},
      {{"/gpu", "node-7", "a"}, "resource"},
      {{"nvidia.com/gpu-", "node-7", "a"}, "resource"},
      {{"nvidia.com/-gpu", "node-7", "a"}, "resource"},
      {{"a/b/c", "node-7", "a"}, "resource"},
      {{"node.kubernetes.io/gpu", "node-7", "a"}, "resource"},
      {{"requests.nvidia.com/gpu", "node-7", "a"}, "resource"},
      {{"x.com/" + std::string(58, 'g'), "node-7", "a"}, "resource"},
      {{"nvidia.com/gpu", "node-7", ""}, "device id \"\""},
      {{"nvidia.com/gpu", "node-7", "two words"}, "device id"},
      {{"nvidia.com/gpu", "node-7", std::string(64, 'x')}, "device id"},
      {{"nvidia.com/gpu", "a//b", "x"}, "pool name"},
  };
  for (const auto& [id, why] : bad) {
    EXPECT_NE(Validate(id).message().find(why), std::string::npos) << Validate(id).message();
  }
}

}  // namespace
}  // namespace galen
