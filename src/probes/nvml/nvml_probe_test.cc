#include "probes/nvml/nvml_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_disk_queue.h"
#include "base/loop/fake_loop.h"
#include "probes/nvml/fake_nvml.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Sink final : public SignSink {
 public:
  void OnSigns(std::vector<Sign> signs) override {
    for (Sign& sign : signs) {
      texts.push_back(sign.device + " " + sign.name + " " + ValueText(sign));
      last[sign.name] = sign;
    }
  }
  std::vector<std::string> Take() { return std::exchange(texts, {}); }
  std::vector<std::string> texts;
  std::map<std::string, Sign> last;
};

class NvmlProbeTest : public ::testing::Test {
 protected:
  NvmlProbeTest() {
    probe_.Start(readings_, xids_);
    nvml_.shows["GPU-a"] = {{.name = "power", .value = 300.0}};
    nvml_.shows["GPU-b"] = {{.name = "power", .value = 310.0}};
  }
  void Look() { EXPECT_THAT(*probe_.Observe(), IsEmpty()); }

  FakeLoop loop_;
  FakeNvml nvml_;
  // In the order in which the probe makes them: XIDs, then the GPUs.
  std::vector<FakeDiskQueue*> queues_;
  Sink readings_, xids_;
  std::vector<std::string> warnings_;
  Log log_{LogLevel::kWarning, [] { return WallTime(); },
           [this](LogLevel, std::string_view line) { warnings_.emplace_back(line); }};
  NvmlProbe probe_{{loop_, log_, nvml_,
                    [this] {
                      auto queue = std::make_unique<FakeDiskQueue>();
                      queues_.push_back(queue.get());
                      return queue;
                    }},
                   {{"gpu-0", {.uuid = "GPU-a"}}, {"gpu-1", {.uuid = "GPU-b"}}}};
};

TEST_F(NvmlProbeTest, ReadsEachGpuAndSaysThatNvmlAnswers) {
  Look();
  EXPECT_THAT(readings_.Take(),
              ElementsAre("gpu-0 power 300", "gpu-0 kernel-module 0", "gpu-0 nvml 1",
                          "gpu-1 power 310", "gpu-1 kernel-module 0", "gpu-1 nvml 1"));
  EXPECT_TRUE(readings_.last["kernel-module"].absent) << "an earlier process may have shown one";
}

TEST_F(NvmlProbeTest, AMismatchOfVersionsThatIsOverIsShownOnce) {
  Look();
  const Sign mismatch{.name = "kernel-module", .value = "570.124", .expected_text = "570.133"};
  nvml_.shows["GPU-a"] = {mismatch};
  readings_.Take();
  Look();
  EXPECT_THAT(readings_.Take(), ElementsAre("gpu-0 kernel-module 570.124", "gpu-0 nvml 1",
                                            "gpu-1 power 310", "gpu-1 nvml 1"));
  nvml_.shows["GPU-a"] = {};
  Look();
  EXPECT_TRUE(readings_.last["kernel-module"].absent);
  readings_.Take();
  Look();
  EXPECT_THAT(readings_.Take(), ElementsAre("gpu-0 nvml 1", "gpu-1 power 310", "gpu-1 nvml 1"));
}

TEST_F(NvmlProbeTest, AGpuThatNvmlDoesNotKnowIsNotShownAsOneThatAnswers) {
  const Sign unknown{.name = "nvml", .error = "not found"};
  nvml_.shows["GPU-a"] = {unknown};
  Look();
  EXPECT_THAT(readings_.Take(), ElementsAre("gpu-0 nvml 0", "gpu-1 power 310",
                                            "gpu-1 kernel-module 0", "gpu-1 nvml 1"));
  nvml_.shows["GPU-b"] = {unknown};
  Look();
  EXPECT_EQ(readings_.last["nvml"].error, "not found");

  nvml_.shows["GPU-a"] = {{.name = "power", .value = 300.0}};
  readings_.Take();
  Look();
  EXPECT_THAT(readings_.Take(), ElementsAre("gpu-0 power 300", "gpu-0 kernel-module 0",
                                            "gpu-0 nvml 1", "gpu-1 nvml 0"))
      << "that versions match is shown with the first read";
}

