#include "probes/sysfs/sysfs_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_disk_queue.h"
#include "base/loop/fake_loop.h"
#include "probes/rule_file/rule_reader.h"
#include "probes/rules/rule_engine.h"
#include "probes/sysfs/fake_sysfs.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kRules = R"(
signs:
- {name: width, kind: reading, file: width, expected: max_width, most: 32}
- {name: errors, kind: counter, file: errors}
- {name: slow, kind: reading, file: slow, every: 10s}
rules:
- {id: slow, sign: slow, when: "== 7", enter_for: 4s, state: Unhealthy, code: Slow,
   owner: Driver, sentence: slow}
)";

class Sink final : public SignSink {
 public:
  void OnSigns(std::vector<Sign> signs) override {
    ++calls;
    for (Sign& sign : signs) all.push_back(std::move(sign));
  }
  std::vector<Sign> all;
  int calls = 0;
};

class SysfsProbeTest : public ::testing::Test {
 protected:
  SysfsProbeTest() {
    for (const char* device : {"a", "b"}) {
      Write(device, "width", "16\n");
      Write(device, "max_width", "16\n");
      Write(device, "errors", "0\n");
    }
    probe_.SetDevices({{"a", "d/a"}, {"b", "d/b"}});
    probe_.Start(sink_);
    engine_.SetDevices({"a"}, {loop_.Now(), loop_.WallNow()});
  }

  void Write(const std::string& device, const std::string& file, const std::string& text) {
    files_.files["/sys/d/" + device + "/" + file] = text;
  }
  // The sign of the device at the next look; nullopt: none was shown.
  std::optional<Sign> Look(const std::string& device, const std::string& name) {
    loop_.Advance(2s);
    const std::vector<Sign> signs = *probe_.Observe();
    for (const Sign& sign : signs) {
      if (sign.device == device && sign.name == name) return sign;
    }
    return std::nullopt;
  }
  // The state of device "a" once the engine has these signs.
  HealthState StateAfter(const std::vector<Sign>& signs) {
    engine_.Evaluate(signs, {loop_.Now(), loop_.WallNow()});
    return engine_.Snapshot().front().state;
  }
  HealthState StateAfterLook() {
    loop_.Advance(2s);
    return StateAfter(*probe_.Observe());
  }
  std::vector<Sign> Take(DeviceSigns& device, const DeviceLook& look) const {
    std::vector<Sign> signs;
    device.Take(look, {loop_.Now(), loop_.WallNow()}, signs);
    return signs;
  }
  FakeDiskQueue& QueueOf(std::size_t index) { return *queues_.at(index); }

  FakeLoop loop_;
  Metrics metrics_;
  const RuleTable rules_ = *ParseRules(kRules, "r");
  FakeSysfs files_;
  std::vector<FakeDiskQueue*> queues_;
  Sink sink_;
  SysfsProbe probe_{{loop_, NullLog(), metrics_, rules_, files_,
                     [this] {
                       auto queue = std::make_unique<FakeDiskQueue>();
                       queues_.push_back(queue.get());
                       return queue;
                     }},
                    {}};
  RuleEngine engine_{rules_, {}};
};

TEST_F(SysfsProbeTest, ShowsEachSignWithWhatIsExpectedOfIt) {
  const std::optional<Sign> width = Look("a", "width");
  EXPECT_EQ(NumberOf(*width), 16);
  EXPECT_EQ(width->expected, 16);
  EXPECT_EQ(width->raw, "sysfs: width: 16");
  EXPECT_EQ(NumberOf(*Look("b", "present")), 1);
}

TEST_F(SysfsProbeTest, WhatALookLeavesOpenIsThereForTheNext) {
  Look("a", "width");
  EXPECT_EQ(files_.opened_again, 0);
  Look("a", "width");
  EXPECT_EQ(files_.opened_again, 2) << "of two devices";
}

TEST_F(SysfsProbeTest, AFileThatADeviceNeverHadIsNoSignOfIt) {
  EXPECT_EQ(Look("a", "slow"), std::nullopt);
}

TEST_F(SysfsProbeTest, AFileThatVanishesIsUnknownAndNotBad) {
  ASSERT_TRUE(Look("a", "errors")->error.empty());
  files_.files.erase("/sys/d/a/errors");
  EXPECT_EQ(Look("a", "errors")->error, "the kernel gives no value any more");
}

TEST_F(SysfsProbeTest, AValueOutOfBoundsIsUnknownOnceThereWasOne) {
  ASSERT_TRUE(Look("a", "width")->error.empty());
  Write("a", "width", "255\n");
  EXPECT_FALSE(Look("a", "width")->error.empty());
}

TEST_F(SysfsProbeTest, AValueThatIsShownAgainConfirmsNothing) {
  Write("a", "slow", "7\n");
  for (int i = 0; i < 5; ++i) EXPECT_NE(StateAfterLook(), HealthState::kUnhealthy) << i;
  EXPECT_EQ(StateAfterLook(), HealthState::kUnhealthy) << "read a second time after 10 s";
}

