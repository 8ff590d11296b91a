#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/commands/commands.h"

namespace galen::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(DevNodeText, NamesTheDirectoriesThatADriverNeeds) {
  DevNodeArguments arguments;
  arguments.node = "bench-1";
  arguments.bin_directory = "/opt/galen/bin";
  const std::string text = DevNodeText("/tmp/d", arguments, {11, 12});
  EXPECT_THAT(text, HasSubstr("/tmp/d/kubelet/plugins_registry\n"));
  EXPECT_THAT(text, HasSubstr("NODE_NAME=bench-1 DRIVER --kubelet-root /tmp/d/kubelet --cdi-root "
                              "/tmp/d/cdi\n"));
  EXPECT_THAT(text, HasSubstr("export KUBECONFIG=/tmp/d/kubeconfig\n"));
  EXPECT_THAT(text, HasSubstr("(pid 11)"));
  EXPECT_THAT(text, Not(HasSubstr("gpu.example.com"))) << "nobody simulates GPUs";
  EXPECT_THAT(text, Not(HasSubstr("as root")));
}

TEST(DevNodeText, SaysWhatIsSimulatedAndWhosePodsAreRoots) {
  DevNodeArguments arguments;
  arguments.simulated_gpus = 2;
  arguments.as_root = true;
  const std::string text = DevNodeText("/tmp/d", arguments, {11, 12});
  EXPECT_THAT(text, HasSubstr("driver gpu.example.com simulates 2 GPUs; claim template one-gpu"));
  EXPECT_THAT(text, HasSubstr("processes of this machine, as root."));
}

}  // namespace
}  // namespace galen::cli