TEST_F(NvmlProbeTest, AResetThatIsAskedForIsNotTakenBackByAReadThatDoesNotShowIt) {
  nvml_.shows["GPU-b"] = {};
  Look();
  const auto show = [this](std::vector<Sign> signs) {
    nvml_.shows["GPU-a"] = std::move(signs);
    readings_.Take();
    Look();
    return readings_.Take().front();
  };
  const Sign reset{.name = "recovery-action", .value = 1.0};
  const Sign mismatch{.name = "kernel-module", .value = "570.124", .expected_text = "570.133"};
  EXPECT_EQ(show({reset}), "gpu-0 recovery-action 1");
  EXPECT_EQ(show({{.name = "nvml", .error = "not found"}}), "gpu-0 nvml 0");
  EXPECT_EQ(readings_.last["recovery-action"].raw, "");
  show({mismatch});
  EXPECT_EQ(readings_.last["recovery-action"].raw, "");
  show({{.name = "recovery-action", .error = "timed out"}});
  EXPECT_EQ(readings_.last["recovery-action"].error, "timed out");
  EXPECT_EQ(show({reset}), "gpu-0 nvml 1") << "it was asked for all the time";
  EXPECT_EQ(show({}), "gpu-0 recovery-action 0");
}

TEST_F(NvmlProbeTest, AGpuThatDoesNotAnswerIsNamedAfterFiveSecondsAndTheOthersAreReadOn) {
  queues_[1]->Hang();
  Look();
  loop_.Advance(4s);
  Look();
  readings_.Take();
  loop_.Advance(1s);
  const std::vector<Sign> hung = *probe_.Observe();
  ASSERT_THAT(hung, SizeIs(1));
  EXPECT_EQ(hung[0].device, "gpu-0");
  EXPECT_EQ(hung[0].name, "nvml");
  EXPECT_EQ(hung[0].error, "no answer for 5 s");
  EXPECT_THAT(readings_.Take(), ElementsAre("gpu-1 power 310", "gpu-1 nvml 1"));
  EXPECT_EQ(queues_[1]->waiting(), 1u) << "no second read behind the one that hangs";

  queues_[1]->GoOn();
  EXPECT_THAT(readings_.Take(),
              ElementsAre("gpu-0 power 300", "gpu-0 kernel-module 0", "gpu-0 nvml 1"));
  Look();
}

TEST_F(NvmlProbeTest, WhatNvmlShowsAtEachReadIsAnEventWhenItChanges) {
  Look();
  const auto show = [this](double action) {
    nvml_.shows["GPU-a"] = {{.name = "recovery-action", .value = action}};
    nvml_.shows["GPU-b"] = {};
    readings_.Take();
    Look();
    return readings_.Take();
  };
  EXPECT_THAT(show(1), ElementsAre("gpu-0 recovery-action 1", "gpu-0 nvml 1", "gpu-1 nvml 1"));
  EXPECT_THAT(show(1), ElementsAre("gpu-0 nvml 1", "gpu-1 nvml 1"));
  EXPECT_THAT(show(0), ElementsAre("gpu-0 recovery-action 0", "gpu-0 nvml 1", "gpu-1 nvml 1"));
}

TEST_F(NvmlProbeTest, ThatNoRecoveryIsAskedForIsNewsOnlyAfterOneWas) {
  const auto show = [this](double action) {
    nvml_.shows["GPU-a"] = {{.name = "recovery-action", .value = action}};
    Look();
    return readings_.last["recovery-action"].maybe_old;
  };
  EXPECT_TRUE(show(0)) << "the first look";
  EXPECT_FALSE(show(1));
  EXPECT_FALSE(show(0));
}