TEST_F(SysfsProbeTest, AFileThatNeverAnswersIsNamedAndHoldsUpNoOtherDevice) {
  QueueOf(0).Hang();
  Look("a", "width");
  const std::optional<Sign> present = Look("a", "present");
  EXPECT_EQ(present->error, "no thread has looked at d/a for 2 s");
  EXPECT_EQ(NumberOf(*Look("b", "width")), 16);
  EXPECT_EQ(metrics_.Value("galen_sysfs_hanging_reads"), 1);
  EXPECT_EQ(QueueOf(0).waiting(), 1u) << "no second read waits behind the first";

  QueueOf(0).GoOn();
  loop_.RunUntilIdle();
  ASSERT_FALSE(sink_.all.empty()) << "what came late is shown at once";
  EXPECT_EQ(sink_.all.front().device, "a");
  EXPECT_EQ(metrics_.Value("galen_sysfs_hanging_reads"), 0);
}

TEST_F(SysfsProbeTest, LooksThatEndWithinAMomentAreGivenOnTogether) {
  QueueOf(0).Hang();
  QueueOf(1).Hang();
  Look("a", "width");
  QueueOf(1).GoOn();
  loop_.RunUntilIdle();
  EXPECT_EQ(sink_.calls, 0) << "the other may end at once";
  QueueOf(0).GoOn();
  loop_.RunUntilIdle();
  EXPECT_EQ(sink_.calls, 1);
  EXPECT_EQ(sink_.all.front().device, "b");
  EXPECT_EQ(sink_.all.back().device, "a");
}

TEST_F(SysfsProbeTest, ALookWaitsAMomentAtMostForOthers) {
  QueueOf(0).Hang();
  QueueOf(1).Hang();
  Look("a", "width");
  QueueOf(1).GoOn();
  loop_.Advance(10ms);
  EXPECT_EQ(sink_.calls, 1);
  EXPECT_EQ(sink_.all.front().device, "b");
}

TEST_F(SysfsProbeTest, ADeviceThatHangsMakesEachSignThatItHadUnknownOnce) {
  Look("a", "width");
  QueueOf(0).Hang();
  Look("a", "width");
  loop_.Advance(2s);
  std::vector<std::string> unknown;
  for (const std::vector<Sign> signs = *probe_.Observe(); const Sign& sign : signs) {
    if (!sign.error.empty()) unknown.push_back(sign.device + " " + sign.name);
  }
  EXPECT_THAT(unknown, ::testing::ElementsAre("a present", "a errors", "a width"));
}

TEST_F(SysfsProbeTest, TheSignOfAFileThatHangsIsUnknownOnceToo) {
  DeviceSigns device(rules_, {"a", "d/a"});
  Take(device, {.present = true,
                .readings = {{.sign = "errors", .value = 1}, {.sign = "width", .value = 16}}});
  const std::vector<Sign> unknown = device.Unknown("width", "hangs", loop_.WallNow());
  ASSERT_EQ(unknown.size(), 2u);
  EXPECT_EQ(unknown[0].name, "width");
  EXPECT_EQ(unknown[1].name, "errors");
  EXPECT_EQ(unknown[1].error, "not read, because hangs");
}

TEST_F(SysfsProbeTest, ALookThatReturnsAfterItsProbeTouchesNothing) {
  FakeLoop loop;
  Metrics metrics;
  FakeDiskQueue* queue = nullptr;
  auto keeper = std::make_unique<FakeDiskQueue>();
  {
    SysfsProbe probe({loop, NullLog(), metrics, rules_, files_,
                      [&] {
                        auto made = std::make_unique<FakeDiskQueue>();
                        queue = made.get();
                        return made;
                      }},
                     {});
    probe.SetDevices({{"a", "d/a"}});
    queue->Hang();
    ASSERT_TRUE(probe.Observe().ok());
    // The thread has the work; the queue's owner goes.
    std::swap(*keeper, *queue);
  }
  keeper->GoOn();
  EXPECT_EQ(loop.waiting(), 0u);
}

TEST_F(SysfsProbeTest, ADeviceThatLeavesIsGoneAndItsSignsUnknownUntilItIsBack) {
  ASSERT_TRUE(Look("a", "errors")->error.empty());
  const std::map<std::string, std::string> before = files_.files;
  files_.RemoveTree("/sys/d/a");
  EXPECT_EQ(NumberOf(*Look("a", "present")), 0);
  EXPECT_EQ(Look("a", "errors")->error, "its directory is gone");
  const WallTime gone = loop_.WallNow();
  loop_.Advance(1s);
  files_.files = before;
  const std::optional<Sign> reset = Look("a", "reset");
  EXPECT_EQ(ValueText(*reset), "device");
  EXPECT_EQ(reset->time, gone) << "it came back some time since then";
  EXPECT_EQ(Look("a", "reset"), std::nullopt) << "once";
}

