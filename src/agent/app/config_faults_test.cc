#include <gtest/gtest.h>

#include "agent/app/config.h"

namespace galen::agent {
namespace {

constexpr std::string_view kFile =
    "node: x\n"
    "timeouts:\n"
    "- driver: a\n"
    "  timeout: 5\n"
    "role: boss\n";

TEST(ConfigFaults, AreReportedInTheOrderOfTheFileWithTheirLines) {
  ConfigFaults faults;
  faults.UseFile("a.yaml", kFile);
  faults.Add("role", "is \"boss\"");
  faults.Add("", "nothing else");
  faults.Add("timeouts[0].timeout", "is 5");
  EXPECT_EQ(faults.ToStatus(), InvalidArgument("a.yaml: 3 faults:\n"
                                               "  a.yaml:4: timeouts[0].timeout is 5\n"
                                               "  a.yaml:5: role is \"boss\"\n"
                                               "  nothing else"));
  EXPECT_TRUE(faults.Has("role"));
  EXPECT_FALSE(faults.Has("node"));
}

TEST(ConfigFaults, AFlagIsReportedByItsNameAndOneFaultIsOne) {
  ConfigFaults faults;
  faults.UseFile("a.yaml", kFile);
  faults.SaidByFlag("role", "--role");
  faults.Add("role", "is \"boss\"");
  EXPECT_EQ(faults.ToStatus(), InvalidArgument("a.yaml: 1 fault:\n  --role is \"boss\""));
  ConfigFaults none;
  EXPECT_EQ(none.ToStatus(), OkStatus());
}

TEST(ConfigFaults, RefusalsAloneKeepTheirCodeForTheyMayEndByThemselves) {
  ConfigFaults faults;
  faults.AddRefusal("stateDir", PermissionDenied("make directory /s"));
  EXPECT_EQ(faults.ToStatus(), PermissionDenied("1 fault:\n  stateDir: make directory /s"));
  faults.Add("role", "is wrong\nand more");
  EXPECT_EQ(
      faults.ToStatus(),
      InvalidArgument("2 faults:\n  stateDir: make directory /s\n  role is wrong\n    and more"));
}

}  // namespace
}  // namespace galen::agent
