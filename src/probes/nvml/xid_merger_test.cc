#include "probes/nvml/xid_merger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/loop/fake_loop.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;

class XidMergerTest : public ::testing::Test, public SignSink {
 protected:
  void OnSigns(std::vector<Sign> signs) override { count_ += signs.size(); }
  // How many signs came through.
  std::size_t Nvml(double xid, const std::string& device = "gpu-0") {
    return Bring(merger_.nvml(), {.device = device, .name = "xid", .value = xid});
  }
  std::size_t Log(double xid) {
    return Bring(merger_.kernel_log(), {.device = "gpu-0", .name = "xid", .value = xid});
  }
  std::size_t Bring(SignSink& inlet, Sign sign) {
    count_ = 0;
    inlet.OnSigns({std::move(sign)});
    return count_;
  }

  FakeLoop loop_;
  std::size_t count_ = 0;
  XidMerger merger_{loop_, *this};
};

TEST_F(XidMergerTest, OneThatBothSourcesBringCountsOnceWhicheverIsFirst) {
  EXPECT_EQ(Nvml(79), 1u);
  EXPECT_EQ(Log(79), 0u);
  EXPECT_EQ(Log(48), 1u);
  EXPECT_EQ(Nvml(48), 0u);
}

TEST_F(XidMergerTest, TwoOfOneSourceAreTwo) {
  EXPECT_EQ(Nvml(31), 1u);
  EXPECT_EQ(Nvml(31), 1u);
  EXPECT_EQ(Log(31), 0u);
  EXPECT_EQ(Log(31), 0u);
  EXPECT_EQ(Log(31), 1u);
}

TEST_F(XidMergerTest, OthersAndLaterOnesPass) {
  EXPECT_EQ(Nvml(79), 1u);
  EXPECT_EQ(Log(78), 1u) << "another number";
  EXPECT_EQ(Nvml(79, "gpu-1"), 1u) << "another GPU";
  EXPECT_EQ(Nvml(62), 1u);
  loop_.Advance(XidMerger::kWindow);
  EXPECT_EQ(Log(62), 0u) << "the last moment";
  EXPECT_EQ(Nvml(79), 1u);
  loop_.Advance(XidMerger::kWindow + 1ms);
  EXPECT_EQ(Log(79), 1u) << "too late to be the same";
  EXPECT_EQ(Bring(merger_.kernel_log(), {.device = "gpu-0", .name = "aer-fatal"}), 1u);
}

// Only NVML takes it back.
TEST_F(XidMergerTest, WhatAGpuAsksForCountsByNvmlAloneWhereNvmlSaysIt) {
  const Sign action{.device = "gpu-0", .name = "recovery-action", .value = 1.0};
  EXPECT_EQ(Bring(merger_.kernel_log(), action), 1u);
  EXPECT_EQ(Bring(merger_.nvml(), action), 1u);
  EXPECT_EQ(Bring(merger_.kernel_log(), action), 0u);
  const Sign others{.device = "gpu-1", .name = "recovery-action", .value = 1.0};
  EXPECT_EQ(Bring(merger_.kernel_log(), others), 1u);
}

TEST_F(XidMergerTest, AnXidOfNvlinkCountsByWhatTheLogDecodesOfIt) {
  const Sign decoded{.device = "gpu-0", .name = "nvlink-ignored", .value = 74.0};
  EXPECT_EQ(Nvml(74), 0u) << "waits for the log";
  EXPECT_EQ(Bring(merger_.kernel_log(), decoded), 1u);
  count_ = 0;
  loop_.Advance(XidMerger::kHold + 1ms);
  EXPECT_EQ(count_, 0u) << "the log has said it";
  loop_.Advance(XidMerger::kWindow);
  EXPECT_EQ(Bring(merger_.kernel_log(), decoded), 1u);
  EXPECT_EQ(Nvml(74), 0u) << "the log was first";
  loop_.Advance(XidMerger::kHold + 1ms);
  EXPECT_EQ(count_, 0u);
}

TEST_F(XidMergerTest, AnXidOfNvlinkThatTheLogSaysNothingOfCountsAfterAMoment) {
  EXPECT_EQ(Nvml(74), 0u);
  loop_.Advance(500ms);
  EXPECT_EQ(Nvml(74, "gpu-1"), 0u);
  loop_.Advance(501ms);
  EXPECT_EQ(count_, 1u);
  loop_.Advance(500ms);
  EXPECT_EQ(count_, 2u);
  // A line whose registers are not clear is the same XID by its number.
  EXPECT_EQ(Log(74), 0u);
  EXPECT_EQ(Nvml(79), 1u) << "others never wait";
}

}  // namespace
}  // namespace galen::probes
