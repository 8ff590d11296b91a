#include "cli/output/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "base/fd.h"

namespace galen::cli {
namespace {

TEST(Terminal, CutsALineThatIsTooLongAndMarksTheCut) {
  EXPECT_EQ(CutLine("trainer-0", 9), "trainer-0");
  EXPECT_EQ(CutLine("trainer-0", 8), "trainer…");
  EXPECT_EQ(CutLine("91 °C exceeds", 6), "91 °C…");
  EXPECT_EQ(CutLine("x", 0), "");
}

TEST(Terminal, CountsNoColumnsForColoursAndEndsThemAtTheCut) {
  EXPECT_EQ(CutLine("\x1b[31;1mbad\x1b[0m", 3), "\x1b[31;1mbad\x1b[0m");
  EXPECT_EQ(CutLine("\x1b[31;1mUnhealthy\x1b[0m", 4), "\x1b[31;1mUnh…\x1b[0m");
}

TEST(Terminal, WrapsAtSpacesAndIndentsWhatFollows) {
  EXPECT_EQ(WrapText("1/5 XID 79 on gpu-0", 10, "    "),
            (std::vector<std::string>{"1/5 XID 79", "    on", "    gpu-0"}));
  EXPECT_EQ(WrapText("", 10, ""), (std::vector<std::string>{""}));
  EXPECT_EQ(WrapText("two  gaps", 6, ""), (std::vector<std::string>{"two", "gaps"}));
}

TEST(Terminal, NeverWrapsToMoreThanTheWidth) {
  const std::string text = "5/5 the agent came back with \"gpu-1 Unhealthy since 10:54\" unchanged";
  for (std::size_t columns = 5; columns < 80; ++columns) {
    for (const std::string& line : WrapText(text, columns, "    ")) {
      EXPECT_EQ(CutLine(line, columns), line) << columns;
    }
  }
}

TEST(Terminal, SplitsATextIntoItsLines) {
  EXPECT_EQ(SplitLines("a\n\nb\n"), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_TRUE(SplitLines("").empty());
}

TEST(Terminal, ThatDoesNotKnowItsSizeHasTheUsualOne) {
  const Fd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(SizeOfTerminal(file.get()), (TerminalSize{.columns = 80, .rows = 24}));
}

}  // namespace
}  // namespace galen::cli
