#include "cli/demo/demo_screen.h"

#include <gtest/gtest.h>

namespace galen::cli {
namespace {

struct ScreenOfDemo {
  explicit ScreenOfDemo(bool live)
      : screen({.live = live, .colour = false, .size = [this] { return size; }},
               [this](std::string_view bytes) { text += bytes; }) {}
  TerminalSize size{.columns = 40, .rows = 24};
  std::string text;
  DemoScreen screen;
};

TEST(DemoScreen, InAPipeIsPlainLinesOneAStep) {
  ScreenOfDemo pipe(false);
  pipe.screen.Header({"Galen's demo"});
  pipe.screen.Story("1/5 XID 79 …");
  pipe.screen.Show("POD\ntrainer-0\n");
  pipe.screen.Finished(
      "1/5 XID 79: on the Pod after 6 ms, a line that is longer than any terminal");
  pipe.screen.Close("done\n");
  EXPECT_EQ(pipe.text,
            "Galen's demo\n"
            "1/5 XID 79: on the Pod after 6 ms, a line that is longer than any terminal\n"
            "done\n");
}

TEST(DemoScreen, OnATerminalWrapsTheStoryAndCutsTheTable) {
  ScreenOfDemo terminal(true);
  terminal.screen.Header({"demo"});
  terminal.screen.Finished("1/5 XID 79 on gpu-0: the Pod says it after 6 ms");
  terminal.text.clear();
  terminal.screen.Show("POD        DETAIL\ntrainer-0  XID 79: GPU has fallen off the bus\n");
  // Before: header, empty line, two lines of the step, empty line. Up five, then line by line.
  EXPECT_EQ(terminal.text,
            "\x1b[5F"
            "demo\x1b[K\n"
            "\x1b[K\n"
            "1/5 XID 79 on gpu-0: the Pod says it\x1b[K\n"
            "    after 6 ms\x1b[K\n"
            "\x1b[K\n"
            "POD        DETAIL\x1b[K\n"
            "trainer-0  XID 79: GPU has fallen off t…\x1b[K\n"
            "\x1b[J");
}

TEST(DemoScreen, TheStoryStandsBelowWhatIsFinishedUntilItsStepIsOver) {
  ScreenOfDemo terminal(true);
  terminal.screen.Finished("1/5 done");
  terminal.text.clear();
  terminal.screen.Story("2/5 heating");
  EXPECT_LT(terminal.text.find("1/5 done"), terminal.text.find("2/5 heating"));
  terminal.text.clear();
  terminal.screen.Finished("2/5 cooled");
  EXPECT_NE(terminal.text.find("1/5 done"), std::string::npos);
  EXPECT_NE(terminal.text.find("2/5 cooled"), std::string::npos);
  EXPECT_EQ(terminal.text.find("heating"), std::string::npos);
}

TEST(DemoScreen, ATerminalThatIsTooNarrowGetsALetterALineAndNoEndlessLoop) {
  ScreenOfDemo terminal(true);
  terminal.size.columns = 1;
  terminal.screen.Finished("1/5 XID");
  EXPECT_NE(terminal.text.find("\x1b[J"), std::string::npos);
}

TEST(DemoScreen, ClosingItLeavesThePictureAndPrintsBelowIt) {
  ScreenOfDemo terminal(true);
  terminal.screen.Story("5/5 ending");
  terminal.screen.Show("POD\na\n");
  terminal.text.clear();
  terminal.screen.Close("Measured in this run:\n");
  EXPECT_EQ(terminal.text.find("5/5 ending"), std::string::npos) << "it is over";
  EXPECT_TRUE(terminal.text.ends_with("Measured in this run:\n"));
  EXPECT_NE(terminal.text.find("POD"), std::string::npos);
}

TEST(DemoScreen, OnlyTheNumberOfAStepIsInColour) {
  std::string text;
  DemoScreen screen({.live = true, .colour = true, .size = [] { return TerminalSize{80, 24}; }},
                    [&](std::string_view bytes) { text += bytes; });
  screen.Finished("1/5 XID 79 on gpu-0");
  EXPECT_NE(text.find("1/5\x1b[0m XID 79 on gpu-0"), std::string::npos) << text;
  text.clear();
  screen.Story("no number here 2/5");
  EXPECT_NE(text.find("\nno number here 2/5"), std::string::npos) << text;
}

TEST(DemoScreen, DrawsNothingWhenTheTableIsTheSame) {
  ScreenOfDemo terminal(true);
  terminal.screen.Show("A\n");
  terminal.text.clear();
  terminal.screen.Show("A\n");
  EXPECT_EQ(terminal.text, "");
}

}  // namespace
}  // namespace galen::cli
