// What a runner does while its disk hangs, and once it goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/manager/process_runner.h"
#include "agent/manager/test_process_runner.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ProcessRunnerDiskTest : public ProcessRunnerTest {
 protected:
  // Another Pod of the same name takes the place of the first.
  PodRef ReplacePod() {
    object_["metadata"]["uid"] = "uid-b";
    Pod().meta.uid = "uid-b";
    // Its claim is another, too; this test's containers do without.
    object_["spec"]["containers"].MutableItems()[0].Erase("resources");
    return Pod().ref();
  }
  std::string Log() {
    const auto read = files_.Read("/s/pods/default_a_uid-a/train/log");
    return read.ok() ? *read : "nothing";
  }
};

TEST_F(ProcessRunnerDiskTest, APodThatIsBegunMeanwhileRunsOnceTheDiskGoesOn) {
  disk_.Hang();
  Run();
  EXPECT_THAT(processes_.started, IsEmpty());
  EXPECT_EQ(runner_.StatusOf(kRef), std::nullopt);
  EXPECT_EQ(runner_.trouble(), "") << "most disks take a moment";
  loop_.Advance(ProcessRunner::kDiskPatience);
  EXPECT_EQ(runner_.trouble(),
            "default/a cannot be run: its directory waits for the disk, which hangs");
  EXPECT_TRUE(runner_.writes());
  disk_.GoOn();
  EXPECT_THAT(processes_.started, SizeIs(1));
  EXPECT_TRUE(Status()["state"].Has("running"));
  EXPECT_EQ(runner_.trouble(), "");
  EXPECT_FALSE(runner_.writes());
}

TEST_F(ProcessRunnerDiskTest, APodThatIsGoneByThenIsNotRunAndLeavesNothing) {
  disk_.Hang();
  Run();
  EXPECT_TRUE(runner_.End(kRef, nullptr));
  disk_.GoOn();
  EXPECT_THAT(processes_.started, IsEmpty());
  EXPECT_THAT(processes_.removed, ElementsAre("/s/pods/default_a_uid-a"));
}

TEST_F(ProcessRunnerDiskTest, APodThatWasDeletedByThenIsNotRun) {
  disk_.Hang();
  Run();
  Pod().meta.deleted = loop_.WallNow() + 30s;
  EXPECT_TRUE(runner_.End(kRef, &Pod()));
  disk_.GoOn();
  EXPECT_THAT(processes_.started, IsEmpty());
  EXPECT_TRUE(runner_.End(kRef, nullptr));
  EXPECT_THAT(processes_.removed, ElementsAre("/s/pods/default_a_uid-a"));
}

TEST_F(ProcessRunnerDiskTest, OfTwoPodsOfOneNameTheLaterRuns) {
  disk_.Hang();
  Run();
  EXPECT_TRUE(runner_.End(kRef, nullptr));
  const PodRef second = ReplacePod();
  Run();
  disk_.GoOn();
  ASSERT_THAT(processes_.started, SizeIs(1));
  EXPECT_EQ(processes_.started[0].id, "uid-b.train.0");
  EXPECT_EQ(runner_.StatusOf(kRef), std::nullopt);
  EXPECT_NE(runner_.StatusOf(second), std::nullopt);
  EXPECT_THAT(processes_.removed, ElementsAre("/s/pods/default_a_uid-a"));
}

TEST_F(ProcessRunnerDiskTest, AnAgentThatStopsMeanwhileRunsNoneLater) {
  disk_.Hang();
  Run();
  runner_.Stop();
  EXPECT_TRUE(runner_.idle());
  disk_.GoOn();
  EXPECT_THAT(processes_.started, IsEmpty());
}

TEST_F(ProcessRunnerDiskTest, APodThatRunsIsDeletedAndLeavesNothing) {
  Run();
  disk_.Hang();
  processes_.Say("uid-a.train.0", "one\n");
  processes_.Say("uid-a.train.0", "two\n");
  EXPECT_FALSE(runner_.End(kRef, nullptr));
  EXPECT_THAT(processes_.TakeSignals(), ElementsAre("uid-a.train.0 15"));
  EndProcess({.signal = 15});
  loop_.Advance(ProcessRunner::kDiskPatience);
  EXPECT_TRUE(runner_.End(kRef, nullptr)) << "its end does not wait for the disk";
  EXPECT_THAT(processes_.removed, IsEmpty());
  disk_.GoOn();
  EXPECT_EQ(Log(), "nothing") << "the write that was under way comes before its removal";
  EXPECT_THAT(processes_.removed, ElementsAre("/s/pods/default_a_uid-a"));
  EXPECT_FALSE(runner_.writes());
}

