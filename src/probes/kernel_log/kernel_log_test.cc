#include "probes/kernel_log/kernel_log.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_disk_queue.h"
#include "base/files/fake_file_system.h"
#include "base/loop/fake_loop.h"
#include "probes/kernel_log/fake_kernel_log.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string Xid(int sequence, int xid, std::string_view slot = "0000:4b:00",
                Duration since_boot = 0s) {
  return fmt::format("4,{},{},-;NVRM: Xid (PCI:{}): {}, x\n", sequence, since_boot / 1us, slot,
                     xid);
}

class KeepingSink final : public SignSink {
 public:
  void OnSigns(std::vector<Sign> signs) override {
    for (Sign& sign : signs) {
      values.push_back(*WholeNumberOf(sign));
      seen.push_back(std::move(sign));
    }
  }
  std::vector<Sign> seen;
  std::vector<std::int64_t> values;
};

// One process that follows the log; the log and the disk outlive it.
struct Follower {
  Follower(FakeLoop& loop, FakeFileSystem& files, std::string boot_id,
           std::vector<std::string> records, KernelLog::Begin begin = KernelLog::Begin::kAtBoot)
      : state({loop, NullLog(), files}, std::unique_ptr<DiskQueue>(disk), "/state/gpu.json",
              std::move(boot_id)),
        log({loop, NullLog(), metrics, state, source, sink, rules},
            {{"0000:4B:00.0", "gpu-3"}, {"0000:4c:00.0", "gpu-4"}}) {
    for (std::string& record : records) source.Append(std::move(record));
    state.Load();
    log.Start(begin);
    loop.RunUntilIdle();
  }

  Metrics metrics;
  FakeKernelLog source;
  KeepingSink sink;
  FakeDiskQueue* disk = new FakeDiskQueue;  // the state's
  StateFile state;
  const RuleTable rules{};
  KernelLog log;
};

class KernelLogTest : public ::testing::Test {
 protected:
  KernelLogTest() { EXPECT_TRUE(files_.MakeDirectories("/state", 0755).ok()); }

  FakeLoop loop_;
  FakeFileSystem files_;
};

TEST_F(KernelLogTest, TellsFaultsOfItsDevicesByTheirNames) {
  Follower follower(loop_, files_, "boot", {Xid(1, 79), Xid(2, 74, "0000:4c:00")});
  ASSERT_THAT(follower.sink.seen, SizeIs(2));
  EXPECT_EQ(follower.sink.seen[0].device, "gpu-3");
  EXPECT_EQ(follower.sink.seen[0].name, "xid");
  EXPECT_EQ(follower.sink.seen[0].raw, "kernel log: Xid 79 on 0000:4b:00");
  EXPECT_EQ(follower.sink.seen[1].device, "gpu-4");
}

TEST_F(KernelLogTest, FollowsTheLogAndSkipsWhatIsNoRecordOrNotOurs) {
  Follower follower(loop_, files_, "boot", {});
  follower.source.Append("garbage");
  follower.source.Append("6,1,2,-;usb 1-1: new device\n");
  follower.source.Append(Xid(2, 79, "0000:99:00"));
  EXPECT_THAT(follower.sink.seen, IsEmpty());
  follower.source.Append(Xid(3, 79));
  EXPECT_THAT(follower.sink.values, ElementsAre(79));
}

TEST_F(KernelLogTest, TellsEachFaultOnceOverRestartsWithinABoot) {
  std::vector<std::string> log = {Xid(1, 74), Xid(2, 79)};
  {
    Follower follower(loop_, files_, "boot", log);
    EXPECT_THAT(follower.sink.values, ElementsAre(74, 79));
  }
  files_.Crash();
  log.push_back(Xid(3, 48));
  Follower next(loop_, files_, "boot", log);
  EXPECT_THAT(next.sink.values, ElementsAre(48)) << "what came while nobody ran, and no more";
}

TEST_F(KernelLogTest, CountsFaultsOfOtherDevicesOnceOverRestarts) {
  const std::vector<std::string> log = {Xid(1, 79), Xid(2, 79, "0000:99:00")};
  {
    Follower follower(loop_, files_, "boot", {log[0]});
    follower.source.Append(log[1]);  // alone, so that no fault of ours has its place kept
    EXPECT_EQ(follower.metrics.Value("galen_kernel_log_faults_total", {{"sign", "xid"}}), 2);
  }
  Follower next(loop_, files_, "boot", log);
  EXPECT_EQ(next.metrics.Value("galen_kernel_log_faults_total", {{"sign", "xid"}}), 0);
}

