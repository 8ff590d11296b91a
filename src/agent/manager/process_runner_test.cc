#include "agent/manager/process_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/manager/test_process_runner.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(ProcessRunnerTest, AContainerSeesTheVariablesOfItsDevices) {
  Run();
  ASSERT_THAT(processes_.started, SizeIs(1));
  EXPECT_THAT(processes_.started[0].command, ElementsAre("train", "--fast"));
  EXPECT_THAT(processes_.started[0].environment, Contains("GPU_UUID=1234"));
  EXPECT_THAT(processes_.started[0].environment,
              Contains("GALEN_CONTAINER_DIRECTORY=/s/pods/default_a_uid-a/train"));
  EXPECT_TRUE(Status()["state"].Has("running"));
  EXPECT_THAT(changed_, Contains("a"));
  Run();
  EXPECT_THAT(processes_.started, SizeIs(1)) << "it runs already";
}

TEST_F(ProcessRunnerTest, ACrashLoopWaitsTenSecondsThenTwenty) {
  Run();
  EndProcess({.code = 3});
  EXPECT_THAT(processes_.started, SizeIs(2)) << "the first time at once";
  EndProcess({.code = 3});
  EXPECT_EQ(WaitingFor(), "CrashLoopBackOff");
  EXPECT_EQ(Status()["lastState"]["terminated"]["exitCode"].AsInt(), 3);
  EXPECT_EQ(Status()["restartCount"].AsInt(), 1);
  loop_.Advance(9900ms);
  EXPECT_THAT(processes_.started, SizeIs(2));
  loop_.Advance(100ms);
  EXPECT_THAT(processes_.started, SizeIs(3));
  EndProcess({.signal = 9});
  EXPECT_EQ(Status()["lastState"]["terminated"]["exitCode"].AsInt(), 137);
  loop_.Advance(19900ms);
  EXPECT_THAT(processes_.started, SizeIs(3));
  loop_.Advance(100ms);
  EXPECT_THAT(processes_.started, SizeIs(4));
}

TEST_F(ProcessRunnerTest, OutOfMemoryHasItsOwnReason) {
  Run();
  EndProcess({.code = 1});
  EndProcess({.signal = 9, .out_of_memory = true});
  EXPECT_EQ(Status()["lastState"]["terminated"]["reason"].AsString(), "OOMKilled");
}

TEST_F(ProcessRunnerTest, TheTerminationLogIsTheMessageAndBelongsToOneRun) {
  Run();
  const std::string first = MessageFile();
  EXPECT_TRUE(first.starts_with("/s/pods/default_a_uid-a/train/termination-log-0-"));
  ASSERT_TRUE(files_.WriteAtomically(first, "out of ideas", 0644).ok());
  EndProcess({.code = 1});
  EXPECT_EQ(Status()["lastState"]["terminated"]["message"].AsString(), "out of ideas");
  EXPECT_NE(MessageFile(), first);
  EXPECT_FALSE(files_.Read(first).ok()) << "it was read";
  EndProcess({.code = 1});
  EXPECT_FALSE(Status()["lastState"]["terminated"].Has("message"));
}

TEST_F(ProcessRunnerTest, ACommandMayNameTheTerminationLog) {
  object_["spec"]["containers"].MutableItems()[0]["args"] =
      Json::MakeArray({"--log", "$(GALEN_TERMINATION_LOG)", "$$(HOME)", "$(HOME)"});
  Run();
  EXPECT_THAT(processes_.started[0].command,
              ElementsAre("train", "--fast", "--log", MessageFile(), "$(HOME)",
                          "/s/pods/default_a_uid-a/train"));
}

TEST_F(ProcessRunnerTest, WhereAskedForTheLogsEndStandsInForAMessage) {
  object_["spec"]["containers"].MutableItems()[0]["terminationMessagePolicy"] =
      "FallbackToLogsOnError";
  Run();
  EndProcess({.code = 1});
  processes_.Say(processes_.Running().front(), "line 1\nassertion failed\n");
  EndProcess({.code = 1});
  EXPECT_EQ(Status()["lastState"]["terminated"]["message"].AsString(), "line 1\nassertion failed");
  EXPECT_EQ(*files_.Read("/s/pods/default_a_uid-a/train/log"), "line 1\nassertion failed\n");
}

TEST_F(ProcessRunnerTest, AProgramThatCannotBeStartedIsAFailedStart) {
  processes_.refusal = NotFound("start train: no such program");
  Run();
  EXPECT_EQ(WaitingFor(), "CrashLoopBackOff") << "tried twice, the first restart comes at once";
  const Json last = Status()["lastState"]["terminated"];
  EXPECT_EQ(last["reason"].AsString(), "StartError");
  EXPECT_EQ(last["exitCode"].AsInt(), 128);
  EXPECT_EQ(last["message"].AsString(), "start train: no such program");
  processes_.refusal = OkStatus();
  loop_.Advance(10s);
  EXPECT_TRUE(Status()["state"].Has("running"));
}

