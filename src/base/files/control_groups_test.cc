#include "base/files/control_groups.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/files/test_temporary_directory.h"
#include "base/process_handle.h"

namespace galen {
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
  // As for commands that check devices.
  ControlGroups MakeBounding() {
    return ControlGroups({.cgroup_root = root() + "/cgroup", .own_groups = root() + "/own"},
                         "galen-1", {.processes = true, .processors = true, .make_room = true});
  }

  TemporaryDirectory directory_;
};

// Until the process has ended, for a second at most; at once where it is gone already.
void AwaitEnd(const Fd& process) {
  pollfd ended{process.get(), POLLIN, 0};
  if (process) ::poll(&ended, 1, 1000);
}

TEST_F(ControlGroupsTest, UsesTheMemoryControllerOfVersionOneBelowItsOwnGroup) {
  Write("/own", "5:memory:/agent\n0::/\n");
  fs::create_directories(root() + "/cgroup/memory/agent");
  const ControlGroups groups = Make();
  EXPECT_EQ(groups.limitation(), "");
  const auto group = groups.Make("u-1.main.0", {.memory_bytes = 1 << 20});
  ASSERT_TRUE(group.ok()) << ToString(group.status());
  EXPECT_EQ(group->directory, root() + "/cgroup/memory/agent/galen-1/u-1.main.0");
  EXPECT_EQ(Read(group->directory + "/memory.limit_in_bytes"), "1048576");
  EXPECT_FALSE(groups.RanOutOfMemory(group->directory));
  std::ofstream(group->directory + "/memory.oom_control")
      << "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n";
  EXPECT_TRUE(groups.RanOutOfMemory(group->directory));
}

TEST_F(ControlGroupsTest, UsesVersionTwoWhereThatIsAll) {
  Write("/own", "0::/agent.slice\n");
  Write("/cgroup/cgroup.controllers", "memory");
  fs::create_directories(root() + "/cgroup/agent.slice");
  const ControlGroups groups = Make();
  EXPECT_EQ(groups.limitation(), "");
  const auto group = groups.Make("u-1.main.0", {.memory_bytes = 4096});
  ASSERT_TRUE(group.ok());
  EXPECT_EQ(Read(root() + "/cgroup/agent.slice/cgroup.subtree_control"), "+memory");
  EXPECT_EQ(Read(group->directory + "/memory.max"), "4096");
  std::ofstream(group->directory + "/memory.events") << "low 0\nhigh 0\nmax 3\noom 1\noom_kill 1\n";
  EXPECT_TRUE(groups.RanOutOfMemory(group->directory));
  std::ofstream(group->directory + "/cgroup.procs") << "12\n13\n";
  EXPECT_THAT(groups.Members(group->directory), ElementsAre(12, 13));
  EXPECT_FALSE(groups.Remove(group->directory)) << "it is not empty";
  EXPECT_THAT(groups.All(), ElementsAre(group->directory));
}

// A container that is started again while a process of its last run has not gone.
TEST_F(ControlGroupsTest, EachRunHasAGroupOfItsOwn) {
  Write("/own", "0::/agent.slice\n");
  Write("/cgroup/cgroup.controllers", "memory");
  fs::create_directories(root() + "/cgroup/agent.slice");
  const ControlGroups groups = Make();
  const auto first = groups.Make("u-1.main.0", {});
  ASSERT_TRUE(first.ok());
  std::ofstream(first->directory + "/cgroup.procs") << "12\n";
  std::ofstream(first->directory + "/memory.events") << "oom_kill 1\n";
  const auto second = groups.Make("u-1.main.0", {});
  ASSERT_TRUE(second.ok());
  EXPECT_NE(second->directory, first->directory);
  EXPECT_FALSE(groups.RanOutOfMemory(second->directory));
  EXPECT_TRUE(groups.Remove(second->directory));
  fs::remove(first->directory + "/cgroup.procs");
  fs::remove(first->directory + "/memory.events");
  EXPECT_EQ(groups.Make("u-1.main.0", {})->directory, first->directory)
      << "it was empty, and is made anew";
}

