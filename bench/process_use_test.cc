#include "bench/process_use.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace galen::bench {
namespace {

constexpr char kStat[] =
    "812 (a (b) c) S 1 812 812 0 -1 4194560 300 0 2 0 17 5 0 0 20 0 1 0 9 100 40 18446";
constexpr char kStatus[] = "Name:\ta\nVmHWM:\t   30720 kB\nVmRSS:\t   20480 kB\nThreads:\t1\n";
constexpr char kIo[] = "rchar: 1\nwchar: 900\nsyscw: 3\nwrite_bytes: 4096\n";

TEST(ProcessUse, IsReadWhateverTheProgramIsCalled) {
  const auto use = ParseProcessUse(kStat, kStatus, kIo);
  ASSERT_TRUE(use.ok()) << use.status().message();
  EXPECT_EQ(use->ticks, 22u);
  EXPECT_EQ(use->rss_bytes, 20u * 1024 * 1024);
  EXPECT_EQ(use->peak_bytes, 30u * 1024 * 1024);
  EXPECT_EQ(use->disk_bytes, 4096u);
}

TEST(ProcessUse, IsNeverZeroForWantOfText) {
  EXPECT_FALSE(ParseProcessUse("", kStatus, kIo).ok());
  EXPECT_FALSE(ParseProcessUse("812 (a) S 1 812", kStatus, kIo).ok());
  EXPECT_FALSE(ParseProcessUse(kStat, "Name:\ta\n", kIo).ok());
  EXPECT_FALSE(ParseProcessUse(kStat, kStatus, "wchar: 1\n").ok());
}

TEST(ProcessUse, OfThisProcessIsThereAndItsPeakIsNotBelowIt) {
  const auto use = ReadProcessUse(getpid());
  ASSERT_TRUE(use.ok()) << use.status().message();
  EXPECT_GT(use->rss_bytes, 0u);
  EXPECT_GE(use->peak_bytes, use->rss_bytes);
}

TEST(ProcessUse, OfAProcessThatIsGoneIsAnError) {
  EXPECT_FALSE(ReadProcessUse(-1).ok());
  EXPECT_FALSE(CountDescriptors(-1).ok());
}

TEST(ProcessUse, CountsEachOpenDescriptor) {
  // The directory that is read is open too, each time.
  const std::size_t before = CountDescriptors(getpid()).value();
  std::FILE* file = std::fopen("/dev/null", "r");
  EXPECT_EQ(CountDescriptors(getpid()).value(), before + 1);
  std::fclose(file);
  EXPECT_EQ(CountDescriptors(getpid()).value(), before);
}

}  // namespace
}  // namespace galen::bench