TEST_F(ProcessRunnerDiskTest, OutputIsKeptInMemoryUpToABoundAndWhatIsLostIsCounted) {
  Run();
  disk_.Hang();
  const std::string piece(std::size_t{16} << 10, 'x');
  for (int i = 0; i < 5; ++i) processes_.Say("uid-a.train.0", piece);
  EXPECT_FALSE(processes_.IsHeld("uid-a.train.0"));
  for (int i = 0; i < 5; ++i) processes_.Say("uid-a.train.0", piece);
  EXPECT_TRUE(processes_.IsHeld("uid-a.train.0")) << "it waits for the disk as for its own file";
  loop_.Advance(ContainerLog::kHoldMax);
  EXPECT_FALSE(processes_.IsHeld("uid-a.train.0")) << "but not for one that hangs";
  for (int i = 0; i < 90; ++i) processes_.Say("uid-a.train.0", piece);
  const std::size_t kept = piece.size() + ContainerLog::kWaitingBytesMax;
  EXPECT_EQ(metrics_.Value(metric::kContainerOutputLost, {}),
            static_cast<double>(100 * piece.size() - kept));
  disk_.GoOn();
  EXPECT_EQ(Log().size(), kept);
}

TEST_F(ProcessRunnerDiskTest, ACrashIsReportedWithoutItsMessage) {
  Run();
  const std::string file = MessageFile();
  ASSERT_TRUE(files_.WriteAtomically(file, "out of ideas", 0644).ok());
  disk_.Hang();
  EndProcess({.code = 3});
  EXPECT_TRUE(Status()["state"].Has("running")) << "its message may come yet";
  loop_.Advance(ProcessRunner::kDiskPatience);
  EXPECT_EQ(Status()["lastState"]["terminated"]["exitCode"].AsInt(), 3);
  EXPECT_FALSE(Status()["lastState"]["terminated"].Has("message"));
  // It runs again, and what the first run left is not the second one's.
  ASSERT_THAT(processes_.started, SizeIs(2));
  EndProcess({.code = 4});
  EXPECT_EQ(Status()["lastState"]["terminated"]["exitCode"].AsInt(), 4);
  disk_.GoOn();
  EXPECT_FALSE(files_.Read(file).ok());
  loop_.Advance(10s);
  ASSERT_THAT(processes_.started, SizeIs(3));
  ASSERT_TRUE(files_.WriteAtomically(MessageFile(), "of the third", 0644).ok());
  EndProcess({.code = 5});
  EXPECT_EQ(Status()["state"]["waiting"]["reason"].AsString(), "CrashLoopBackOff");
  EXPECT_EQ(Status()["lastState"]["terminated"]["message"].AsString(), "of the third");
}

TEST_F(ProcessRunnerDiskTest, ItsLogsEndStandsInForAMessageAllTheSame) {
  object_["spec"]["containers"].MutableItems()[0]["terminationMessagePolicy"] =
      "FallbackToLogsOnError";
  Run();
  disk_.Hang();
  processes_.Say("uid-a.train.0", "assertion failed\n");
  EndProcess({.code = 3});
  loop_.Advance(ProcessRunner::kDiskPatience);
  EXPECT_EQ(Status()["lastState"]["terminated"]["message"].AsString(), "assertion failed");
}

// The process is gone, its message is not known yet, and the Pod is asked to go.
TEST_F(ProcessRunnerDiskTest, APodIsDeletedWhileAMessageIsWaitedFor) {
  Run();
  disk_.Hang();
  EndProcess({.code = 3});
  Pod().asked_to_go = loop_.WallNow();
  Pod().meta.deleted = *Pod().asked_to_go + 1ms;
  EXPECT_FALSE(runner_.End(kRef, &Pod()));
  loop_.Advance(ProcessRunner::kDiskPatience);
  EXPECT_THAT(processes_.TakeSignals(), IsEmpty());
  EXPECT_EQ(runner_.StatusOf(kRef)->Find("phase")->AsString(), "Failed");
  EXPECT_EQ(Status()["state"]["terminated"]["exitCode"].AsInt(), 3);
}

TEST_F(ProcessRunnerDiskTest, OneThatIsFullIsLoggedAndHeldAgainstNobody) {
  Run();
  files_.FailWrites(ResourceExhausted("disk full"));
  processes_.Say("uid-a.train.0", "lost\n");
  EXPECT_EQ(metrics_.Value(metric::kContainerOutputLost, {}), 5);
  EndProcess({.code = 3});
  EXPECT_THAT(processes_.started, SizeIs(2));
}

}  // namespace
}  // namespace galen::agent
