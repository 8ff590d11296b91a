#include "conformance/observations.h"

#include <gtest/gtest.h>

#include "protos/dra_health/v1/health.pb.h"

namespace galen::conformance {
namespace {

using namespace std::chrono_literals;

TEST(HealthReport, IsReadAsTheGeneratedMessageWritesIt) {
  v1::NodeWatchResourcesResponse message;
  v1::DeviceHealth& device = *message.add_devices();
  device.mutable_device()->set_pool_name("node-7");
  device.mutable_device()->set_device_name("gpu-0");
  device.set_health(v1::UNHEALTHY);
  device.set_last_updated_time(1795000000);
  device.set_health_check_timeout_seconds(-3);
  device.set_message("XID 79");
  device.mutable_galen()->set_code("XidGpuLost");  // a field that Kubernetes does not know
  const std::string bytes = message.SerializeAsString();
  const HealthReportSeen report = ReadHealthReport(bytes);
  EXPECT_FALSE(report.broken);
  EXPECT_EQ(report.bytes, bytes.size());
  const DeviceHealthSeen* seen = report.Find("node-7/gpu-0");
  ASSERT_NE(seen, nullptr);
  EXPECT_EQ(seen->health, 2);
  EXPECT_EQ(seen->updated_unix_seconds, 1795000000);
  EXPECT_EQ(seen->timeout_seconds, -3);
  EXPECT_EQ(seen->Timeout(), 30s);
  EXPECT_EQ(seen->message, "XID 79");
  EXPECT_EQ(report.Find("node-7/gpu-1"), nullptr);
}

TEST(HealthReport, KeepsTextsThatAreNoUtf8) {
  // Device with message (field 5) of one byte 0xff.
  const HealthReportSeen report = ReadHealthReport("\x0a\x03\x2a\x01\xff");
  ASSERT_EQ(report.devices.size(), 1u);
  EXPECT_FALSE(report.broken);
  EXPECT_EQ(report.devices[0].message, "\xff");
}

TEST(HealthReport, IsBrokenWhenAKnownFieldHasAnotherType) {
  EXPECT_TRUE(ReadHealthReport("\x08\x01").broken);          // devices as a number
  EXPECT_TRUE(ReadHealthReport("\x0a\x02\x28\x01").broken);  // message as a number
  EXPECT_TRUE(ReadHealthReport("\x0a\x09").broken);          // nine bytes of which none is there
  EXPECT_FALSE(ReadHealthReport("").broken);
}

TEST(HealthReport, ATimeoutOfAnySizeIsADuration) {
  EXPECT_EQ((DeviceHealthSeen{.timeout_seconds = 60}).Timeout(), 60s);
  EXPECT_EQ((DeviceHealthSeen{.timeout_seconds = INT64_MAX}).Timeout(), 365 * 24h);
}

}  // namespace
}  // namespace galen::conformance
