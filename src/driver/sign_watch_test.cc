#include "driver/sign_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_disk_queue.h"
#include "base/files/fake_file_system.h"
#include "base/loop/fake_loop.h"
#include "probes/rule_file/rule_reader.h"

namespace galen::device_driver {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SignWatchTest : public ::testing::Test {
 protected:
  // Starts the watch of a driver with this table.
  void Watch(const std::string& table, bool reads_kernel_log = false) {
    const StatusOr<probes::RuleTable> rules = probes::ParseRules(table, "r.yaml");
    ASSERT_TRUE(rules.ok()) << rules.status().message();
    rules_ = *rules;
    watch_ =
        std::make_unique<SignWatch>(Edges{loop_, log_, metrics_, state_, rules_}, reads_kernel_log);
    watch_->Start();
  }
  // A look at all of the device's files ended.
  void LookAt(const std::string& device) {
    watch_->Take({{.device = device, .name = "present", .value = 1.0}});
  }
  void ShowBusy() { watch_->Take({{.device = "card0", .name = "busy", .value = 12.0}}); }
  static std::string CardTable() {
    return "signs: [{name: busy, kind: reading, file: gpu_busy_percnt}]\n"
           "rules: [{id: stuck, sign: busy, when: '> 99', state: Unhealthy, code: Stuck,\n"
           "  sentence: stuck, owner: Hardware}]\n";
  }

  FakeLoop loop_;
  FakeFileSystem disk_;
  Metrics metrics_;
  probes::StateFile state_{
      {loop_, NullLog(), disk_}, std::make_unique<FakeDiskQueue>(), "/s.json", "boot"};
  std::vector<std::string> lines_;
  Log log_{LogLevel::kWarning, [this] { return loop_.WallNow(); },
           [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }};
  probes::RuleTable rules_;
  std::unique_ptr<SignWatch> watch_;
};

TEST_F(SignWatchTest, ASignThatNoDeviceShowsIsNamedOnceWithRuleFileAndPlace) {
  Watch(CardTable());
  watch_->SetDevices({{.name = "card0", .attributes = {{"path", "class/acme/card0"}}},
                      {.name = "card1", .attributes = {{"path", "class/acme/card1"}}}});
  LookAt("card0");
  LookAt("card1");
  loop_.Advance(SignWatch::kLooksTake - 1s);
  EXPECT_THAT(lines_, IsEmpty()) << "a look may be under way";
  loop_.Advance(1min);
  EXPECT_THAT(lines_, ElementsAre(AllOf(
                          HasSubstr("no device shows a sign that rules look at"),
                          HasSubstr("sign=busy rules=stuck looked_for=\"file gpu_busy_percnt\""),
                          HasSubstr("below=\"class/acme/card0 and 1 more\""))));
  EXPECT_THAT(watch_->Warnings(),
              ElementsAre(HasSubstr("the sign busy, which rule stuck looks at")));
}

TEST_F(SignWatchTest, WhatADeviceShowsIsNotNamed) {
  Watch(CardTable());
  watch_->SetDevices({{.name = "card0"}});
  LookAt("card0");
  ShowBusy();
  loop_.Advance(1min);
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(SignWatchTest, NothingIsMissedWhileThereIsNoDevice) {
  Watch(CardTable());
  loop_.Advance(1min);
  EXPECT_THAT(lines_, IsEmpty());
  watch_->SetDevices({{.name = "card0"}});
  LookAt("card0");
  loop_.Advance(1min);
  EXPECT_EQ(lines_.size(), 1u);
}

TEST_F(SignWatchTest, ADeviceHasItsTimeFromItsFirstLookOn) {
  Watch(CardTable());
  loop_.Advance(2 * SignWatch::kLooksTake - 100ms);
  watch_->SetDevices({{.name = "card0"}});
  LookAt("card0");
  loop_.Advance(SignWatch::kLooksTake - 1s);
  EXPECT_THAT(lines_, IsEmpty());
  ShowBusy();
  loop_.Advance(1min);
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(SignWatchTest, ADeviceThatHangsWasNotLookedAt) {
  Watch(
      "signs: [{name: busy, kind: reading, file: busy}, {name: heat, kind: reading, file: heat},\n"
      "  {name: tool, kind: reading, command: [/bin/tool]}]\n"
      "rules: [{id: hot, sign: heat, when: '> 99', state: Unhealthy, code: Hot,\n"
      "  sentence: hot, owner: Hardware}]\n");
  watch_->SetDevices({{.name = "card0"}});
  for (int i = 0; i < 10; ++i) {
    watch_->Take({{.device = "card0", .name = "busy", .error = "busy has not answered for 5 s"},
                  {.device = "card0", .name = "tool", .value = 1.0}});
    loop_.Advance(10s);
  }
  EXPECT_THAT(lines_, IsEmpty());
  EXPECT_THAT(watch_->Warnings(), IsEmpty());
  LookAt("card0");
  loop_.Advance(1min);
  EXPECT_EQ(lines_.size(), 1u);
}

TEST_F(SignWatchTest, WhatIsShownLaterIsMissedNoMore) {
  Watch(CardTable());
  watch_->SetDevices({{.name = "card0"}});
  LookAt("card0");
  loop_.Advance(1min);
  EXPECT_EQ(watch_->Warnings().size(), 1u);
  ShowBusy();
  EXPECT_THAT(watch_->Warnings(), IsEmpty());
}

TEST_F(SignWatchTest, WhatTheRulesDoNotLookAtAnyMoreIsMissedNoMore) {
  Watch(CardTable());
  watch_->SetDevices({{.name = "card0"}});
  LookAt("card0");
  loop_.Advance(1min);
  probes::RuleTable without = rules_;
  without.rules.clear();
  watch_->SetRules(without);
  EXPECT_THAT(watch_->Warnings(), IsEmpty());
  watch_->SetRules(rules_);
  EXPECT_EQ(watch_->Warnings().size(), 1u);
  EXPECT_EQ(lines_.size(), 1u) << "once in the log";
}

TEST_F(SignWatchTest, DrivesWithoutALogOfTheirHealthAreNamedInOneLine) {
  Watch("extends: nvme-smart\n", true);
  watch_->SetDevices({{.name = "nvme0"}, {.name = "nvme1"}});
  LookAt("nvme1");
  watch_->Take({{.device = "nvme0", .name = "smart-used", .value = 3.0}});
  loop_.Advance(1min);
  EXPECT_THAT(lines_, ElementsAre(AllOf(HasSubstr("some devices show no sign"),
                                        HasSubstr("table=nvme-smart devices=nvme1"))));
}

TEST_F(SignWatchTest, RulesThatLookAtAKernelLogThatIsNotReadAreSaidAtOnce) {
  Watch("extends: mlx5\n");
  EXPECT_THAT(lines_, ElementsAre(AllOf(HasSubstr("rules look at the kernel's log"),
                                        HasSubstr("start it with --kernel-log /dev/kmsg"))));
  lines_.clear();
  Watch("extends: mlx5\n", true);
  EXPECT_THAT(lines_, IsEmpty());
  EXPECT_THAT(watch_->Warnings(), IsEmpty());
}

}  // namespace
}  // namespace galen::device_driver
