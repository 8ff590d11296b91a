#include "cli/watch.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace galen::cli {
namespace {

// What ends before anything is connected to; the rest is tests/e2e/watch_test.cc.
Code RefusalOf(const std::string& kind, const std::string& output_format) {
  Options options;
  options.output = output_format;
  Output output(STDOUT_FILENO);
  return Watch(options, kind, "", output).status().code();
}

TEST(Watch, RefusesAKindItDoesNotKnowBeforeItConnects) {
  EXPECT_EQ(RefusalOf("gadgets", "table"), Code::kInvalidArgument);
}

TEST(Watch, RefusesYamlWhichCannotBeToldPieceByPiece) {
  EXPECT_EQ(RefusalOf("pods", "yaml"), Code::kInvalidArgument);
}

}  // namespace
}  // namespace galen::cli
