#include "active/cpu_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "base/files/fake_file_system.h"

namespace galen::active {
namespace {

class CpuDeviceTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(files_.MakeDirectories(path.substr(0, path.rfind('/')), 0755).ok());
    ASSERT_TRUE(files_.WriteAtomically(path, text, 0644).ok());
  }
  FakeFileSystem files_;
  CpuDevice device_{files_, {.meminfo = "/proc/meminfo", .cgroup = "/cgroup"}};
};

TEST_F(CpuDeviceTest, AsMuchMemoryIsFreeAsTheKernelSaysAndTheControlGroupLets) {
  EXPECT_FALSE(device_.FreeBytes().ok());
  Write("/proc/meminfo", "MemTotal:  9000 kB\nMemAvailable:    4000 kB\nBuffers: 1 kB\n");
  EXPECT_EQ(*device_.FreeBytes(), 4096000u);
  Write("/cgroup/memory.max", "max\n");
  Write("/cgroup/memory.current", "1000000\n");
  EXPECT_EQ(*device_.FreeBytes(), 4096000u);
  Write("/cgroup/memory.max", "1500000\n");
  EXPECT_EQ(*device_.FreeBytes(), 500000u);
  Write("/cgroup/memory.current", "1600000\n");
  EXPECT_EQ(*device_.FreeBytes(), 0u);
}

TEST_F(CpuDeviceTest, ComparesWordsWithThePatternTheyWereFilledWith) {
  const Words words{.begin = *device_.Allocate(8 * 1000), .count = 1000, .first = 5000};
  const Pattern pattern{.kind = PatternKind::kRandom, .argument = 3};
  ASSERT_TRUE(device_.Fill(words, pattern).ok());
  EXPECT_EQ(*device_.Compare(words, pattern), Mismatch{});
  const std::array<std::byte, 8> zeros{};
  ASSERT_TRUE(device_.Upload(zeros, words.begin + 8 * 900).ok());
  ASSERT_TRUE(device_.Upload(zeros, words.begin + 8 * 17).ok());
  const Mismatch found = *device_.Compare(words, pattern);
  EXPECT_EQ(found.count, 2u);
  EXPECT_EQ(found.first, 5017u);
  EXPECT_EQ(found.bits, PatternWord(pattern, 5017) | PatternWord(pattern, 5900));
  EXPECT_TRUE(device_.Free(words.begin).ok());
}

TEST_F(CpuDeviceTest, CopiesFromAnother) {
  CpuDevice other(files_, {});
  const Words sent{.begin = *other.Allocate(4096), .count = 512};
  const Words received{.begin = *device_.Allocate(4096), .count = 512};
  const Pattern pattern{.kind = PatternKind::kAddress, .argument = 3};
  ASSERT_TRUE(other.Fill(sent, pattern).ok());
  ASSERT_TRUE(device_.CopyFrom(other, sent.begin, received.begin, 4096).ok());
  EXPECT_EQ(*device_.Compare(received, pattern), Mismatch{});
}

}  // namespace
}  // namespace galen::active