TEST_F(KernelLogTest, ANewBootStartsFresh) {
  {
    Follower follower(loop_, files_, "boot-1", {Xid(500, 79)});
  }
  Follower next(loop_, files_, "boot-2", {Xid(3, 79)});
  EXPECT_THAT(next.sink.values, ElementsAre(79));
}

TEST_F(KernelLogTest, WithoutItsStateFileItReadsTheWholeBootAgain) {
  {
    Follower follower(loop_, files_, "boot", {Xid(1, 79)});
  }
  ASSERT_TRUE(files_.WriteAtomically("/state/gpu.json", "broken", 0600).ok());
  Follower next(loop_, files_, "boot", {Xid(1, 79)});
  EXPECT_THAT(next.sink.values, ElementsAre(79));
}

TEST_F(KernelLogTest, WritesNothingForLinesThatTellNoFault) {
  Follower follower(loop_, files_, "boot", {Xid(1, 79)});
  const auto writes = files_.writes();
  for (int i = 2; i < 100; ++i) follower.source.Append(fmt::format("6,{},2,-;usb\n", i));
  EXPECT_EQ(files_.writes(), writes);
}

TEST_F(KernelLogTest, AFaultIsNotLostInHarmlessLinesThatAreReadWithIt) {
  const std::vector<std::string> log = {"6,1,2,-;usb\n", Xid(2, 79), "6,3,2,-;usb\n"};
  {
    Follower follower(loop_, files_, "boot", log);
    EXPECT_THAT(follower.sink.values, ElementsAre(79));
  }
  Follower next(loop_, files_, "boot", log);
  EXPECT_THAT(next.sink.values, IsEmpty()) << "its place was kept";
}

TEST_F(KernelLogTest, AFullDiskStopsNothing) {
  files_.FailWrites(ResourceExhausted("disk full"));
  Follower follower(loop_, files_, "boot", {Xid(1, 74), Xid(2, 79)});
  EXPECT_THAT(follower.sink.values, ElementsAre(74, 79));
}

TEST_F(KernelLogTest, ADiskThatHangsStopsNothingAndItsPlaceIsKeptWhenItGoesOn) {
  const std::vector<std::string> log = {Xid(1, 74), Xid(2, 79)};
  {
    Follower follower(loop_, files_, "boot", {});
    follower.disk->Hang();
    for (const std::string& record : log) follower.source.Append(record);
    EXPECT_THAT(follower.sink.values, ElementsAre(74, 79));
    follower.disk->GoOn();
  }
  Follower next(loop_, files_, "boot", log);
  EXPECT_THAT(next.sink.values, IsEmpty());
}

TEST_F(KernelLogTest, WhatAHangingDiskDidNotKeepIsReadAgain) {
  const std::vector<std::string> log = {Xid(1, 74), Xid(2, 79)};
  {
    Follower follower(loop_, files_, "boot", {log[0]});
    follower.disk->Hang();
    follower.source.Append(log[1]);
    EXPECT_THAT(follower.sink.values, ElementsAre(74, 79));
  }
  Follower next(loop_, files_, "boot", log);
  EXPECT_THAT(next.sink.values, ElementsAre(79));
}

TEST_F(KernelLogTest, AnOverrunIsCountedAndSurvived) {
  Follower follower(loop_, files_, "boot", {"6,10,2,-;usb\n"});
  follower.source.Fail(DataLoss("records were overwritten"));
  follower.source.Append(Xid(31, 79));
  EXPECT_THAT(follower.sink.values, ElementsAre(79));
  EXPECT_EQ(follower.metrics.Value("galen_kernel_log_lost_records_total"), 20);
}

// The process before may have read the hundred harmless records after its last fault.
TEST_F(KernelLogTest, WhatLiesBetweenTheLastFaultAndARestartIsNotCalledLost) {
  {
    Follower follower(loop_, files_, "boot", {Xid(10, 79)});
  }
  Follower next(loop_, files_, "boot", {"6,111,2,-;usb\n"});
  EXPECT_EQ(next.metrics.Value("galen_kernel_log_lost_records_total"), 0);
}

TEST_F(KernelLogTest, TheFirstRecordEverIsNoGap) {
  Follower follower(loop_, files_, "boot", {"6,4000,2,-;usb\n"});
  EXPECT_EQ(follower.metrics.Value("galen_kernel_log_lost_records_total"), 0);
}