TEST_F(ProcessRunnerTest, ADeviceWithoutItsCdiFileIsWaitedFor) {
  ASSERT_TRUE(files_.Remove("/cdi/gpu.json").ok());
  Run();
  EXPECT_EQ(WaitingFor(), "CreateContainerConfigError");
  EXPECT_THAT(Status()["state"]["waiting"]["message"].AsString(),
              HasSubstr("gpu.example.com/claim=gpu-0"));
  WriteCdi();
  loop_.Advance(ProcessRunner::kLookAgain);
  EXPECT_TRUE(Status()["state"].Has("running"));
  EXPECT_EQ(Status()["restartCount"].AsInt(), 0);
}

TEST_F(ProcessRunnerTest, ADeletedPodGetsItsGraceAndIsThenKilled) {
  Run();
  // By the API server's clock, which is far behind the node's.
  Pod().asked_to_go = loop_.WallNow() - 31s;
  Pod().meta.deleted = *Pod().asked_to_go + 4s;
  EXPECT_FALSE(runner_.End(kRef, &Pod()));
  EXPECT_THAT(processes_.TakeSignals(), ElementsAre("uid-a.train.0 15"));
  EXPECT_FALSE(runner_.End(kRef, &Pod())) << "asked again at each news";
  EXPECT_THAT(processes_.TakeSignals(), IsEmpty());
  loop_.Advance(3999ms);
  EXPECT_THAT(processes_.TakeSignals(), IsEmpty());
  loop_.Advance(1ms);
  EXPECT_THAT(processes_.TakeSignals(), ElementsAre("uid-a.train.0 9"));
  changed_.clear();
  EndProcess({.signal = 9});
  EXPECT_THAT(changed_, ElementsAre("a"));
  EXPECT_EQ(runner_.StatusOf(kRef)->Find("phase")->AsString(), "Failed");
}

TEST_F(ProcessRunnerTest, ADeletionThatHurriesCountsFromThenOn) {
  Run();
  Pod().asked_to_go = loop_.WallNow();
  Pod().meta.deleted = *Pod().asked_to_go + 30s;
  EXPECT_FALSE(runner_.End(kRef, &Pod()));
  processes_.TakeSignals();
  loop_.Advance(3s);
  Pod().meta.deleted = *Pod().asked_to_go + 1s;
  EXPECT_FALSE(runner_.End(kRef, &Pod()));
  loop_.Advance(999ms);
  EXPECT_THAT(processes_.TakeSignals(), IsEmpty());
  loop_.Advance(1ms);
  EXPECT_THAT(processes_.TakeSignals(), ElementsAre("uid-a.train.0 9"));
}

TEST_F(ProcessRunnerTest, OfATerminationLogOfAnySizeLittleIsRead) {
  Run();
  ASSERT_TRUE(files_.WriteAtomically(MessageFile(), std::string(1 << 20, 'x'), 0644).ok());
  EndProcess({.code = 1});
  EXPECT_LE(processes_.most_read, ProcessRunner::kMessageBytesMax + 4);
  EndProcess({.code = 1});
}

TEST_F(ProcessRunnerTest, AStartThatFailedHalfWayBeginsAnew) {
  object_ = ParseYaml(R"(
metadata: {name: a, namespace: default, uid: uid-a}
spec:
  containers:
  - {name: one, image: x, command: [one]}
  - {name: two, image: x, command: [two]}
)")
                .value();
  // The second directory finds no room, once.
  files_.FailWrites(ResourceExhausted("disk full"), 1);
  Run();
  EXPECT_THAT(processes_.started, IsEmpty());
  EXPECT_THAT(runner_.trouble(), HasSubstr("default/a cannot be run: "));
  files_.FailWrites(std::nullopt);
  loop_.Advance(1min);
  ASSERT_THAT(processes_.Running(), SizeIs(2));
  EXPECT_EQ(runner_.trouble(), "");
  for (const std::string& id : processes_.Running()) processes_.Say(id, id);
  EXPECT_EQ(*files_.Read("/s/pods/default_a_uid-a/one/log"), "uid-a.one.0");
  EXPECT_EQ(*files_.Read("/s/pods/default_a_uid-a/two/log"), "uid-a.two.0");
}

