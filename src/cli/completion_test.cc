#include "cli/completion.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

namespace galen::cli {
namespace {

TEST(Completion, OfBashCompletesTheKindsOfGet) {
  const std::string path = testing::TempDir() + "galen_completion.bash";
  std::ofstream(path) << *CompletionScript("bash");
  const std::string command = "bash -c 'source " + path +
                              "; COMP_WORDS=(galen get d); COMP_CWORD=2; _galen; "
                              "[[ \"${COMPREPLY[*]}\" == \"devices drivers\" ]]'";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(Completion, KnowsThreeShellsAndNamesThem) {
  EXPECT_TRUE(CompletionScript("zsh").ok());
  EXPECT_TRUE(CompletionScript("fish").ok());
  const auto other = CompletionScript("tcsh");
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.status().message().find("bash, zsh and fish"), std::string::npos);
}

}  // namespace
}  // namespace galen::cli
