#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/files/test_temporary_directory.h"
#include "cli/commands/commands.h"

namespace galen::cli {
namespace {

using ::testing::HasSubstr;

class RulesCommandTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& text) {
    std::ofstream(directory_.Path("r.yaml")) << text;
    return directory_.Path("r.yaml");
  }
  TemporaryDirectory directory_;
};

TEST_F(RulesCommandTest, ChecksAFileAndABuiltInTable) {
  EXPECT_EQ(*CheckRules("memory"), "memory: 3 signs and 3 rules, no faults\n");
  EXPECT_THAT(*CheckRules(Write("extends: memory\n")), HasSubstr("3 signs and 3 rules"));
}

TEST_F(RulesCommandTest, NamesEveryFaultOfAFile) {
  const Status status =
      CheckRules(Write("extends: memory\nsigns:\n- {name: A, kind: reading}\nrules:\n"
                       "- {id: x, sign: y}\n"))
          .status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("r.yaml:3: A: name is not lower-case"));
  EXPECT_THAT(status.message(), HasSubstr("r.yaml:5: x: sign 'y' is not among"));
}

TEST_F(RulesCommandTest, SaysWhichTablesThereAreWhenThereIsNoSuchFile) {
  const Status status = CheckRules("none.yaml").status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("built-in tables are gpu, hwmon"));
}

TEST_F(RulesCommandTest, ListsRulesByTheirIds) {
  EXPECT_THAT(*ListRules({}, "memory"),
              HasSubstr("memory-uncorrected      Unhealthy  MemoryUncorrected"));
}

TEST_F(RulesCommandTest, ExplainsOneRuleOrAll) {
  EXPECT_THAT(*ExplainRules("memory", ""), HasSubstr("device-gone: Unhealthy"));
  EXPECT_THAT(*ExplainRules("memory", "memory-uncorrected"),
              HasSubstr("  reads  ue_count\n  when   memory-uncorrected > 0\n"));
  EXPECT_THAT(ExplainRules("memory", "no").status().message(), HasSubstr("has no rule 'no'"));
}

TEST_F(RulesCommandTest, TriesRulesOnARecording) {
  const std::string replays = GALEN_SOURCE_DIR "/tests/replays/";
  EXPECT_THAT(*TestRules("memory", replays + "memory-errors"),
              HasSubstr("mc0 memory-uncorrected began, Unhealthy: "));
  EXPECT_THAT(TestRules("memory", "").status().message(), HasSubstr("--replay is missing"));
}

}  // namespace
}  // namespace galen::cli
