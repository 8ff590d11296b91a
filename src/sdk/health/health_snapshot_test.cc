#include "sdk/health/health_snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/text.h"
#include "protos/dra_health/v1/health.pb.h"
#include "protos/dra_health/v1alpha1/health.pb.h"
#include "sdk/inventory.h"

namespace galen::sdk {
namespace {

using namespace std::chrono_literals;

const WallTime kNow = WallTime{} + 1'800'000'000s;

std::vector<DeviceIdentity> Devices(const std::vector<std::string>& names) {
  Inventory inventory;
  for (const std::string& name : names) {
    inventory.push_back({.name = name, .attributes = {{"serial", "S-" + name}, {"model", "U250"}}});
  }
  return IdentitiesOf("fpga.example.com", "node-7", inventory);
}

v1::NodeWatchResourcesResponse Decoded(const HealthSnapshot& snapshot,
                                       const SnapshotOptions& options = {}) {
  v1::NodeWatchResourcesResponse response;
  EXPECT_TRUE(response.ParseFromString(Encode(snapshot, options, kNow)));
  return response;
}

TEST(HealthSnapshot, ADeviceThatIsNotNamedIsUnknown) {
  HealthRound round;
  round.Healthy("a");
  const HealthSnapshot snapshot = Judge(Devices({"a", "b"}), round, {}, {}, kNow);
  EXPECT_EQ(snapshot.at("a").health.state, HealthState::kHealthy);
  EXPECT_EQ(snapshot.at("b").health.state, HealthState::kUnknown);
  EXPECT_EQ(snapshot.at("b").health.cause.code, cause_code::kNotReported);
}

TEST(HealthSnapshot, HoldsTheInventoryAndNothingElse) {
  HealthRound round;
  round.Healthy("stranger");
  const HealthSnapshot snapshot = Judge(Devices({"a"}), round, {}, {}, kNow);
  EXPECT_EQ(snapshot.size(), 1u);
  EXPECT_EQ(snapshot.at("a").identity.serial, "S-a");
  EXPECT_EQ(snapshot.at("a").identity.model, "U250");
}

TEST(HealthSnapshot, ANoteOnAHealthyDeviceIsNewsAndASignAloneIsNot) {
  HealthRound round;
  round.Healthy("a");
  const HealthSnapshot well = Judge(Devices({"a"}), round, {}, {}, kNow);
  round.Healthy("a", {.sign = "temperature 60 °C", .seen = kNow - 1s});
  EXPECT_TRUE(SaysTheSame(well, Judge(Devices({"a"}), round, well, {}, kNow + 1s)));
  round.Healthy("a", {.code = "XidPageFault",
                      .message = "XID 31: MMU page fault",
                      .owner = HealthCause::Owner::kApplication,
                      .sign = "kernel log: Xid 31",
                      .seen = kNow + 2s});
  const HealthSnapshot noted = Judge(Devices({"a"}), round, well, {}, kNow + 3s);
  EXPECT_FALSE(SaysTheSame(well, noted));
  EXPECT_EQ(noted.at("a").health.since, kNow + 2s);
  const v1::DeviceHealth wire = Decoded(noted).devices(0);
  EXPECT_EQ(wire.health(), v1::HEALTHY);
  EXPECT_EQ(wire.galen().owner(), "Application");
  EXPECT_EQ(wire.galen().sign(), "kernel log: Xid 31");
}

TEST(HealthSnapshot, SinceStaysWhileTheFindingStays) {
  HealthRound round;
  round.Unhealthy("a", {"LinkDown", "QSFP link down"});
  const HealthSnapshot first = Judge(Devices({"a"}), round, {}, {}, kNow);
  const HealthSnapshot second = Judge(Devices({"a"}), round, first, {}, kNow + 60s);
  EXPECT_EQ(second.at("a").health.since, kNow);
  EXPECT_TRUE(SaysTheSame(first, second));
  round.Healthy("a");
  const HealthSnapshot third = Judge(Devices({"a"}), round, second, {}, kNow + 90s);
  EXPECT_EQ(third.at("a").health.since, kNow + 90s);
  EXPECT_FALSE(SaysTheSame(second, third));
}

TEST(HealthSnapshot, SinceIsTheTimeOfTheSignButNeverTheFuture) {
  HealthRound round;
  round.Unhealthy("a", {.code = "LinkDown",
                        .seen = std::chrono::system_clock::time_point(
                            std::chrono::duration_cast<std::chrono::system_clock::duration>(
                                (kNow - 3s).time_since_epoch()))});
  EXPECT_EQ(Judge(Devices({"a"}), round, {}, {}, kNow).at("a").health.since, kNow - 3s);
  EXPECT_EQ(Judge(Devices({"a"}), round, {}, {}, kNow - 10s).at("a").health.since, kNow - 10s);
}

TEST(HealthSnapshot, TimeoutsAreWholeSecondsAndNeverZero) {
  HealthRound round;
  round.Healthy("a");
  round.Timeout("a", 0s);
  round.Timeout("b", 10s);
  const HealthSnapshot snapshot =
      Judge(Devices({"a", "b", "c"}), round, {}, {.timeout = 20s}, kNow);
  EXPECT_EQ(snapshot.at("a").health.timeout, 1s);
  EXPECT_EQ(snapshot.at("b").health.timeout, 10s);
  EXPECT_EQ(snapshot.at("c").health.timeout, 20s);
  EXPECT_EQ(ShortestTimeout(snapshot, {.timeout = 20s}), 1s);
  EXPECT_EQ(ShortestTimeout({}, {.timeout = 20s}), 20s);
}

// A kubelet that knows no timeouts would show Unknown between two reports.
TEST(HealthSnapshot, TheShortestTimeoutIsNeverLongerThanAKubeletWaitsThatKnowsNone) {
  EXPECT_EQ(ShortestTimeout({}, {.timeout = 10min}), 30s);
}

TEST(HealthSnapshot, CarriesEveryFactOnTheWire) {
  HealthRound round;
  round.Degraded("a", 0.5,
                 {.code = "PcieWidthReduced",
                  .message = "PCIe link x8, expected x16: half the bandwidth",
                  .value = "8",
                  .threshold = "16",
                  .unit = "lanes",
                  .owner = HealthCause::Owner::kHardware,
                  .sign = "sysfs: current_link_width 8"});
  const auto response = Decoded(Judge(Devices({"a"}), round, {}, {.timeout = 12s}, kNow));
  ASSERT_EQ(response.devices_size(), 1);
  const v1::DeviceHealth& device = response.devices(0);
  EXPECT_EQ(device.device().pool_name(), "node-7");
  EXPECT_EQ(device.device().device_name(), "a");
  EXPECT_EQ(device.health(), v1::HEALTHY);
  EXPECT_EQ(device.last_updated_time(), 1'800'000'000);
  EXPECT_EQ(device.health_check_timeout_seconds(), 12);
  EXPECT_EQ(device.message(), "PCIe link x8, expected x16: half the bandwidth");
  EXPECT_TRUE(device.galen().degraded());
  EXPECT_EQ(device.galen().share(), 0.5);
  EXPECT_EQ(device.galen().sign_unix_nanos(), kNow.time_since_epoch().count());
  EXPECT_EQ(device.galen().code(), "PcieWidthReduced");
  EXPECT_EQ(device.galen().value(), "8");
  EXPECT_EQ(device.galen().threshold(), "16");
  EXPECT_EQ(device.galen().unit(), "lanes");
  EXPECT_EQ(device.galen().owner(), "Hardware");
  EXPECT_EQ(device.galen().serial(), "S-a");
  EXPECT_EQ(device.galen().model(), "U250");
  EXPECT_EQ(device.galen().sign(), "sysfs: current_link_width 8");
}

TEST(HealthSnapshot, DegradedMayBeToldAsUnhealthy) {
  HealthRound round;
  round.Degraded("a", 0.5, {.code = "PcieWidthReduced"});
  const SnapshotOptions options{.degraded_as_unhealthy = true};
  const auto response = Decoded(Judge(Devices({"a"}), round, {}, options, kNow), options);
  EXPECT_EQ(response.devices(0).health(), v1::UNHEALTHY);
  EXPECT_TRUE(response.devices(0).galen().degraded());
}

TEST(HealthSnapshot, IsTheSameInV1AndV1Alpha1) {
  HealthRound round;
  round.Unhealthy("a", {"LinkDown", "QSFP link down"});
  const std::string bytes = Encode(Judge(Devices({"a"}), round, {}, {}, kNow), {}, kNow);
  v1alpha1::NodeWatchResourcesResponse old;
  ASSERT_TRUE(old.ParseFromString(bytes));
  EXPECT_EQ(old.SerializeAsString(), bytes);
  EXPECT_EQ(old.devices(0).health(), v1alpha1::UNHEALTHY);
}

TEST(HealthSnapshot, MessagesAreBoundedAndValid) {
  HealthRound round;
  round.Unhealthy("a", {.code = "Long", .message = std::string(1020, 'x') + "°°°°"});
  round.Unhealthy("b", {.code = "Broken", .message = "bad \xff byte\nand a line"});
  const auto response = Decoded(Judge(Devices({"a", "b"}), round, {}, {}, kNow));
  EXPECT_LE(response.devices(0).message().size(), 1024u);
  EXPECT_EQ(ToValidUtf8(response.devices(0).message()), response.devices(0).message());
  EXPECT_EQ(response.devices(1).message(), "bad \uFFFD byte\uFFFDand a line");
}

TEST(HealthSnapshot, OfTheMostDevicesWithTheLongestTextsFitsIntoOneMessage) {
  const std::string text(2000, 'x');
  HealthRound round;
  round.Degraded("a", 0.5,
                 {.code = text,
                  .message = text,
                  .value = text,
                  .threshold = text,
                  .unit = text,
                  .owner = HealthCause::Owner::kApplication,
                  .sign = text});
  const std::vector<DeviceIdentity> one = {{{"fpga.example.com", std::string(253, 'p'), "a"},
                                            std::string(64, 's'),
                                            std::string(64, 'm')}};
  DeviceFinding finding = Judge(one, round, {}, {}, kNow).at("a");
  for (const std::size_t count : {std::size_t{2000}, kDevicesMax}) {
    HealthSnapshot snapshot;
    for (std::size_t i = 0; i < count; ++i) {
      finding.health.id.device = std::string(58, 'd') + std::to_string(10000 + i);
      snapshot.emplace(finding.health.id.device, finding);
    }
    EXPECT_LE(Encode(snapshot, {}, kNow).size(), kSnapshotBytesMax) << count;
    EXPECT_GT(Encode(snapshot, {}, kNow).size(), kSnapshotBytesMax / 2) << "the test is no test";
  }
}

TEST(HealthSnapshot, AShareThatIsNoneBecomesOne) {
  HealthRound round;
  round.Degraded("a", std::nan(""), {.code = "X"});
  round.Degraded("b", 7, {.code = "X"});
  const HealthSnapshot snapshot = Judge(Devices({"a", "b"}), round, {}, {}, kNow);
  EXPECT_EQ(snapshot.at("a").health.share, 0);
  EXPECT_EQ(snapshot.at("b").health.share, 1);
}

}  // namespace
}  // namespace galen::sdk
