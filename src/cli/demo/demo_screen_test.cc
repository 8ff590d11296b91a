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

TEST(DemoScreen, DrawsNothingWhenTheTableIsTheSame) {
  ScreenOfDemo terminal(true);
  terminal.screen.Show("A\n");
  terminal.text.clear();
  terminal.screen.Show("A\n");
  EXPECT_EQ(terminal.text, "");
}

}  // namespace
}  // namespace galen::cli
