// What `galen conformance` refuses before it asks anybody.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>

#include "base/fd.h"
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

// As nobody, where the tests are root.
TEST(ConformanceCommandDeathTest, ASocketThatThisUserMayNotOpenIsNoFaultOfTheDriver) {
  const TemporaryDirectory directory;
  ASSERT_EQ(::chmod(directory.path().c_str(), 0755), 0);
  const std::string path = directory.Path("driver-reg.sock");
  const Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  EXPECT_EXIT(
      {
        // Where we are not root the socket is refused to us as it is.
        if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(1);
        const ConformanceResult result = Conformance({}, {.what = path});
        std::fputs(result.problem.c_str(), stderr);
        ::_exit(result.code);
      },
      ::testing::ExitedWithCode(kExitUnavailable), "may not open it; run galen as root");
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
