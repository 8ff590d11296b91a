#include "agent/containers/control_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/files/test_temporary_directory.h"

namespace galen::agent {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A machine's control groups as plain files: the kernel's own behaviour is seen by
// posix_container_processes_test and the end-to-end tests.
class ControlGroupsTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root() + path).parent_path());
    std::ofstream(root() + path) << text;
  }
  std::string Read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  std::string root() const { return directory_.path(); }
  ControlGroups Make() {
    return ControlGroups({.cgroup_root = root() + "/cgroup", .own_groups = root() + "/own"},
                         "galen-1");
  }

  TemporaryDirectory directory_;
};

TEST_F(ControlGroupsTest, UsesTheMemoryControllerOfVersionOneBelowItsOwnGroup) {
  Write("/own", "5:memory:/agent\n0::/\n");
  fs::create_directories(root() + "/cgroup/memory/agent");
  const ControlGroups groups = Make();
  EXPECT_EQ(groups.limitation(), "");
  const auto group = groups.Make("u-1.main.0", 1 << 20);
  ASSERT_TRUE(group.ok()) << ToString(group.status());
  EXPECT_EQ(*group, root() + "/cgroup/memory/agent/galen-1/u-1.main.0");
  EXPECT_EQ(Read(*group + "/memory.limit_in_bytes"), "1048576");
  EXPECT_FALSE(groups.RanOutOfMemory(*group));
  std::ofstream(*group + "/memory.oom_control") << "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n";
  EXPECT_TRUE(groups.RanOutOfMemory(*group));
}

TEST_F(ControlGroupsTest, UsesVersionTwoWhereThatIsAll) {
  Write("/own", "0::/agent.slice\n");
  Write("/cgroup/cgroup.controllers", "memory");
  fs::create_directories(root() + "/cgroup/agent.slice");
  const ControlGroups groups = Make();
  EXPECT_EQ(groups.limitation(), "");
  const auto group = groups.Make("u-1.main.0", 4096);
  ASSERT_TRUE(group.ok());
  EXPECT_EQ(Read(root() + "/cgroup/agent.slice/cgroup.subtree_control"), "+memory");
  EXPECT_EQ(Read(*group + "/memory.max"), "4096");
  std::ofstream(*group + "/memory.events") << "low 0\nhigh 0\nmax 3\noom 1\noom_kill 1\n";
  EXPECT_TRUE(groups.RanOutOfMemory(*group));
  std::ofstream(*group + "/cgroup.procs") << "12\n13\n";
  EXPECT_THAT(groups.Members(*group), ElementsAre(12, 13));
  EXPECT_FALSE(groups.Remove(*group)) << "it is not empty";
  EXPECT_THAT(groups.All(), ElementsAre(*group));
}

// A container that is started again while a process of its last run has not gone.
TEST_F(ControlGroupsTest, EachRunHasAGroupOfItsOwn) {
  Write("/own", "0::/agent.slice\n");
  Write("/cgroup/cgroup.controllers", "memory");
  fs::create_directories(root() + "/cgroup/agent.slice");
  const ControlGroups groups = Make();
  const auto first = groups.Make("u-1.main.0", std::nullopt);
  ASSERT_TRUE(first.ok());
  std::ofstream(*first + "/cgroup.procs") << "12\n";
  std::ofstream(*first + "/memory.events") << "oom_kill 1\n";
  const auto second = groups.Make("u-1.main.0", std::nullopt);
  ASSERT_TRUE(second.ok());
  EXPECT_NE(*second, *first);
  EXPECT_FALSE(groups.RanOutOfMemory(*second));
  EXPECT_TRUE(groups.Remove(*second));
  fs::remove(*first + "/cgroup.procs");
  fs::remove(*first + "/memory.events");
  EXPECT_EQ(*groups.Make("u-1.main.0", std::nullopt), *first) << "it was empty, and is made anew";
}

TEST_F(ControlGroupsTest, SaysWhatAMachineDoesNotGive) {
  Write("/own", "5:memory:/not/there\n");
  fs::create_directories(root() + "/cgroup/memory");
  const ControlGroups refused = Make();
  EXPECT_FALSE(refused.usable());
  EXPECT_THAT(refused.limitation(), HasSubstr("make the control group"));
  Write("/own", "");
  EXPECT_THAT(Make().limitation(), HasSubstr("no control groups"));
}

}  // namespace
}  // namespace galen::agent