TEST_F(ProcessRunnerTest, WhyAPodCannotBeBegunIsPublishedOnce) {
  status_ = 403;
  Run();
  loop_.Advance(10min);
  int events = 0;
  for (const net::HttpRequest& request : api_.requests()) {
    events += request.body.find("FailedCreatePodContainer") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(events, 1);
  EXPECT_NE(runner_.trouble(), "");
  runner_.End(kRef, nullptr);
  EXPECT_EQ(runner_.trouble(), "");
}

TEST_F(ProcessRunnerTest, ADeletedPodSaysHowItEndedBeforeItGoes) {
  Run();
  Pod().meta.deleted = loop_.WallNow() + 30s;
  runner_.End(kRef, &Pod());
  EndProcess({.code = 0});
  EXPECT_FALSE(runner_.End(kRef, &Pod())) << "the API server does not know yet";
  Pod().phase = "Succeeded";
  EXPECT_TRUE(runner_.End(kRef, &Pod()));
  EXPECT_TRUE(runner_.End(kRef, nullptr));
  EXPECT_THAT(processes_.removed, ElementsAre("/s/pods/default_a_uid-a"));
}

TEST_F(ProcessRunnerTest, ADeletedPodDoesNotWaitForEverToBeHeard) {
  Run();
  Pod().meta.deleted = loop_.WallNow() + 30s;
  runner_.End(kRef, &Pod());
  EndProcess({.code = 0});
  EXPECT_FALSE(runner_.End(kRef, &Pod()));
  changed_.clear();
  loop_.Advance(ProcessRunner::kFinalStatusWithin);
  EXPECT_THAT(changed_, ElementsAre("a"));
  EXPECT_TRUE(runner_.End(kRef, &Pod()));
}

TEST_F(ProcessRunnerTest, APodThatWasRemovedByForceIsEndedAllTheSame) {
  Run();
  view_.pods.clear();
  EXPECT_FALSE(runner_.End(kRef, nullptr));
  EXPECT_THAT(processes_.TakeSignals(), ElementsAre("uid-a.train.0 15"));
  EndProcess({.signal = 15});
  EXPECT_TRUE(runner_.End(kRef, nullptr));
  EXPECT_THAT(processes_.removed, SizeIs(1));
}

TEST_F(ProcessRunnerTest, AnApiThatIsAwayIsAskedAgain) {
  status_ = 503;
  Run();
  EXPECT_THAT(processes_.started, IsEmpty());
  EXPECT_EQ(runner_.StatusOf(kRef), std::nullopt);
  status_ = 200;
  loop_.Advance(2min);
  EXPECT_THAT(processes_.started, SizeIs(1));
}

TEST_F(ProcessRunnerTest, AnotherPodOfTheNameIsNotRunForIt) {
  object_["metadata"]["uid"] = "uid-new";
  Run();
  EXPECT_THAT(processes_.started, IsEmpty());
  EXPECT_TRUE(runner_.End(kRef, nullptr));
}

TEST_F(ProcessRunnerTest, DirectoriesOfPodsThatAreGoneAreRemovedAtTheStart) {
  ASSERT_TRUE(files_.MakeDirectories("/s/pods/default_a_uid-a", 0700).ok());
  ASSERT_TRUE(files_.MakeDirectories("/s/pods/default_old_uid-old", 0700).ok());
  runner_.Open();
  EXPECT_THAT(processes_.removed, ElementsAre("/s/pods/default_old_uid-old"));
}

TEST_F(ProcessRunnerTest, APodThatAnEarlierAgentRanSaysThatItDoesNotBeforeItsClaimsAreReady) {
  runner_.Correct(Pod());
  loop_.Advance(1s);
  EXPECT_EQ(runner_.StatusOf(kRef), std::nullopt) << "it shows nothing that runs";
  Pod().statuses = {{.name = "train", .running = true}};
  object_["status"] = ParseYaml(R"(
containerStatuses:
- {name: train, restartCount: 2, state: {running: {startedAt: "2026-11-22T09:00:00Z"}}}
)")
                          .value();
  runner_.Correct(Pod());
  loop_.Advance(1s);
  EXPECT_THAT(processes_.started, IsEmpty());
  EXPECT_EQ(Status()["state"]["terminated"]["reason"].AsString(), "ContainerStatusUnknown");
  EXPECT_THAT(changed_, ElementsAre("a"));
  Run();
  EXPECT_THAT(processes_.started, SizeIs(1));
  EXPECT_EQ(Status()["restartCount"].AsInt(), 3);
}

TEST_F(ProcessRunnerTest, AnAgentThatStopsEndsItsProcessesAndStartsNone) {
  Run();
  EXPECT_FALSE(runner_.idle());
  runner_.Stop();
  EXPECT_THAT(processes_.TakeSignals(), ElementsAre("uid-a.train.0 15"));
  changed_.clear();
  EndProcess({.signal = 15});
  EXPECT_TRUE(runner_.idle());
  loop_.Advance(1h);
  EXPECT_THAT(processes_.started, SizeIs(1));
  EXPECT_THAT(changed_, IsEmpty()) << "the next agent finds the Pod as it was";
}

TEST_F(ProcessRunnerTest, WhatDoesNotEndWithTheAgentIsKilled) {
  Run();
  runner_.Stop();
  processes_.TakeSignals();
  loop_.Advance(ProcessRunner::kStopWithin);
  EXPECT_THAT(processes_.TakeSignals(), ElementsAre("uid-a.train.0 9"));
}

}  // namespace
}  // namespace galen::agent