// Each controller of version 1 has a tree of its own, and a place of its own for us in it.
TEST_F(ControlGroupsTest, BoundsProcessesAndProcessorsInTheTreesOfVersionOne) {
  Write("/own", "5:memory:/driver\n4:pids:/\n3:cpu:/some/where\n0::/\n");
  for (const char* place : {"/memory/driver", "/pids", "/cpu/some/where"}) {
    fs::create_directories(root() + "/cgroup" + place);
  }
  const ControlGroups groups = MakeBounding();
  EXPECT_EQ(groups.limitation(), "");
  const auto group = groups.Make("run-0", {4096, 32, 0.5});
  ASSERT_TRUE(group.ok()) << ToString(group.status());
  const std::string pids = root() + "/cgroup/pids/galen-1/run-0";
  const std::string cpu = root() + "/cgroup/cpu/some/where/galen-1/run-0";
  EXPECT_EQ(Read(pids + "/pids.max"), "32");
  EXPECT_EQ(Read(cpu + "/cpu.cfs_period_us"), "100000");
  EXPECT_EQ(Read(cpu + "/cpu.cfs_quota_us"), "50000");
  EXPECT_THAT(groups.JoinFiles(group->directory),
              ElementsAre(group->directory + "/cgroup.procs", pids + "/cgroup.procs",
                          cpu + "/cgroup.procs"));
  EXPECT_FALSE(groups.RanOutOfProcesses(group->directory));
  std::ofstream(pids + "/pids.events") << "max 1\n";
  EXPECT_TRUE(groups.RanOutOfProcesses(group->directory));
}

// What the kernel refuses, as a directory in a file's place does.
TEST_F(ControlGroupsTest, ABoundThatIsRefusedLeavesTheOthers) {
  Write("/own", "5:memory:/\n4:pids:/\n3:cpu:/\n");
  fs::create_directories(root() + "/cgroup/memory");
  fs::create_directories(root() + "/cgroup/pids/galen-1/run-0/pids.max");
  fs::create_directories(root() + "/cgroup/cpu");
  const ControlGroups groups = MakeBounding();
  const auto group = groups.Make("run-0", {4096, 32, 1.0});
  ASSERT_TRUE(group.ok()) << ToString(group.status());
  ASSERT_EQ(group->refused.size(), 1u);
  EXPECT_THAT(group->refused[0].message(), HasSubstr("pids.max"));
  EXPECT_TRUE(group->bounds_memory);
  EXPECT_EQ(Read(group->directory + "/memory.limit_in_bytes"), "4096");
  EXPECT_EQ(Read(root() + "/cgroup/cpu/galen-1/run-0/cpu.cfs_quota_us"), "100000");
  EXPECT_FALSE(groups.Make("run-1", {.processes = 32})->bounds_memory) << "nobody asks for it";
}

// What one tree has let go of may still be in another.
TEST_F(ControlGroupsTest, GroupsThatAnyTreeHasLeftAreRemoved) {
  Write("/own", "5:memory:/\n4:pids:/\n3:cpu:/\n");
  for (const char* tree : {"/memory", "/pids", "/cpu"}) {
    fs::create_directories(root() + "/cgroup" + tree);
  }
  const ControlGroups groups = MakeBounding();
  const std::string memory = root() + "/cgroup/memory/galen-1";
  fs::create_directories(root() + "/cgroup/pids/galen-1/run-0");
  fs::create_directories(root() + "/cgroup/cpu/galen-1/run-1");
  EXPECT_THAT(groups.All(), ElementsAre(memory + "/run-0", memory + "/run-1"));
  groups.RemoveAll();
  for (const char* tree : {"/memory", "/pids", "/cpu"}) {
    EXPECT_FALSE(fs::exists(root() + "/cgroup" + tree + "/galen-1")) << tree;
  }
}

// Version 1 refuses a group more of the processors than what is above it has.
TEST_F(ControlGroupsTest, ProcessorsOfVersionOneAreNoMoreThanThoseAbove) {
  Write("/own", "5:memory:/\n3:cpu:/pod/driver\n");
  fs::create_directories(root() + "/cgroup/memory");
  Write("/cgroup/cpu/pod/cpu.cfs_quota_us", "50000\n");
  Write("/cgroup/cpu/pod/cpu.cfs_period_us", "200000\n");
  Write("/cgroup/cpu/pod/driver/cpu.cfs_quota_us", "-1\n");
  Write("/cgroup/cpu/pod/driver/cpu.cfs_period_us", "100000\n");
  const ControlGroups groups = MakeBounding();
  ASSERT_TRUE(groups.Make("run-0", {.processors = 1.0}).ok());
  const std::string made = root() + "/cgroup/cpu/pod/driver/galen-1/";
  EXPECT_EQ(Read(made + "run-0/cpu.cfs_quota_us"), "25000");
  ASSERT_TRUE(groups.Make("run-1", {.processors = 0.125}).ok());
  EXPECT_EQ(Read(made + "run-1/cpu.cfs_quota_us"), "12500");
}

