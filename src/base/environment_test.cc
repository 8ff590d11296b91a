#include "base/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace galen {
namespace {

TEST(Environment, HoldsWhatTheProcessHas) {
  ::setenv("GALEN_TEST_PATH", "/a=b:/c", 1);
  const Environment environment = ReadEnvironment();
  ::unsetenv("GALEN_TEST_PATH");
  EXPECT_EQ(Lookup(environment, "GALEN_TEST_PATH"), "/a=b:/c");
}

TEST(Environment, EmptyMeansNotSet) {
  const Environment environment = {{"NO_COLOR", ""}, {"HOME", "/root"}};
  EXPECT_EQ(Lookup(environment, "NO_COLOR"), std::nullopt);
  EXPECT_EQ(Lookup(environment, "KUBECONFIG"), std::nullopt);
  EXPECT_EQ(Lookup(environment, "HOME"), "/root");
}

}  // namespace
}  // namespace galen
