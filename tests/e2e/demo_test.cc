// The README's first command as a stranger runs it: real processes, each step seen on the Pod.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/e2e/stage.h"

namespace galen::e2e {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

Outcome PlayDemo(Stage& stage, std::vector<std::string> more = {}) {
  std::vector<std::string> command = {BuiltProgram("galen"), "demo", "--batch", "--directory",
                                      stage.directory()};
  command.insert(command.end(), more.begin(), more.end());
  return stage.Run(command, {.deadline = std::chrono::minutes(3)});
}

// A line without what differs from run to run: figures, times, the directory's name and the width
// of columns.
std::string Shape(std::string line) {
  line = std::regex_replace(line, std::regex("[^ ]*/galen-[A-Za-z0-9]{6}$"), "*");
  line = std::regex_replace(line, std::regex("[0-9]+"), "#");
  return std::regex_replace(line, std::regex(" +"), " ");
}

// What the README says that the demo prints, but for the lines that it leaves out.
std::vector<std::string> LinesOfReadme() {
  std::ifstream readme(GALEN_SOURCE_DIR "/README.md");
  std::vector<std::string> lines;
  bool inside = false;
  for (std::string line; std::getline(readme, line);) {
    if (line == "$ ./dev demo --batch") {
      inside = true;
    } else if (inside && line == "```") {
      return lines;
    } else if (inside && !line.ends_with("…")) {
      lines.push_back(line);
    }
  }
  return {};
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
  // What the agent noted before it was killed with -9 is in the line of causes of the next one.
  const std::string why = demo.output.substr(demo.output.find("$ galen why"));
  EXPECT_THAT(why.substr(why.find("simulator: temperature 93")),
              ContainsRegex("temperature 93.*\n.*TemperatureHigh.*\n *GPU temperature 93 .*\n"
                            ".*  recorded .*\n.*  published .* after sign.*\n.*agent-started "));
  EXPECT_THAT(demo.output, HasSubstr("$ galen why serve/llm-0"));
  EXPECT_THAT(demo.output, Not(HasSubstr("\x1b"))) << "a pipe gets no colours";
  std::set<std::string> printed;
  std::istringstream output(demo.output);
  for (std::string line; std::getline(output, line);) printed.insert(Shape(line));
  ASSERT_GT(LinesOfReadme().size(), 10u);
  for (const std::string& line : LinesOfReadme()) {
    EXPECT_TRUE(printed.contains(Shape(line))) << "the README says, and nobody printed: " << line;
  }
  for (const auto& entry : std::filesystem::directory_iterator(stage.directory())) {
    EXPECT_FALSE(entry.is_directory()) << "left behind: " << entry.path();
  }
}

// A stranger has no root: the link is then made in a user namespace.
TEST(Demo, IsTheSameWithoutRoot) {
  Stage stage;
  const std::vector<std::string> as_nobody = {
      "setpriv", "--reuid",        "65534", "--regid",
      "65534",   "--clear-groups", "env",   "HOME=" + stage.Path("home")};
  const auto run = [&](std::vector<std::string> command) {
    command.insert(command.begin(), as_nobody.begin(), as_nobody.end());
    return stage.Run(command, {.deadline = std::chrono::minutes(3)});
  };
  if (geteuid() != 0) GTEST_SKIP() << "the demo without root once more: all tests ran without it";
  if (run({"test", "-x", BuiltProgram("galen")}).exit_code != 0 ||
      run({"unshare", "--user", "--map-root-user", "--net", "true"}).exit_code != 0) {
    GTEST_SKIP() << "the demo without root (others cannot read the build, or user namespaces are "
                    "not allowed)";
  }
  std::filesystem::create_directory(stage.Path("home"));
  ASSERT_EQ(chmod(stage.directory().c_str(), 0755), 0);
  ASSERT_EQ(chown(stage.Path("home").c_str(), 65534, 65534), 0);
  const Outcome demo =
      run({BuiltProgram("galen"), "demo", "--batch", "--directory", stage.Path("home")});
  EXPECT_EQ(demo.exit_code, 0) << demo.output << demo.error;
  EXPECT_THAT(demo.output, HasSubstr("3/5 \"Network interface was taken down"));
  EXPECT_TRUE(std::filesystem::is_empty(stage.Path("home")));
}

TEST(Demo, CarriesTheTruthOfTheKernelsLog) {
  if (access("/dev/kmsg", W_OK) != 0) {
    GTEST_SKIP() << "a fault as a line of the kernel's log (/dev/kmsg is for root to write)";
  }
  Stage stage;
  const Outcome demo = PlayDemo(stage, {"--kernel-log"});
  ASSERT_EQ(demo.exit_code, 0) << demo.output << demo.error;
  EXPECT_THAT(demo.output, HasSubstr("1/5 XID 79"));
}

}  // namespace
}  // namespace galen::e2e
