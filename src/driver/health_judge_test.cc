// What is reported while the disk of the state file hangs; the rest is tested by
// device_driver_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/files/fake_disk_queue.h"
#include "base/files/fake_file_system.h"
#include "base/loop/fake_loop.h"
#include "driver/device_driver.h"
#include "probes/rule_file/rule_reader.h"

namespace galen::device_driver {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr std::string_view kJudgedRules = R"(
signs:
  - {name: power, kind: reading}
  - {name: xid, kind: event}
  - {name: reset, kind: event}
rules:
  - {id: reset-gpu, sign: reset, when: == gpu, state: Healthy, code: Reset, owner: Platform,
     sentence: reset, clears: [reset]}
  - {id: lost, sign: xid, when: in 79, state: Unhealthy, code: Lost, owner: Hardware,
     until: reset, sentence: lost}
  - {id: slow, sign: power, when: '< 100', state: Degraded, share: 0.5, code: Slow,
     owner: Hardware, sentence: slow}
  - {id: fault, sign: xid, when: in 31, state: Healthy, code: PageFault, owner: Application,
     sentence: page fault, because: the program's}
)";

// What is said of each device: its code and the sign behind it.
struct JudgedHealth final : HealthWriter {
  using HealthWriter::Healthy;
  void Healthy(std::string_view device, HealthCause cause) override { Say(device, "ok", cause); }
  void Unhealthy(std::string_view device, HealthCause cause) override { Say(device, "", cause); }
  void Degraded(std::string_view device, double, HealthCause cause) override {
    Say(device, "", cause);
  }
  void Unknown(std::string_view device, HealthCause cause) override { Say(device, "", cause); }
  void Timeout(std::string_view, std::chrono::seconds) override {}
  void Say(std::string_view device, const std::string& how, const HealthCause& cause) {
    of[std::string(device)] = how + cause.code + (cause.sign.empty() ? "" : " by " + cause.sign);
  }

  std::map<std::string, std::string> of;
};

// Two devices that are well, and a disk.
class HealthJudgeTest : public ::testing::Test {
 protected:
  HealthJudgeTest() {
    EXPECT_TRUE(files_.MakeDirectories("/state", 0755).ok());
    Start();
  }
  void Start() {
    judge_.reset();
    metrics_ = std::make_unique<Metrics>();
    auto disk = std::make_unique<FakeDiskQueue>();
    disk_ = disk.get();
    state_ = std::make_unique<probes::StateFile>(probes::StateFile::Parts{loop_, NullLog(), files_},
                                                 std::move(disk), "/state/s", "boot");
    state_->Load();
    judge_ = std::make_unique<HealthJudge>(
        Edges{loop_, NullLog(), *metrics_, *state_, rules_}, probes::RuleEngine::Options{},
        HealthJudge::Callbacks{.on_verdict = [this] { ++news_; }, .look_again = [] {}});
    judge_->SetDevices({"a", "b"});
    Look();
  }
  void Look(double power_of_b = 300) {
    judge_->Observe(std::vector<probes::Sign>{Reading("a", 300), Reading("b", power_of_b)});
  }
  probes::Sign Reading(std::string device, double power) {
    return {.device = std::move(device), .name = "power", .value = power, .time = loop_.WallNow()};
  }
  void Xid(std::string device, double number) {
    judge_->OnSigns({{.device = std::move(device),
                      .name = "xid",
                      .value = number,
                      .time = loop_.WallNow(),
                      .raw = "log"}});
  }
  std::map<std::string, std::string> Reported() {
    JudgedHealth health;
    judge_->Report(health);
    return health.of;
  }
  double Late() { return metrics_->Value("galen_published_before_kept_total"); }
  // Asked for by the judge since the last call.
  int News() { return std::exchange(news_, 0); }