TEST_F(SysfsProbeTest, ADeviceThatWasRemovedAndIsBackBeforeALookIsAnotherOne) {
  Look("a", "present");
  QueueOf(0).Hang();
  Look("a", "present");
  probe_.NoteRemoved("a");
  const WallTime removed = loop_.WallNow();
  QueueOf(0).GoOn();
  loop_.Advance(1s);
  EXPECT_EQ(std::ranges::count(sink_.all, "reset", &Sign::name), 0) << "that look began before";
  EXPECT_GT(std::ranges::count(sink_.all, "width", &Sign::name), 0);
  const std::optional<Sign> reset = Look("a", "reset");
  ASSERT_TRUE(reset);
  EXPECT_EQ(reset->time, removed);
  EXPECT_EQ(Look("a", "reset"), std::nullopt) << "once";
}

TEST_F(SysfsProbeTest, ADeviceThatIsBackWasGoneTheTimeThatPassedHoweverTheClockWasSet) {
  for (const Duration step : {-1h, 1h}) {
    files_.RemoveTree("/sys/d/a");
    Look("a", "present");
    loop_.StepWallClock(step);
    Write("a", "width", "16\n");
    const std::optional<Sign> reset = Look("a", "reset");
    EXPECT_EQ(reset->time, loop_.WallNow() - 2s) << step.count();
  }
}

TEST_F(SysfsProbeTest, ADeviceThatComesBackWithoutOneOfItsFilesIsNotUnknownForIt) {
  EXPECT_EQ(StateAfterLook(), HealthState::kHealthy);
  std::map<std::string, std::string> later = files_.files;
  later.erase("/sys/d/a/errors");
  files_.RemoveTree("/sys/d/a");
  EXPECT_EQ(StateAfterLook(), HealthState::kUnknown);
  files_.files = later;
  EXPECT_EQ(StateAfterLook(), HealthState::kHealthy);
}

TEST_F(SysfsProbeTest, AFileThatWasGarbageFromTheStartAndIsGoneIsNoSignOfTheDevice) {
  Write("a", "errors", "garbage\n");
  EXPECT_EQ(StateAfterLook(), HealthState::kUnknown);
  files_.files.erase("/sys/d/a/errors");
  EXPECT_EQ(StateAfterLook(), HealthState::kHealthy);
}

TEST_F(SysfsProbeTest, ALookThatWasLateAtAFileWhichTheDeviceHasNotIsForgottenByTheNext) {
  DeviceSigns device(rules_, {"a", "d/a"});
  const DeviceLook look{.present = true,
                        .readings = {{.sign = "width", .value = 16}, {.sign = "slow"}}};
  EXPECT_EQ(StateAfter(Take(device, look)), HealthState::kHealthy);
  EXPECT_EQ(StateAfter(device.Unknown("slow", "late", loop_.WallNow())), HealthState::kUnknown);
  EXPECT_EQ(StateAfter(Take(device, look)), HealthState::kHealthy);
}

TEST_F(SysfsProbeTest, ADeviceThatIsBackHasItsSeldomReadSignsReadAtOnce) {
  Write("a", "slow", "1\n");
  EXPECT_EQ(NumberOf(*Look("a", "slow")), 1);
  std::map<std::string, std::string> later = files_.files;
  later["/sys/d/a/slow"] = "2\n";
  files_.RemoveTree("/sys/d/a");
  EXPECT_EQ(Look("a", "slow")->error, "its directory is gone");
  files_.files = later;
  const std::optional<Sign> slow = Look("a", "slow");
  ASSERT_NE(slow, std::nullopt);
  EXPECT_EQ(NumberOf(*slow), 2);
}

TEST_F(SysfsProbeTest, ASeldomReadSignThatCannotBeReadIsUnknownUntilItIsReadAgain) {
  Write("a", "slow", "1\n");
  EXPECT_EQ(StateAfterLook(), HealthState::kHealthy);
  Write("a", "slow", "garbage\n");
  loop_.Advance(10s);
  EXPECT_EQ(StateAfterLook(), HealthState::kUnknown);
  EXPECT_EQ(StateAfterLook(), HealthState::kUnknown) << "its old value says nothing any more";
  Write("a", "slow", "2\n");
  loop_.Advance(10s);
  EXPECT_EQ(StateAfterLook(), HealthState::kHealthy);
}

TEST_F(SysfsProbeTest, ALimitThatWasKnownAndIsMissedMakesItsSignUnknownUntilItIsBack) {
  ASSERT_EQ(Look("a", "width")->expected, 16);
  files_.files.erase("/sys/d/a/max_width");
  EXPECT_EQ(Look("a", "width")->error, "the kernel gives no limit for it any more");
  EXPECT_EQ(Look("a", "width")->error, "the kernel gives no limit for it any more");
  Write("a", "max_width", "16\n");
  EXPECT_EQ(Look("a", "width")->error, "");
}

TEST_F(SysfsProbeTest, ASignThatIsReadSeldomIsShownAtEachLookAsItWas) {
  Write("a", "slow", "1\n");
  EXPECT_EQ(NumberOf(*Look("a", "slow")), 1);
  Write("a", "slow", "2\n");
  EXPECT_EQ(NumberOf(*Look("a", "slow")), 1);
  loop_.Advance(10s);
  EXPECT_EQ(NumberOf(*Look("a", "slow")), 2);
}

}  // namespace
}  // namespace galen::probes
