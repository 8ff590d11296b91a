// What an agent reads: its configuration and its drivers' reports.
#include "agent/app/config.h"
#include "agent/health/report_decoder.h"
#include "base/check.h"
#include "base/files/fake_file_system.h"
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

}  // namespace galen::fuzz