// As on most machines with version 1: one tree has both, and mostly links to it.
TEST_F(ControlGroupsTest, ControllersThatShareATreeAreFoundInIt) {
  Write("/own", "5:memory:/\n4:pids:/\n3:cpuset:/no\n2:cpu,cpuacct:/driver\n1:name=systemd:/\n");
  for (const char* place : {"/memory", "/pids", "/cpu,cpuacct/driver"}) {
    fs::create_directories(root() + "/cgroup" + place);
  }
  for (const bool linked : {false, true}) {
    if (linked) fs::create_directory_symlink("cpu,cpuacct", root() + "/cgroup/cpu");
    const ControlGroups groups = MakeBounding();
    EXPECT_EQ(groups.limitation(), "");
    const auto group = groups.Make(linked ? "run-1" : "run-0", {.processors = 0.5});
    ASSERT_TRUE(group.ok()) << ToString(group.status());
    EXPECT_EQ(Read(root() + "/cgroup/cpu,cpuacct/driver/galen-1" +
                   group->directory.substr(group->directory.rfind('/')) + "/cpu.cfs_quota_us"),
              "50000");
  }
}

TEST_F(ControlGroupsTest, BoundsProcessesAndProcessorsByVersionTwo) {
  Write("/own", "0::/driver.slice\n");
  Write("/cgroup/cgroup.controllers", "cpu memory pids");
  fs::create_directories(root() + "/cgroup/driver.slice");
  const ControlGroups groups = MakeBounding();
  EXPECT_EQ(groups.limitation(), "");
  EXPECT_EQ(Read(root() + "/cgroup/driver.slice/galen-1/cgroup.subtree_control"),
            "+memory+pids+cpu");
  const auto group = groups.Make("run-0", {4096, 32, 1.0});
  ASSERT_TRUE(group.ok()) << ToString(group.status());
  EXPECT_EQ(Read(group->directory + "/memory.max"), "4096");
  EXPECT_EQ(Read(group->directory + "/pids.max"), "32");
  EXPECT_EQ(Read(group->directory + "/cpu.max"), "100000 100000");
  EXPECT_THAT(groups.JoinFiles(group->directory), ElementsAre(group->directory + "/cgroup.procs"));
}

// Version 2 gives no controller below a group with processes.
TEST_F(ControlGroupsTest, MakesRoomOnlyWhereItIsAloneInItsGroup) {
  Write("/own", "0::/driver.slice\n");
  Write("/cgroup/cgroup.controllers", "cpu memory pids");
  Write("/cgroup/driver.slice/cgroup.events", "populated 1\n");
  const std::string self = std::to_string(::getpid());
  Write("/cgroup/driver.slice/cgroup.procs", self + "\n" + std::to_string(::getppid()) + "\n");
  MakeBounding();
  const std::string ours = root() + "/cgroup/driver.slice/galen-1.self";
  EXPECT_FALSE(fs::exists(ours));
  Write("/cgroup/driver.slice/cgroup.procs", self + "\n0\n");
  MakeBounding();
  EXPECT_FALSE(fs::exists(ours)) << "one of another namespace is another";
  Write("/cgroup/driver.slice/cgroup.procs", self + "\n");
  MakeBounding();
  EXPECT_EQ(Read(ours + "/cgroup.procs"), self);
}

TEST_F(ControlGroupsTest, WhatAProcessThatIsGoneHasLeftIsRemovedAndOthersStay) {
  Write("/own", "5:memory:/\n");
  const std::string memory = root() + "/cgroup/memory/";
  const std::string gone = "galen-2147483600", alive = "galen-" + std::to_string(::getppid());
  for (const std::string& left :
       {gone + "/run-1", alive + "/run-1", std::string("galen-x/run-1")}) {
    fs::create_directories(memory + left);
  }
  Make().EndLeftovers("galen-");
  EXPECT_FALSE(fs::exists(memory + gone));
  EXPECT_TRUE(fs::exists(memory + alive + "/run-1"));
  EXPECT_TRUE(fs::exists(memory + "galen-x/run-1"));
}

