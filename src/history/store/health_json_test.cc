#include "history/store/health_json.h"

#include <gtest/gtest.h>

#include <limits>

namespace galen::history {
namespace {

const DeviceId kGpu{"gpu.example.com", "node-7", "gpu-3"};

TEST(HealthJson, ReadsBackAsItWasWritten) {
  DeviceHealth health;
  health.id = kGpu;
  health.state = HealthState::kDegraded;
  health.share = 0.5;
  health.cause = {"PcieWidthReduced", "PCIe link x8", "8", "16", "lanes", FaultOwner::kHardware};
  health.since = WallTime(std::chrono::nanoseconds(1'795'269'731'304'050'607));
  health.timeout = std::chrono::seconds(5);
  EXPECT_EQ(*ToHealth(ToJson(health), kGpu), health);
  EXPECT_EQ(ToDeviceId(ToJson(kGpu)), kGpu);
  DeviceHealth least;
  least.id = kGpu;
  EXPECT_EQ(*ToHealth(ToJson(least), kGpu), least);
}

TEST(HealthJson, AStateOrTimeThatIsNoneIsAnError) {
  EXPECT_EQ(ToHealth(Json::MakeObject({{"state", "Fine"}}), kGpu).status().code(), Code::kDataLoss);
  EXPECT_FALSE(ToHealth(Json::MakeObject({{"state", "Healthy"}, {"since", "soon"}}), kGpu).ok());
}

TEST(HealthJson, BoundsWhatADriverSaid) {
  DeviceHealth health;
  health.cause.message = std::string(5000, 'x');
  health.cause.code = "\xff";
  health.share = std::numeric_limits<double>::infinity();
  Bound(health, kGpu);
  EXPECT_EQ(health.id, kGpu);
  EXPECT_EQ(health.cause.message.size(), 1024u);
  EXPECT_EQ(health.cause.code, "\xEF\xBF\xBD");
  EXPECT_EQ(health.share, 1.0);
}

}  // namespace
}  // namespace galen::history
