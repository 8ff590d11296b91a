#include "agent/health/report_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "agent/drivers/fake_plugin.h"
#include "base/text.h"
#include "protos/dra_health/v1alpha1/health.pb.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const WallTime kReportTime = WallTime(1'795'269'600s);
const std::string kDriver = "gpu.example.com";

DecodedReport Decode(const std::string& bytes) {
  return DecodeReport(kDriver, bytes, kReportTime).value();
}
DecodedReport Decode(const std::vector<FakeReport>& devices) {
  return Decode(EncodeReport("node-1", devices));
}
DeviceHealth DecodeOne(const FakeReport& report) {
  const DecodedReport decoded = Decode({report});
  EXPECT_THAT(decoded.report.devices, SizeIs(1));
  return decoded.report.devices.at(0);
}

TEST(ReportDecoder, ReadsTheThreeStatesOfKubernetes) {
  EXPECT_EQ(DecodeOne({.device = "gpu-0", .health = 1}).state, HealthState::kHealthy);
  EXPECT_EQ(DecodeOne({.device = "gpu-0", .health = 2}).state, HealthState::kUnhealthy);
  EXPECT_EQ(DecodeOne({.device = "gpu-0", .health = 0}).state, HealthState::kUnknown);
}

TEST(ReportDecoder, TakesAStateOfALaterVersionForUnknown) {
  EXPECT_EQ(DecodeOne({.device = "gpu-0", .health = 7}).state, HealthState::kUnknown);
}

TEST(ReportDecoder, NamesTheDeviceByDriverPoolAndName) {
  EXPECT_EQ(DecodeOne({.device = "gpu-0"}).id, (DeviceId{kDriver, "node-1", "gpu-0"}));
}

TEST(ReportDecoder, GivesAFaultWithoutACodeOne) {
  const DeviceHealth health = DecodeOne({.device = "gpu-0", .health = 2, .message = "ECC"});
  EXPECT_EQ(health.cause.code, cause_code::kReported);
  EXPECT_EQ(health.cause.message, "ECC");
}

TEST(ReportDecoder, TakesWhatGalensDriversAdd) {
  const DecodedReport decoded = Decode({{.device = "gpu-0",
                                         .message = "PCIe link x8, expected x16",
                                         .code = "PcieWidthReduced",
                                         .sign_unix_nanos = 1'795'269'500'304'000'000,
                                         .degraded = true,
                                         .share = 0.5,
                                         .serial = "1653",
                                         .model = "H200",
                                         .sign = "sysfs: current_link_width 8"}});
  const DeviceHealth& health = decoded.report.devices.at(0);
  EXPECT_EQ(health.state, HealthState::kDegraded);
  EXPECT_EQ(health.share, 0.5);
  EXPECT_EQ(health.cause.code, "PcieWidthReduced");
  EXPECT_EQ(health.since, WallTime(1'795'269'500'304'000'000ns));
  EXPECT_EQ(decoded.facts.at(health.id),
            (DeviceFacts{"1653", "H200", "sysfs: current_link_width 8"}));
}

TEST(ReportDecoder, KeepsSharesBetweenNothingAndAll) {
  FakeReport report{.device = "gpu-0", .code = "X", .degraded = true, .share = 7};
  EXPECT_EQ(DecodeOne(report).share, 1.0);
  report.share = 0.001;
  EXPECT_EQ(DecodeOne(report).share, 0.001);
  EXPECT_EQ(DecodeOne(report).state, HealthState::kDegraded);
  report.share = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(DecodeOne(report).share, 1.0);
}

// A share of zero is not on the wire at all, as proto3 has it; it once came out as "all is left".
TEST(ReportDecoder, ADegradedDeviceOfWhichNothingIsLeftIsUnhealthy) {
  for (const double share : {0.0, -1.0}) {
    const DeviceHealth health =
        DecodeOne({.device = "gpu-0", .code = "X", .degraded = true, .share = share});
    EXPECT_EQ(health.state, HealthState::kUnhealthy);
    EXPECT_EQ(health.share, 1.0) << "a share is of Degraded devices only";
  }
}

TEST(ReportDecoder, BelievesNoSignFromTheFuture) {
  const std::int64_t tomorrow = (kReportTime.time_since_epoch() + 24h).count();
  EXPECT_EQ(DecodeOne({.device = "gpu-0", .code = "X", .sign_unix_nanos = tomorrow}).since,
            kReportTime);
}

TEST(ReportDecoder, RefusesACodeThatIsNoName) {
  EXPECT_EQ(DecodeOne({.device = "gpu-0", .health = 2, .code = "xid 79\n"}).cause.code,
            cause_code::kReported);
}

