// What an agent reads: its configuration, its drivers' reports, and what its kubelet says.
#include "agent/app/config.h"
#include "agent/health/report_decoder.h"
#include "agent/holdings/plugin_holdings.h"
#include "agent/holdings/pod_resources.h"
#include "base/check.h"
#include "base/files/fake_file_system.h"
#include "model/plugin_resource.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/targets.h"

namespace galen::fuzz {

void FuzzAgentConfig(std::string_view bytes) {
  FakeFileSystem files;
  Put(files, "/etc/galen", "agent.yaml", bytes);
  agent::ConfigFaults faults;
  agent::AgentFlags flags;
  flags.config_path = "/etc/galen/agent.yaml";
  const agent::AgentConfig config =
      agent::LoadConfig(files, {{"NODE_NAME", "node-7"}}, flags, faults);
  if (!faults.ToStatus().ok()) return;
  GALEN_CHECK(!config.node.empty() && config.timeouts.size() <= agent::kTimeoutRulesMax);
}

void FuzzReport(std::string_view bytes) {
  constexpr WallTime kNow{std::chrono::seconds(1'795'269'600)};
  const auto decoded = agent::DecodeReport("gpu.example.com", bytes, kNow);
  if (!decoded.ok()) return;
  GALEN_CHECK(decoded->report.devices.size() <= agent::kDevicesPerReportMax);
  for (const DeviceHealth& device : decoded->report.devices) {
    GALEN_CHECK(Validate(device.id).ok());
    GALEN_CHECK(device.share >= 0 && device.share <= 1);
    GALEN_CHECK(device.cause.message.size() <= agent::kReportedMessageBytesMax);
    for (const char c : device.cause.message) {
      GALEN_CHECK(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);  // nothing for a terminal
    }
  }
}

void FuzzPodResources(std::string_view bytes) {
  const auto answer = agent::DecodePodResources(bytes, "node-7");
  if (!answer.ok()) return;
  GALEN_CHECK(answer->pods.size() <= agent::PodResourcesAnswer::kPodsMax);
  GALEN_CHECK((answer->left_out == 0) == answer->faults.empty());
  for (const agent::PodResources& pod : answer->pods) {
    GALEN_CHECK(pod.plugin_devices.size() <= agent::ClaimIndex::kDevicesPerPodMax);
    GALEN_CHECK(pod.claim_devices.size() <= agent::ClaimIndex::kDevicesPerPodMax);
    for (const auto& device : pod.plugin_devices) {
      GALEN_CHECK(Validate(device.device).ok() && IsPluginResource(device.device.driver));
      const HardwareIds ids = agent::IdsOfPluginDevice(device.device.device);
      GALEN_CHECK(ids.uuid.size() + ids.parent_uuid.size() + ids.serial.size() <=
                  device.device.device.size());
    }
    for (const auto& device : pod.claim_devices) {
      GALEN_CHECK(Validate(device.device).ok() && !IsPluginResource(device.device.driver));
    }
  }
}

}  // namespace galen::fuzz