TEST_F(NvmlProbeTest, ALinkThatWasUpIsExpectedToBeUp) {
  nvml_.shows["GPU-a"] = {{.name = "nvlinks-up", .value = 18.0}};
  Look();
  EXPECT_EQ(readings_.last["nvlinks-up"].expected, 18);
  nvml_.shows["GPU-a"] = {{.name = "nvlinks-up", .value = 17.0}};
  Look();
  EXPECT_EQ(readings_.last["nvlinks-up"].expected, 18);
}

TEST_F(NvmlProbeTest, TheInforomIsReadEveryTenMinutes) {
  Look();
  loop_.Advance(9min);
  Look();
  loop_.Advance(1min);
  Look();
  EXPECT_THAT(nvml_.depths, ElementsAre(NvmlDepth::kAll, NvmlDepth::kAll, NvmlDepth::kPoll,
                                        NvmlDepth::kPoll, NvmlDepth::kAll, NvmlDepth::kAll));
}

TEST_F(NvmlProbeTest, XidsComeByTheGpusUuid) {
  nvml_.xids = std::vector<NvmlXid>{{"GPU-of-nobody", 13}, {"GPU-b", 79}};
  loop_.Advance(20ms);
  EXPECT_THAT(xids_.Take(), ElementsAre("gpu-1 xid 79"));
}

TEST_F(NvmlProbeTest, AWaitThatFailsIsTriedAgainAndOneThatCannotWorkIsNot) {
  nvml_.xids = Unavailable("NVML error 999");
  loop_.Advance(20ms);
  nvml_.xids = std::vector<NvmlXid>{{"GPU-a", 48}};
  loop_.Advance(4s);
  EXPECT_THAT(xids_.Take(), IsEmpty());
  loop_.Advance(1s);
  EXPECT_THAT(xids_.Take(), ElementsAre("gpu-0 xid 48"));

  nvml_.xids = Unimplemented("no events");
  loop_.Advance(20ms);
  nvml_.xids = std::vector<NvmlXid>{{"GPU-a", 48}};
  loop_.Advance(1h);
  EXPECT_THAT(xids_.Take(), IsEmpty());
  EXPECT_THAT(readings_.Take(), IsEmpty()) << "a GPU without events is no worse for it";
}

TEST_F(NvmlProbeTest, GpusWhoseXidsAreMissedAreUnknownUntilTheyAreReportedAgain) {
  nvml_.fails = Unavailable("wait for XIDs: NVML error 999");
  loop_.Advance(20ms);
  EXPECT_THAT(readings_.Take(), IsEmpty()) << "the next wait may be without a GPU that is lost";
  loop_.Advance(5s);
  EXPECT_THAT(readings_.Take(), ElementsAre("gpu-0 nvml-events 1", "gpu-1 nvml-events 1"));
  EXPECT_EQ(readings_.last["nvml-events"].error, "wait for XIDs: NVML error 999");
  nvml_.fails = OkStatus();
  loop_.Advance(5s);
  EXPECT_THAT(readings_.Take(), ElementsAre("gpu-0 nvml-events 1", "gpu-1 nvml-events 1"));
  EXPECT_EQ(readings_.last["nvml-events"].error, "");
}

TEST_F(NvmlProbeTest, GpusWhoseXidsAreNeverReportedAreNotUnknownForThoseThatWereMissed) {
  nvml_.fails = Unavailable("ask for XIDs: driver/library version mismatch");
  loop_.Advance(6s);
  EXPECT_NE(readings_.last["nvml-events"].error, "");
  nvml_.fails = Unimplemented("no GPU of this machine reports XIDs by NVML");
  loop_.Advance(5s);
  EXPECT_EQ(readings_.last["nvml-events"].error, "");
  EXPECT_TRUE(readings_.last["nvml-events"].absent);
  readings_.Take();
  loop_.Advance(1h);
  EXPECT_THAT(readings_.Take(), IsEmpty());
}

