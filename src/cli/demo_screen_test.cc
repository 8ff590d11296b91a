#include "cli/demo_screen.h"

#include <gtest/gtest.h>

namespace galen::cli {
namespace {

struct Screen {
  explicit Screen(bool live) : screen(live, [this](std::string_view bytes) { text += bytes; }) {}
  std::string text;
  DemoScreen screen;
};

TEST(DemoScreen, InAPipeIsPlainLinesOneAStep) {
  Screen pipe(false);
  pipe.screen.Header({"Galen's demo"});
  pipe.screen.Story("1/6 XID 79 …");
  pipe.screen.Show("POD\ntrainer-0\n");
  pipe.screen.Finished("1/6 XID 79: on the Pod after 6 ms");
  pipe.screen.Close("done\n");
  EXPECT_EQ(pipe.text, "Galen's demo\n1/6 XID 79: on the Pod after 6 ms\ndone\n");
}

TEST(DemoScreen, OnATerminalDrawsOverItsLastPictureOnly) {
  Screen terminal(true);
  terminal.screen.Header({"demo"});
  terminal.text.clear();
  terminal.screen.Show("A\nB\n");
  // Before: header, empty line, empty line. Up three, clear, draw.
  EXPECT_EQ(terminal.text, "\x1b[3F\x1b[Jdemo\n\n\nA\nB\n");
}

TEST(DemoScreen, DrawsNothingWhenTheTableIsTheSame) {
  Screen terminal(true);
  terminal.screen.Show("A\n");
  terminal.text.clear();
  terminal.screen.Show("A\n");
  EXPECT_EQ(terminal.text, "");
}

}  // namespace
}  // namespace galen::cli