  FakeLoop loop_;
  FakeFileSystem files_;
  std::unique_ptr<Metrics> metrics_;
  const probes::RuleTable rules_ = *probes::ParseRules(kJudgedRules, "r.yaml");
  FakeDiskQueue* disk_ = nullptr;
  std::unique_ptr<probes::StateFile> state_;
  std::unique_ptr<HealthJudge> judge_;
  int news_ = 0;
};

TEST_F(HealthJudgeTest, OnADiskThatIsWellAChangeIsReportedAtOnce) {
  Xid("a", 79);
  EXPECT_EQ(News(), 1);
  EXPECT_THAT(Reported(), ElementsAre(Pair("a", "Lost by log"), Pair("b", "ok")));
  EXPECT_EQ(Late(), 0);
}

TEST_F(HealthJudgeTest, AChangeIsReportedWhenItIsOnTheDisk) {
  disk_->Hang();
  Xid("a", 79);
  EXPECT_EQ(News(), 0);
  EXPECT_THAT(Reported(), ElementsAre(Pair("a", "ok"), Pair("b", "ok")));
  EXPECT_EQ(judge_->Verdicts().at("a").state, HealthState::kHealthy);
  loop_.Advance(100ms);
  disk_->GoOn();
  EXPECT_EQ(News(), 1);
  EXPECT_THAT(Reported(), ElementsAre(Pair("a", "Lost by log"), Pair("b", "ok")));
  EXPECT_EQ(Late(), 0);
}

TEST_F(HealthJudgeTest, AFrozenDiskDelaysNoFaultForLongerThanItsPatience) {
  disk_->Hang();
  Xid("a", 79);
  loop_.Advance(probes::StateFile::kDiskPatience);
  EXPECT_EQ(News(), 1);
  EXPECT_EQ(Reported().at("a"), "Lost by log");
  EXPECT_EQ(judge_->Verdicts().at("a").state, HealthState::kUnhealthy);
  Xid("b", 79);
  EXPECT_EQ(News(), 1) << "it is known to hang";
  EXPECT_EQ(Reported().at("b"), "Lost by log");
  EXPECT_EQ(Late(), 2);
  disk_->GoOn();
  files_.Crash();
  Start();
  EXPECT_THAT(Reported(), ElementsAre(Pair("a", "Lost by log"), Pair("b", "Lost by log")));
}

TEST_F(HealthJudgeTest, WhatALookFindsIsReportedOnceKeptToo) {
  disk_->Hang();
  Look(50);
  EXPECT_EQ(Reported().at("b"), "ok");
  disk_->GoOn();
  EXPECT_EQ(News(), 1);
  EXPECT_EQ(Reported().at("b"), "Slow");
  Look(300);
  EXPECT_EQ(News(), 0) << "the round that looks reports it";
  EXPECT_EQ(Reported().at("b"), "ok");
}

TEST_F(HealthJudgeTest, ADeviceThatChangesTwiceShowsEachStateOnceItIsKept) {
  disk_->Hang();
  Look(50);
  loop_.Advance(100ms);
  Xid("b", 79);
  EXPECT_EQ(Reported().at("b"), "ok");
  disk_->GoOn();
  EXPECT_EQ(Reported().at("b"), "Lost by log");
}

TEST_F(HealthJudgeTest, TheNoteOfAProgramsFaultWaitsForNoDisk) {
  disk_->Hang();
  Xid("a", 31);
  EXPECT_EQ(News(), 1);
  EXPECT_EQ(Reported().at("a"), "okPageFault by log");
}

TEST_F(HealthJudgeTest, TheFirstWordOnADeviceWaitsForNoDisk) {
  disk_->Hang();
  judge_->SetDevices({"a", "b", "c"});
  EXPECT_EQ(Reported().at("c"), "NotProbed");
  judge_->OnSigns({Reading("c", 50)});
  EXPECT_EQ(Reported().at("c"), "Slow");
}

TEST_F(HealthJudgeTest, ADeviceThatTookTheNameOfAnotherShowsNothingThatWaitedForThat) {
  disk_->Hang();
  Xid("a", 79);
  judge_->SetDevices({"b"});
  judge_->SetDevices({"a", "b"});
  Look();
  EXPECT_EQ(Reported().at("a"), "ok");
  disk_->GoOn();
  EXPECT_EQ(Reported().at("a"), "ok");
}

TEST_F(HealthJudgeTest, ADiskThatFailsDelaysNothingAndIsCounted) {
  files_.FailWrites(ResourceExhausted("disk full"));
  Xid("a", 79);
  EXPECT_EQ(News(), 1);
  EXPECT_EQ(Reported().at("a"), "Lost by log");
  EXPECT_EQ(Late(), 1);
}

TEST_F(HealthJudgeTest, AnAnswerThatComesWhenTheJudgeIsGoneReachesNobody) {
  disk_->Hang();
  Xid("a", 79);
  judge_.reset();
  disk_->GoOn();
  EXPECT_EQ(News(), 0);
  EXPECT_THAT(state_->trouble(), IsEmpty());
}

}  // namespace
}  // namespace galen::device_driver
