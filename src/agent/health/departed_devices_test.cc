#include "agent/health/departed_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    cache_.SetConnected(kDepartedDriver, true);
    Report({0, 1});
    traces_ = {.driver_registered = true, .report_age = 0s};
  }

  void Report(const std::vector<int>& devices) {
    DecodedReport report;
    report.report.driver = kDepartedDriver;
    for (const int i : devices) {
      report.report.devices.push_back({.id = DepartedGpu(i), .state = HealthState::kHealthy});
    }
    cache_.Apply(report, now_, WallTime{});
  }
  // Looks every minute; what was found to have left on the way.
  std::vector<DeviceId> PassWith(Duration d, bool reports) {
    std::vector<DeviceId> found;
    for (const Time end = now_ + d; now_ < end; now_ += 10s) {
      if (reports) Report({1});
      cache_.Expire(now_, WallTime{});
      const auto traces_of = [this](const DeviceId&) { return traces_; };
      if ((now_ - Time{}) % 1min != Duration::zero()) continue;
      for (const DeviceId& id : departed_.Look(cache_, traces_of, now_)) {
        found.push_back(id);
        cache_.Forget(id);
      }
    }
    return found;
  }

  Time now_{};
  HealthCache cache_{{}};
  DepartedDevices::Traces traces_;
  DepartedDevices departed_;
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
  PassWith(50min, false);
  Report({0, 1});
  EXPECT_THAT(PassWith(50min, false), IsEmpty());
}

}  // namespace
}  // namespace galen::agent
