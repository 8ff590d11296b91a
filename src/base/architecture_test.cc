#include "base/architecture.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <map>
#include <string>

namespace galen {
namespace {

TEST(Architecture, IsThatOfTheMachineWhichRunsTheTest) {
  const std::map<std::string, std::string_view> names = {{"x86_64", "amd64"}, {"aarch64", "arm64"}};
  utsname machine{};
  ASSERT_EQ(::uname(&machine), 0);
  const auto name = names.find(machine.machine);
  ASSERT_NE(name, names.end()) << machine.machine;
  EXPECT_EQ(kArchitecture, name->second);
}

}  // namespace
}  // namespace galen
