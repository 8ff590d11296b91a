#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <limits>

#include "probes/command/command_probe.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using How = CommandEnd::How;

SignSpec FanSign(bool json = false) {
  return {.name = "fan",
          .least = 0.0,
          .most = 100.0,
          .command = CommandSource{.command = {"/opt/fan.sh"}, .json = json}};
}

CommandAnswer AfterExit(int code, const std::string& output, bool json = false) {
  return AnswerOf(FanSign(json), {.number = code, .output = output});
}

TEST(CommandAnswer, ExitCodesAreThoseOfNodeProblemDetector) {
  EXPECT_EQ(AfterExit(0, "fans turn\n").value, 0);
  EXPECT_EQ(AfterExit(1, "fan 2 stands\n"), (CommandAnswer{.value = 1, .detail = "fan 2 stands"}));
  EXPECT_EQ(AfterExit(2, "no ipmi\n").error, "/opt/fan.sh ended with exit code 2: no ipmi");
  EXPECT_EQ(AfterExit(127, "").error, "/opt/fan.sh ended with exit code 127");
}

TEST(CommandAnswer, WhatALimitEndedSaysNothingOfTheDevice) {
  const CommandAnswer memory = AnswerOf(FanSign(), {.how = How::kOutOfMemory, .number = 1});
  EXPECT_FALSE(memory.value);
  EXPECT_EQ(memory.error, "/opt/fan.sh was ended by its memory limit of 256 MiB");
  const CommandAnswer processes = AnswerOf(FanSign(), {.how = How::kOutOfProcesses, .number = 1});
  EXPECT_FALSE(processes.value);
  EXPECT_THAT(processes.error, HasSubstr("more than 256 processes"));
}

TEST(CommandAnswer, TheDetailIsTheFirstLineBoundedAndPrintable) {
  EXPECT_EQ(AfterExit(1, "\n\n  one\r\ntwo\n").detail, "one");
  EXPECT_EQ(AfterExit(1, "\n").detail, "no detail was printed");
  EXPECT_EQ(AfterExit(1, "a\x1b[31mb\xff").detail, "a\uFFFD[31mb\uFFFD");
  const std::string longest = AfterExit(1, std::string(4096, 'x')).detail;
  EXPECT_EQ(longest, std::string(77, 'x') + "...");
}

TEST(CommandAnswer, WhatDidNotEndByItselfSaysNothing) {
  const auto error = [](CommandEnd end) {
    const CommandAnswer answer = AnswerOf(FanSign(), end);
    EXPECT_EQ(answer.value, std::nullopt);
    return answer.error;
  };
  EXPECT_EQ(error({.how = How::kTimedOut}), "/opt/fan.sh had not ended after 5 s and was killed");
  EXPECT_EQ(error({.how = How::kSignalled, .number = SIGSEGV}),
            "/opt/fan.sh was ended by signal 11");
  EXPECT_EQ(error({.how = How::kSignalled, .number = SIGXCPU}),
            "/opt/fan.sh used 2 s of CPU and was killed");
  EXPECT_EQ(error({.how = How::kSignalled, .number = SIGKILL, .cpu = 3s}),
            "/opt/fan.sh used 2 s of CPU and was killed");
  EXPECT_EQ(error({.how = How::kFlooded}),
            "/opt/fan.sh printed more than 1048576 bytes and was killed");
  EXPECT_THAT(error({.how = How::kNotStarted, .error = "no such\nfile"}),
              HasSubstr("cannot be run: no such\uFFFDfile"));
}

TEST(CommandAnswer, JsonGivesAValueInThePlaceOfTheExitCode) {
  EXPECT_EQ(AfterExit(0, R"({"value": 91.5, "message": "hot"})", true),
            (CommandAnswer{.value = 91.5, .detail = "hot"}));
  EXPECT_EQ(AfterExit(1, R"({"message": "hot"})", true).value, 1);
}

TEST(CommandAnswer, JsonThatIsNoneOrOutOfBoundsSaysNothing) {
  EXPECT_THAT(AfterExit(0, "fans turn", true).error, HasSubstr("printed no JSON object"));
  EXPECT_THAT(AfterExit(0, "[1]", true).error, HasSubstr("printed no JSON object"));
  EXPECT_THAT(AfterExit(0, R"({"value": "91"})", true).error, HasSubstr("value is not a number"));
  EXPECT_THAT(AfterExit(0, R"({"value": 255})", true).error,
              HasSubstr("gave 255, which is not a number from 0 to 100"));
  EXPECT_THAT(AfterExit(2, R"({"value": 1})", true).error, HasSubstr("exit code 2"));
}

}  // namespace
}  // namespace galen::probes