TEST_F(KernelLogTest, ALogThatCannotBeReadAnyMoreSaysSo) {
  Follower follower(loop_, files_, "boot", {});
  EXPECT_EQ(follower.metrics.Value("galen_kernel_log_readable"), 1);
  follower.source.Fail(Unavailable("gone"));
  EXPECT_EQ(follower.metrics.Value("galen_kernel_log_readable"), 0);
}

TEST_F(KernelLogTest, OldRecordsCarryTheTimeAtWhichTheyWereWritten) {
  loop_.Advance(3600s);
  Follower follower(loop_, files_, "boot", {Xid(1, 79, "0000:4b:00", 600s)});
  EXPECT_EQ(follower.sink.seen.at(0).time, loop_.WallNow() - 3000s);
}

TEST_F(KernelLogTest, AFreshRecordIsNeverOldOrInTheFutureBecauseTheKernelsClockDrifts) {
  loop_.Advance(3600s);
  Follower follower(loop_, files_, "boot", {});
  follower.source.Append(Xid(1, 79, "0000:4b:00", 3590s));
  follower.source.Append(Xid(2, 74, "0000:4b:00", 3700s));
  follower.source.Append(Xid(3, 48, "0000:4b:00", 3599900ms));
  EXPECT_EQ(follower.sink.seen.at(0).time, loop_.WallNow());
  EXPECT_EQ(follower.sink.seen.at(1).time, loop_.WallNow());
  EXPECT_EQ(follower.sink.seen.at(2).time, loop_.WallNow() - 100ms);
}

TEST_F(KernelLogTest, AFaultOfTheSwitchConcernsEveryDevice) {
  Follower follower(loop_, files_, "boot",
                    {"4,1,0,-;nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 23001, Fatal\n"});
  EXPECT_EQ(follower.sink.seen.at(0).device, kEveryDevice);
}

TEST_F(KernelLogTest, TheLinesOfOneMachineCheckAreOneEvent) {
  Follower follower(loop_, files_, "boot",
                    {"4,1,1000000,-;mce: [Hardware Error]: CPU 1: Machine Check\n",
                     "4,2,1000010,-;mce: [Hardware Error]: TSC 0\n"});
  loop_.Advance(60s);
  EXPECT_THAT(follower.sink.seen, SizeIs(1));
  follower.source.Append("4,3,60000000,-;mce: [Hardware Error]: CPU 1: Machine Check\n");
  EXPECT_THAT(follower.sink.seen, SizeIs(2));
}

TEST_F(KernelLogTest, AMachineCheckAfterAStepBackOfTheClockIsAnotherOne) {
  Follower follower(loop_, files_, "boot",
                    {"4,1,1000000,-;mce: [Hardware Error]: CPU 1: Machine Check\n"});
  loop_.Advance(60s);
  loop_.StepWallClock(-1h);
  follower.source.Append("4,2,60000000,-;mce: [Hardware Error]: CPU 1: Machine Check\n");
  EXPECT_THAT(follower.sink.seen, SizeIs(2));
}

TEST_F(KernelLogTest, MayBeginNowAndThenMissesNothingOverRestarts) {
  std::vector<std::string> log = {Xid(1, 79), Xid(2, 74)};
  {
    Follower follower(loop_, files_, "boot", log, KernelLog::Begin::kNow);
    EXPECT_THAT(follower.sink.values, IsEmpty());
    follower.source.Append(Xid(3, 48));
    EXPECT_THAT(follower.sink.values, ElementsAre(48));
  }
  log.push_back(Xid(3, 48));
  log.push_back(Xid(4, 62));
  Follower next(loop_, files_, "boot", log, KernelLog::Begin::kNow);
  EXPECT_THAT(next.sink.values, ElementsAre(62));
}

TEST_F(KernelLogTest, ALongLogIsReadInPartsWithoutLosingAny) {
  std::vector<std::string> log;
  for (int i = 0; i < 3500; ++i) log.push_back(Xid(i, 79));
  Follower follower(loop_, files_, "boot", std::move(log));
  EXPECT_THAT(follower.sink.seen, SizeIs(3500));
}

TEST_F(KernelLogTest, AMachineCheckIsOneForAsLongAsItsLinesAreClose) {
  loop_.Advance(10s);
  const auto line = [](int sequence, int micros) {
    return fmt::format("0,{},{},-;mce: [Hardware Error]: CPU 1: Machine Check: 0 Bank 5\n",
                       sequence, micros);
  };
  Follower follower(loop_, files_, "boot",
                    {line(1, 1'000'000), line(2, 1'700'000), line(3, 2'400'000)});
  EXPECT_THAT(follower.sink.seen, SizeIs(1));
}

}  // namespace
}  // namespace galen::probes