TEST_F(NvmlProbeTest, OneGpuThatRefusesItsXidsIsUnknownBesideOneThatReportsThem) {
  nvml_.refused["GPU-b"] = "ask for XIDs: NVML error 999";
  loop_.Advance(10ms);
  nvml_.refused.clear();
  loop_.Advance(50ms);
  EXPECT_THAT(readings_.Take(), IsEmpty()) << "once is soon over";
  nvml_.refused["GPU-b"] = "ask for XIDs: NVML error 999";
  loop_.Advance(50ms);
  EXPECT_THAT(readings_.Take(), ElementsAre("gpu-1 nvml-events 1")) << "and once says it";
  EXPECT_EQ(readings_.last["nvml-events"].error, "ask for XIDs: NVML error 999");
  nvml_.xids = std::vector<NvmlXid>{{"GPU-a", 79}};
  nvml_.refused.clear();
  loop_.Advance(50ms);
  EXPECT_THAT(xids_.Take(), ElementsAre("gpu-0 xid 79"));
  EXPECT_THAT(readings_.Take(), ElementsAre("gpu-1 nvml-events 1"));
  EXPECT_EQ(readings_.last["nvml-events"].error, "");
}

TEST_F(NvmlProbeTest, OneGpuThatNeverReportsXidsIsNoWorseForItAndIsNamedInTheLogOnce) {
  nvml_.silent.insert("GPU-b");
  loop_.Advance(1s);
  EXPECT_THAT(readings_.Take(), IsEmpty());
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("device=gpu-1")));
}

TEST_F(NvmlProbeTest, AWaitForXidsThatDoesNotEndIsShownToo) {
  queues_[0]->Hang();
  loop_.Advance(5s);
  Look();
  loop_.Advance(2s);
  const std::vector<Sign> hung = *probe_.Observe();
  ASSERT_THAT(hung, SizeIs(2));
  EXPECT_EQ(hung[1].device, "gpu-1");
  EXPECT_EQ(hung[1].name, "nvml-events");
  EXPECT_EQ(hung[1].error, "no answer for 5 s");
}

// NVML's event has the number alone; most of these are harmless.
TEST_F(NvmlProbeTest, AnXidOfNvLink5IsLeftToTheKernelsLogWhichHasItsSeverity) {
  for (const std::uint64_t number : {143u, 144u, 150u, 151u}) {
    nvml_.xids = std::vector<NvmlXid>{{"GPU-a", number}};
    loop_.Advance(20ms);
  }
  EXPECT_THAT(xids_.Take(), ElementsAre("gpu-0 xid 143", "gpu-0 xid 151"));
}

TEST_F(NvmlProbeTest, AResetThatIsNeededNoMoreIsTakenBackAndANewOneIsNews) {
  Look();
  const auto show = [this](std::vector<Sign> signs) {
    nvml_.shows["GPU-a"] = std::move(signs);
    readings_.Take();
    Look();
    return readings_.Take().front();
  };
  const Sign reset{.name = "recovery-action", .value = 1.0};
  EXPECT_EQ(show({reset}), "gpu-0 recovery-action 1");
  EXPECT_EQ(show({}), "gpu-0 recovery-action 0");
  EXPECT_EQ(show({}), "gpu-0 nvml 1");
  EXPECT_EQ(show({reset}), "gpu-0 recovery-action 1");
}

TEST_F(NvmlProbeTest, AnInforomThatCouldNotBeReadIsReadAtTheNextPoll) {
  nvml_.shows["GPU-a"] = {{.name = "inforom-broken", .error = "timed out"}};
  Look();
  Look();
  EXPECT_THAT(nvml_.depths,
              ElementsAre(NvmlDepth::kAll, NvmlDepth::kAll, NvmlDepth::kAll, NvmlDepth::kPoll));
}

}  // namespace
}  // namespace galen::probes
