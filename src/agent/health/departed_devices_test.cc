#include "agent/health/departed_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "agent/agent_metrics.h"
#include "agent/health/fake_change_log.h"
#include "base/loop/fake_loop.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kDepartedDriver = "gpu.example.com";
DeviceId DepartedGpu(int i) { return {kDepartedDriver, "node-1", "gpu-" + std::to_string(i)}; }

// A driver that reports of gpu-1 every ten seconds and no more of gpu-0.
class DepartedDevicesTest : public ::testing::Test {
 protected:
  DepartedDevicesTest() {
    metric::Declare(metrics_);
    keeper_.OnDriverConnected(kDepartedDriver);
    keeper_.OnForgotten([this](const DeviceId& id) { found_.push_back(id); });
    Report({0, 1});
    departed_.Start();
  }

  void Report(const std::vector<int>& devices) {
    DecodedReport report;
    report.report.driver = kDepartedDriver;
    for (const int i : devices) {
      report.report.devices.push_back({.id = DepartedGpu(i), .state = HealthState::kHealthy});
    }
    keeper_.OnReport(report, loop_.Now());
  }
  // The devices that were found to have left on the way.
  std::vector<DeviceId> PassWith(Duration d, bool reports) {
    for (const Time end = loop_.Now() + d; loop_.Now() < end;) {
      if (reports) Report({1});
      loop_.Advance(10s);
    }
    EXPECT_EQ(found_.empty(), !std::exchange(notified_, false));
    return std::exchange(found_, {});
  }

  FakeLoop loop_;
  Metrics metrics_;
  FakeChangeLog journal_;
  HealthKeeper keeper_{
      {loop_, NullLog(), metrics_, journal_}, {}, [](const std::vector<HealthChange>&) {}};
  DepartedDevices::Traces traces_{.driver_registered = true, .report_age = 0s};
  std::vector<DeviceId> found_;
  bool notified_ = false;
  DepartedDevices departed_{{loop_, NullLog(), keeper_},
                            [this](const DeviceId&) { return traces_; },
                            [this] { notified_ = true; }};
};

TEST_F(DepartedDevicesTest, ADeviceThatItsReportingDriverNamesNoMoreHasLeft) {
  EXPECT_THAT(PassWith(5min, true), IsEmpty());
  EXPECT_THAT(PassWith(2min, true), ElementsAre(DepartedGpu(0)));
  EXPECT_THAT(PassWith(1h, true), IsEmpty());
}

TEST_F(DepartedDevicesTest, ADeviceThatAPodHoldsStays) {
  traces_.held = true;
  EXPECT_THAT(PassWith(3h, true), IsEmpty());
}

TEST_F(DepartedDevicesTest, ADeviceThatASliceListsStays) {
  traces_.listed = true;
  EXPECT_THAT(PassWith(3h, true), IsEmpty());
}

TEST_F(DepartedDevicesTest, NothingIsConcludedFromADriverThatIsSilentItself) {
  traces_.report_age = 10min;
  EXPECT_THAT(PassWith(3h, false), IsEmpty());
  traces_.report_age = std::nullopt;
  EXPECT_THAT(PassWith(3h, false), IsEmpty());
}

TEST_F(DepartedDevicesTest, DevicesOfADriverThatWasUninstalledLeaveAfterAnHour) {
  traces_ = {};
  EXPECT_THAT(PassWith(1h, false), IsEmpty());
  EXPECT_THAT(PassWith(2min, false), ElementsAre(DepartedGpu(0), DepartedGpu(1)));
}

TEST_F(DepartedDevicesTest, WhatComesBackBeginsAnew) {
  traces_ = {};
  EXPECT_THAT(PassWith(50min + 40s, false), IsEmpty());
  Report({0, 1});  // shortly before the next look
  EXPECT_THAT(PassWith(50min, false), IsEmpty());
}

}  // namespace
}  // namespace galen::agent
