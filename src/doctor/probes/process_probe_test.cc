#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files/fake_file_system.h"
#include "doctor/probes/probes.h"

namespace galen::doctor {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ProcessProbeTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(files_.MakeDirectories(path.substr(0, path.rfind('/')), 0755).ok());
    ASSERT_TRUE(files_.WriteAtomically(path, text, 0644).ok());
  }
  // A process that was started so many seconds after the boot.
  void MakeProcess(int pid, const std::string& name, long seconds) {
    const std::string place = fmt::format("/proc/{}/", pid);
    Write(place + "comm", name + "\n");
    Write(place + "stat",
          fmt::format("{} ({}) S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 31 0 {} 2 3\n", pid, name,
                      seconds * ::sysconf(_SC_CLK_TCK)));
  }

  FakeFileSystem files_;
};

TEST_F(ProcessProbeTest, AProcessStartedSoLongAfterTheBoot) {
  Write("/proc/stat", "cpu 1 2 3\nbtime 1795000000\nprocesses 7\n");
  MakeProcess(321, "a) S (b", 90);
  EXPECT_EQ(*StartedAt(files_, "/proc", 321), WallTime{1'795'000'090s});
  EXPECT_EQ(StartedAt(files_, "/proc", 5).status().code(), Code::kNotFound);
  Write("/proc/321/stat", "321 (kubelet) S 1\n");
  EXPECT_EQ(StartedAt(files_, "/proc", 321).status().code(), Code::kDataLoss);
}

TEST_F(ProcessProbeTest, TheRuntimeIsTheOldestOfItsName) {
  Write("/proc/stat", "btime 1795000000\n");
  MakeProcess(7, "containerd", 40);
  MakeProcess(8, "containerd", 20);
  MakeProcess(9, "containerd-shim", 10);
  const StatusOr<RuntimeSeen> runtime = FindRuntime(files_, "/proc");
  ASSERT_TRUE(runtime.ok()) << runtime.status().message();
  EXPECT_EQ(runtime->name, "containerd");
  EXPECT_EQ(runtime->started, WallTime{1'795'000'020s});
}

TEST_F(ProcessProbeTest, WithoutARuntimeItSaysWhereToLook) {
  MakeProcess(9, "bash", 10);
  EXPECT_EQ(FindRuntime(files_, "/proc").status().code(), Code::kNotFound);
}

TEST_F(ProcessProbeTest, PressureIsThatOfTheLastMinute) {
  const std::string lines =
      "some avg10=1.00 avg60=12.50 avg300=0.80 total=5021\n"
      "full avg10=0.00 avg60=3.25 avg300=0.00 total=1\n";
  for (const char* what : {"cpu", "memory", "io"})
    Write(fmt::format("/proc/pressure/{}", what), lines);
  const StatusOr<PressureSeen> seen = LookAtPressure(files_, {});
  ASSERT_TRUE(seen.ok()) << seen.status().message();
  EXPECT_EQ(seen->cpu, 12.5);
  EXPECT_EQ(seen->memory, 3.25);
  EXPECT_EQ(seen->io, 3.25);
  Write("/proc/pressure/io", "nothing\n");
  EXPECT_EQ(LookAtPressure(files_, {}).status().code(), Code::kDataLoss);
}

TEST_F(ProcessProbeTest, AKernelWithoutPressureSaysSo) {
  EXPECT_EQ(LookAtPressure(files_, {}).status().code(), Code::kNotFound);
}

TEST_F(ProcessProbeTest, NvidiasVersionsAreThoseOfTheModuleAndOfTheDriversRoot) {
  Write("/sys/module/nvidia/version", "570.124.06\n");
  Write("/usr/lib64/libcuda.so.560.1", "x");
  EXPECT_THAT(LookAtNvidia(files_, {}).libraries, ElementsAre("560.1"));
  EXPECT_EQ(LookAtNvidia(files_, {}).root, "/");
  Write("/run/nvidia/driver/usr/lib64/libcuda.so.570.124.06", "x");
  const NvidiaSeen seen = LookAtNvidia(files_, {});
  EXPECT_EQ(seen.module, "570.124.06");
  EXPECT_THAT(seen.libraries, ElementsAre("570.124.06"));
  EXPECT_EQ(seen.root, "/run/nvidia/driver");
}

TEST_F(ProcessProbeTest, AMachineWithoutNvidiasDriverShowsNone) {
  EXPECT_EQ(LookAtNvidia(files_, {}).module, "");
  EXPECT_THAT(LookAtNvidia(files_, {}).libraries, IsEmpty());
}

}  // namespace
}  // namespace galen::doctor