TEST(ReportDecoder, LeavesOutNamesThatKubernetesWouldNotTakeAndKeepsTheOthers) {
  const DecodedReport decoded = Decode({{.device = ""},
                                        {.device = "GPU 0"},
                                        {.device = std::string(64, 'a')},
                                        {.device = std::string(100'000, 'a')},
                                        {.device = "gpu-1"}});
  ASSERT_THAT(decoded.report.devices, SizeIs(1));
  EXPECT_EQ(decoded.report.devices.at(0).id.device, "gpu-1");
  EXPECT_EQ(decoded.faults.invalid, 4u);
  EXPECT_NE(decoded.faults.example, "");
}

TEST(ReportDecoder, LetsTheLastEntryOfADeviceCount) {
  const DecodedReport decoded =
      Decode({{.device = "gpu-0", .health = 2}, {.device = "gpu-1"}, {.device = "gpu-0"}});
  ASSERT_THAT(decoded.report.devices, SizeIs(2));
  EXPECT_EQ(decoded.report.devices.at(0).state, HealthState::kHealthy);
  EXPECT_EQ(decoded.faults.repeated, 1u);
}

TEST(ReportDecoder, CountsDevicesPastTheLimit) {
  std::vector<FakeReport> devices;
  for (int i = 0; i < 5000; ++i) devices.push_back({.device = "gpu-" + std::to_string(i)});
  const DecodedReport decoded = Decode(devices);
  EXPECT_THAT(decoded.report.devices, SizeIs(kDevicesPerReportMax));
  EXPECT_EQ(decoded.faults.over_limit, 5000 - kDevicesPerReportMax);
  EXPECT_THAT(decoded.faults.example, HasSubstr("4096"));
}

TEST(ReportDecoder, CutsAMessageOfAMegabyteBetweenItsCharacters) {
  std::string message;
  while (message.size() < 1'000'000) message += "°";
  const DeviceHealth health = DecodeOne({.device = "gpu-0", .health = 2, .message = message});
  EXPECT_LE(health.cause.message.size(), kReportedMessageBytesMax);
  EXPECT_GT(health.cause.message.size(), kReportedMessageBytesMax - 8);
  EXPECT_TRUE(health.cause.message.ends_with("..."));
  EXPECT_EQ(health.cause.message, ToValidUtf8(health.cause.message));
}

TEST(ReportDecoder, MakesBrokenTextPrintableWithoutLosingTheOthers) {
  std::string bytes = EncodeReport("node-1", {{.device = "gpu-1"}});
  // A device whose message is no UTF-8 and would steer a terminal.
  const std::string device = std::string("\x0a\x0f\x0a\x06node-1\x12\x05gpu-0\x10\x02", 19) +
                             std::string("\x2a\x04\xff\xfe\x1b[", 6);
  bytes += "\x0a" + std::string(1, static_cast<char>(device.size())) + device;
  const DecodedReport decoded = Decode(bytes);
  ASSERT_THAT(decoded.report.devices, SizeIs(2));
  EXPECT_EQ(decoded.report.devices.at(1).id.device, "gpu-0");
  EXPECT_EQ(decoded.report.devices.at(1).cause.message, "\uFFFD\uFFFD\uFFFD[");
}

TEST(ReportDecoder, TakesANegativeTimeoutForNone) {
  const DecodedReport decoded =
      Decode(std::vector<FakeReport>{{.device = "gpu-0", .timeout_seconds = -5}});
  EXPECT_EQ(decoded.report.devices.at(0).timeout, std::nullopt);
  EXPECT_EQ(decoded.faults.negative_timeouts, 1u);
  EXPECT_EQ(DecodeOne({.device = "gpu-0", .timeout_seconds = 10}).timeout, 10s);
}

TEST(ReportDecoder, ReadsTheOlderVersionAlike) {
  v1alpha1::NodeWatchResourcesResponse response;
  v1alpha1::DeviceHealth& device = *response.add_devices();
  device.mutable_device()->set_pool_name("node-1");
  device.mutable_device()->set_device_name("gpu-0");
  device.set_health(v1alpha1::UNHEALTHY);
  device.set_last_updated_time(1'795'260'000);
  const DecodedReport decoded = Decode(response.SerializeAsString());
  EXPECT_EQ(decoded.report.devices.at(0).state, HealthState::kUnhealthy);
  EXPECT_EQ(decoded.report.devices.at(0).since, WallTime(1'795'260'000s));
  device.set_last_updated_time(1'795'269'600);
  EXPECT_EQ(Decode(response.SerializeAsString()).report.devices.at(0).since, WallTime{})
      << "whole seconds of about now say less than our own clock";
}

TEST(ReportDecoder, RefusesWhatIsNoMessage) {
  EXPECT_EQ(DecodeReport(kDriver, "\x0a\xff nonsense", kReportTime).status().code(),
            Code::kInvalidArgument);
  EXPECT_THAT(Decode(std::string()).report.devices, SizeIs(0));
}

TEST(ReportDecoder, SurvivesAReportWithAnyByteFlipped) {
  const std::string good = EncodeReport("node-1", {{.device = "gpu-0",
                                                    .health = 2,
                                                    .message = "ECC",
                                                    .code = "EccUncorrectable",
                                                    .sign_unix_nanos = 1,
                                                    .serial = "1"},
                                                   {.device = "gpu-1"}});
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      const StatusOr<DecodedReport> decoded = DecodeReport(kDriver, bad, kReportTime);
      if (!decoded.ok()) continue;
      for (const DeviceHealth& health : decoded->report.devices) {
        EXPECT_TRUE(Validate(health.id).ok());
      }
    }
  }
}

}  // namespace
}  // namespace galen::agent
