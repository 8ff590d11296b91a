#include "driver/rules_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/fake_disk_queue.h"
#include "base/loop/fake_loop.h"
#include "probes/rule_file/rule_reader.h"
#include "probes/rule_text/rule_text.h"

namespace galen::device_driver {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string TextWith(std::string_view threshold, std::string_view sign = "temperature") {
  return fmt::format(
      "signs:\n- {{name: {}, kind: reading}}\nrules:\n- {{id: hot, sign: {}, when: '> {}', "
      "state: Unhealthy, code: Hot, owner: Hardware, sentence: hot}}\n",
      sign, sign, threshold);
}

class RulesFileTest : public ::testing::Test {
 protected:
  RulesFileTest() {
    auto queue = std::make_unique<FakeDiskQueue>();
    queue_ = queue.get();
    file_ = std::make_unique<RulesFile>(
        RulesFile::Parts{loop_, log_, metrics_, std::move(queue)}, first_,
        RulesFile::Calls{.read = [this] { return text_; },
                         .parse =
                             [this](const std::string& text) {
                               ++parsed_;
                               return probes::ParseRules(text, "r.yaml");
                             },
                         .apply =
                             [this](const probes::RuleTable& table) {
                               applied_.push_back(probes::MatchText(table.rules[0].match));
                             }});
    file_->Start();
  }
  void Pass() { loop_.Advance(RulesFile::kLookEvery); }
  double Stale() const { return metrics_.Value("galen_rules_stale"); }
  double Count(std::string_view result) const {
    return metrics_.Value("galen_rules_reloads_total", {{"result", result}});
  }

  FakeLoop loop_;
  Metrics metrics_;
  std::vector<std::string> lines_;
  Log log_{LogLevel::kInfo, [] { return WallTime(); },
           [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }};
  const probes::RuleTable first_ = *probes::ParseRules(TextWith("85"), "r.yaml");
  StatusOr<std::string> text_ = TextWith("85");
  FakeDiskQueue* queue_ = nullptr;
  std::vector<std::string> applied_;
  int parsed_ = 0;
  std::unique_ptr<RulesFile> file_;
};

TEST_F(RulesFileTest, AChangedFileIsInForceSoonAndOnce) {
  Pass();
  EXPECT_TRUE(applied_.empty()) << "it says what is in force";
  text_ = TextWith("90");
  Pass();
  Pass();
  EXPECT_THAT(applied_, ElementsAre("> 90"));
  EXPECT_EQ(parsed_, 2) << "only what changed is read";
  EXPECT_EQ(Count("taken"), 1);
  EXPECT_THAT(lines_, ElementsAre(HasSubstr("rules were read anew")));
  text_ = TextWith("85");
  Pass();
  EXPECT_THAT(applied_, ElementsAre("> 90", "> 85"));
}

TEST_F(RulesFileTest, AFaultLeavesTheLastGoodRulesInForceAndSaysSoOnce) {
  text_ = TextWith("90");
  Pass();
  text_ = TextWith("hot");
  Pass();
  Pass();
  EXPECT_THAT(applied_, ElementsAre("> 90"));
  EXPECT_EQ(Stale(), 1);
  EXPECT_THAT(file_->fault(), HasSubstr("r.yaml:4:32: hot: when 'hot' is not a number"));
  EXPECT_EQ(Count("refused"), 1);
  EXPECT_THAT(lines_.back(), HasSubstr("the last good rules stay in force"));
  EXPECT_THAT(lines_.back(), HasSubstr("r.yaml:4:32: hot: when 'hot' is not a number"));
  text_ = TextWith("90");
  Pass();
  EXPECT_EQ(Stale(), 0);
  EXPECT_EQ(file_->fault(), "");
  EXPECT_THAT(applied_, ElementsAre("> 90")) << "it was in force all the time";
}

TEST_F(RulesFileTest, AFileThatIsGoneForAWhileChangesNothing) {
  Pass();
  text_ = NotFound("no such file");
  Pass();
  EXPECT_EQ(Stale(), 1);
  EXPECT_THAT(lines_.back(), HasSubstr("no such file"));
  text_ = TextWith("85");
  Pass();
  EXPECT_EQ(Stale(), 0);
  EXPECT_TRUE(applied_.empty());
}

TEST_F(RulesFileTest, OtherSignsNeedARestart) {
  text_ = TextWith("85", "heat");
  Pass();
  EXPECT_TRUE(applied_.empty());
  EXPECT_EQ(Stale(), 1);
  EXPECT_THAT(lines_.back(), HasSubstr("restart the driver to use them"));
}

TEST_F(RulesFileTest, ADiskThatHangsHoldsNothingUp) {
  queue_->Hang();
  text_ = TextWith("90");
  Pass();
  Pass();
  EXPECT_EQ(queue_->waiting(), 1u) << "one look at a time";
  queue_->GoOn();
  EXPECT_THAT(applied_, ElementsAre("> 90"));
  queue_->Hang();
  Pass();
  file_.reset();
}

}  // namespace
}  // namespace galen::device_driver