TEST_F(ControlGroupsTest, NamesTheLimitsThatItCannotKeepAndKeepsTheOthers) {
  Write("/own", "5:memory:/\n4:pids:/gone\n");
  fs::create_directories(root() + "/cgroup/memory");
  const ControlGroups groups = MakeBounding();
  EXPECT_THAT(groups.limitation(), HasSubstr("limits of pids are not enforced"));
  EXPECT_THAT(groups.limitation(), HasSubstr("limits of cpu are not enforced"));
  const auto group = groups.Make("run-0", {4096, 32, 1.0});
  ASSERT_TRUE(group.ok());
  EXPECT_EQ(Read(group->directory + "/memory.limit_in_bytes"), "4096");
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

// A process of another namespace shows as 0, which to a signal is all of our own process group.
TEST_F(ControlGroupsTest, ProcessesWithoutANumberAreNoMembersAndNobodyElseIsSignalled) {
  Write("/own", "5:memory:/\n");
  fs::create_directories(root() + "/cgroup/memory");
  const ControlGroups groups = Make();
  const std::string group = groups.Make("run-0", {}).value().directory;
  std::ofstream(group + "/cgroup.procs") << "0\n" << ::getpid() << "\n-1\n";
  EXPECT_THAT(groups.Members(group), ElementsAre(::getpid()));
  groups.EndMembers(group);
}

// By what the kernel has for it, unless we are among them.
TEST_F(ControlGroupsTest, AGroupOfVersionTwoIsKilledAsOne) {
  Write("/own", "0::/\n");
  Write("/cgroup/cgroup.controllers", "");
  const ControlGroups groups = Make();
  const std::string group = groups.Make("run-0", {}).value().directory;
  std::ofstream(group + "/cgroup.kill") << "";
  std::ofstream(group + "/cgroup.procs") << "0\n";
  groups.EndMembers(group);
  EXPECT_EQ(Read(group + "/cgroup.kill"), "1");
  std::ofstream(group + "/cgroup.procs") << ::getpid() << "\n";
  groups.EndMembers(group);
  EXPECT_EQ(Read(group + "/cgroup.kill"), "1");
}

TEST_F(ControlGroupsTest, ElseItMayStartNoMoreBeforeItIsKilled) {
  Write("/own", "5:memory:/\n4:pids:/\n");
  for (const char* tree : {"/memory", "/pids"}) fs::create_directories(root() + "/cgroup" + tree);
  const ControlGroups groups = MakeBounding();
  const std::string group = groups.Make("run-0", {}).value().directory;
  const std::string pids = root() + "/cgroup/pids/galen-1/run-0";
  std::ofstream(pids + "/pids.max") << "";
  groups.EndMembers(group);
  EXPECT_EQ(Read(pids + "/pids.max"), "") << "it has none";
  std::ofstream(pids + "/cgroup.procs") << "0\n";
  groups.EndMembers(group);
  EXPECT_THAT(Read(pids + "/pids.max"), ::testing::StartsWith("0"));
}

// On this machine's own groups of version 1, where it has some for us: each process starts the next
// one and is gone before its number is used.
TEST_F(ControlGroupsTest, WhatForksWithoutEndEndsAtOneCall) {
  const ControlGroups groups({}, fmt::format("galen-test-{}", ::getpid()),
                             {.processes = true, .processors = false});
  if (!groups.usable() || !groups.limitation().empty()) {
    fmt::print("not tried, only with plain files: {}\n", groups.limitation());
    return;
  }
  const std::string group = groups.Make("run-0", {}).value().directory;
  std::string join;
  for (const std::string& file : groups.JoinFiles(group)) join += "echo $$ >" + file + "; ";
  // Chains with an end, should they not be killed.
  const std::string chain =
      "f() { [ $1 -gt 0 ] && f $(($1-1)) & }; "
      "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do f 5000; done";
  ASSERT_EQ(::system(("setsid sh -c '" + join + chain + "' </dev/null >/dev/null 2>&1").c_str()),
            0);
  EXPECT_THAT(groups.Members(group), ::testing::Not(::testing::IsEmpty()));
  groups.EndMembers(group);
  // What was killed goes when the kernel comes to it: first its end shows, then it leaves the
  // group.
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  bool removed = false;
  while (!(removed = groups.Remove(group)) && std::chrono::steady_clock::now() < limit) {
    for (const pid_t member : groups.Members(group)) AwaitEnd(OpenProcess(member));
    ::sched_yield();
  }
  EXPECT_TRUE(removed);
  EXPECT_TRUE(groups.Remove(group.substr(0, group.rfind('/'))));
}

// A path that the system refuses to look at: the loop's thread has nobody who catches.
TEST_F(ControlGroupsTest, PlacesThatCannotBeLookedAtAreAsIfNotThere) {
  const std::string own = root() + "/own", far = root() + "/" + std::string(300, 'x');
  for (const char* lines : {"5:memory:/\n", "0::/\n"}) {
    Write("/own", lines);
    const ControlGroups groups({.cgroup_root = far, .own_groups = own}, "galen-1",
                               {.processes = true, .processors = true, .make_room = true});
    EXPECT_FALSE(groups.usable());
    EXPECT_NE(groups.limitation(), "");
    groups.EndLeftovers("galen-");
    EXPECT_THAT(groups.All(), ElementsAre());
  }
}

TEST_F(ControlGroupsTest, ANameThatCannotBeLookedAtIsAnErrorAndTheRestOfGroupsStay) {
  Write("/own", "5:memory:/\n");
  fs::create_directories(root() + "/cgroup/memory");
  const ControlGroups groups = Make();
  EXPECT_FALSE(groups.Make(std::string(300, 'x'), {}).ok());
  // Links into themselves among what there is.
  fs::create_symlink("loop", root() + "/cgroup/memory/galen-1/loop");
  fs::create_symlink("galen-2147483600", root() + "/cgroup/memory/galen-2147483600");
  groups.EndLeftovers("galen-");
  EXPECT_THAT(groups.All(), ElementsAre());
}

}  // namespace
}  // namespace galen
