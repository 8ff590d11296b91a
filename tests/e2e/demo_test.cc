// The README's first command as a stranger runs it: real processes, each step seen on the Pod.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/e2e/stage.h"

namespace galen::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Outcome PlayDemo(Stage& stage, std::vector<std::string> more = {}) {
  std::vector<std::string> command = {BuiltProgram("galen"), "demo", "--batch", "--directory",
                                      stage.directory()};
  command.insert(command.end(), more.begin(), more.end());
  return stage.Run(command, {.deadline = std::chrono::minutes(3)});
}

TEST(Demo, SeesEachStepOnThePodAndLeavesNothingBehind) {
  Stage stage;
  const Outcome demo = PlayDemo(stage);
  ASSERT_EQ(demo.exit_code, 0) << demo.output << demo.error;
  EXPECT_THAT(demo.output, HasSubstr("1/5 XID 79"));
  EXPECT_THAT(demo.output, HasSubstr("GPU temperature 91 °C exceeds 85 °C"));
  EXPECT_THAT(demo.output, HasSubstr("3/5"));
  EXPECT_THAT(demo.output, HasSubstr("4/5 Unknown after"));
  EXPECT_THAT(demo.output, HasSubstr("unchanged"));
  EXPECT_THAT(demo.output, HasSubstr("$ galen why serve/llm-0"));
  EXPECT_THAT(demo.output, Not(HasSubstr("\x1b"))) << "a pipe gets no colours";
  for (const auto& entry : std::filesystem::directory_iterator(stage.directory())) {
    EXPECT_FALSE(entry.is_directory()) << "left behind: " << entry.path();
  }
}

TEST(Demo, CarriesTheTruthOfTheKernelsLog) {
  Stage stage;
  const Outcome demo = PlayDemo(stage, {"--kernel-log"});
  ASSERT_EQ(demo.exit_code, 0) << demo.output << demo.error;
  EXPECT_THAT(demo.output, HasSubstr("1/5 XID 79"));
}

}  // namespace
}  // namespace galen::e2e
