// What `galen conformance` refuses before it asks anybody.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/test_temporary_directory.h"
#include "base/flags.h"
#include "cli/commands/conformance.h"

namespace galen::cli {
namespace {

using ::testing::HasSubstr;

TEST(ConformanceCommand, NobodyThereIsUnavailable) {
  const TemporaryDirectory directory;
  for (const std::string& what : {directory.path(), directory.Path("none.sock")}) {
    const ConformanceResult result = Conformance({}, {.what = what});
    EXPECT_EQ(result.code, kExitUnavailable);
    EXPECT_THAT(result.problem, HasSubstr(what));
    EXPECT_EQ(result.text, "");
  }
}

TEST(ConformanceCommand, OppositeModesAreAWrongCommandLine) {
  const ConformanceResult result =
      Conformance({}, {.what = "/nowhere", .read_only = true, .full = true});
  EXPECT_EQ(result.code, kExitUsage);
  EXPECT_THAT(result.problem, HasSubstr("choose one"));
}

TEST(ConformanceCommand, AFormatThatItLacksIsAWrongCommandLine) {
  Options options;
  options.output = "yaml";
  EXPECT_EQ(Conformance(options, {.what = "/nowhere"}).code, kExitUsage);
}

TEST(ConformanceCommand, AClusterThatDoesNotAnswerIsReportedBeforeAnythingIsChecked) {
  const TemporaryDirectory directory;
  Options options;
  options.cluster.path = directory.Path("no-kubeconfig");
  const ConformanceResult result = Conformance(options, {.what = directory.path()});
  EXPECT_NE(result.code, 0);
  EXPECT_THAT(result.problem, HasSubstr("no-kubeconfig"));
}

}  // namespace
}  // namespace galen::cli
