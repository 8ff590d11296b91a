#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/commands/commands.h"

namespace galen::cli {
namespace {

// What ends before anything is connected to; the rest is tests/e2e/watch_test.cc.
Status RefusalOf(const std::string& kind, const std::string& output_format) {
  Options options;
  options.output = output_format;
  Output output(STDOUT_FILENO);
  return Watch(options, kind, "", output).status();
}

TEST(Watch, RefusesAKindItDoesNotKnowBeforeItConnects) {
  EXPECT_EQ(RefusalOf("gadgets", "table").code(), Code::kInvalidArgument);
}

TEST(Watch, RefusesYamlWhichCannotBePrintedPieceByPiece) {
  EXPECT_EQ(RefusalOf("pods", "yaml").code(), Code::kInvalidArgument);
}

// It was no kind, though `galen get pod/trainer-0 -w` took it.
TEST(Watch, TakesAPodAsKubectlHasIt) {
  const std::string refusal = RefusalOf("pod/trainer-0", "yaml").message();
  EXPECT_NE(refusal.find("cannot be printed as yaml"), std::string::npos) << refusal;
  EXPECT_EQ(RefusalOf("pod/", "table").code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace galen::cli
