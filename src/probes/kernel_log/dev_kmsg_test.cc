#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop/epoll_loop.h"
#include "base/random.h"
#include "probes/kernel_log/kernel_log.h"
#include "probes/kernel_log/kernel_record.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;

TEST(DevKmsg, SaysWhatCannotBeOpened) {
  const auto loop = EpollLoop::Create();
  ASSERT_TRUE(loop.ok());
  const auto source = DevKmsg::Open(**loop, "/nowhere/kmsg");
  ASSERT_FALSE(source.ok());
  EXPECT_EQ(source.status().code(), Code::kNotFound);
}

TEST(DevKmsg, AFileThatEndsIsAnErrorAndNotAQuietLog) {
  const auto loop = EpollLoop::Create();
  ASSERT_TRUE(loop.ok());
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd reader(ends[0]);
  const auto source = DevKmsg::Open(**loop, "/dev/fd/" + std::to_string(reader.get()));
  ::close(ends[1]);
  ASSERT_TRUE(source.ok());
  EXPECT_EQ((*source)->Next().status().code(), Code::kUnavailable);
}

TEST(DevKmsg, WhatCannotBeWaitedForIsRefused) {
  const auto loop = EpollLoop::Create();
  ASSERT_TRUE(loop.ok());
  for (const char* path : {"/dev/null", "/proc/self/exe", "/"}) {
    EXPECT_EQ(DevKmsg::Open(**loop, path).status().code(), Code::kInvalidArgument) << path;
  }
}

TEST(DevKmsg, WithoutADescriptorToSpareItSaysThat) {
  const auto loop = EpollLoop::Create();
  ASSERT_TRUE(loop.ok());
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd reader(ends[0]), writer(ends[1]);
  rlimit usual = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  // Room for the log itself, and for nothing to look at it with.
  const int next = ::fcntl(reader.get(), F_DUPFD_CLOEXEC, 0);
  ::close(next);
  rlimit one = usual;
  one.rlim_cur = static_cast<rlim_t>(next) + 1;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &one), 0);
  const auto source = DevKmsg::Open(**loop, "/proc/self/fd/" + std::to_string(reader.get()));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  EXPECT_EQ(source.status().message(),
            fmt::format("wait for /proc/self/fd/{}: Too many open files", reader.get()));
}

// Real: behind a record that does not fit, reading goes on.
TEST(DevKmsg, ARecordThatIsTooLongIsPassedOver) {
  const Fd writer(::open("/dev/kmsg", O_WRONLY | O_CLOEXEC));
  if (!writer) {
    fmt::print("not tried: writing /dev/kmsg needs root\n");
    return;
  }
  const auto loop = EpollLoop::Create();
  ASSERT_TRUE(loop.ok());
  constexpr std::size_t kRoom = 300;
  auto opened = DevKmsg::Open(**loop, "/dev/kmsg", kRoom);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const std::string mark = Random(Random::Seed()).Uuid();
  for (const std::string& line : {mark + std::string(kRoom, 'x'), mark + " short"}) {
    const std::string written = fmt::format("<6>{}\n", line);
    ASSERT_EQ(::write(writer.get(), written.data(), written.size()),
              static_cast<ssize_t>(written.size()));
  }
  std::vector<std::string> found;
  while (true) {
    const auto next = (*opened)->Next();
    if (next.status().code() == Code::kDataLoss) continue;
    ASSERT_TRUE(next.ok()) << next.status().message();
    if (!*next) break;
    if ((*next)->find(mark) != std::string::npos) found.push_back(**next);
  }
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].find(mark + " short"), std::string::npos);
}

// Real: what root writes into the kernel's log is read back from it within the loop.
TEST(DevKmsg, ReadsBackFromTheRealKernelWhatWasJustWritten) {
  const Fd writer(::open("/dev/kmsg", O_WRONLY | O_CLOEXEC));
  if (!writer) {
    fmt::print("not tried: writing /dev/kmsg needs root\n");
    return;
  }
  const auto loop = EpollLoop::Create();
  ASSERT_TRUE(loop.ok());
  auto opened = DevKmsg::Open(**loop, "/dev/kmsg");
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  DevKmsg& source = **opened;

  const std::string line = "galen test " + Random(Random::Seed()).Uuid();
  std::optional<KernelRecord> found;
  source.OnReadable([&] {
    while (!found) {
      const auto next = source.Next();
      if (!next.ok() && next.status().code() == Code::kDataLoss) continue;
      if (!next.ok() || !*next) return;
      const StatusOr<KernelRecord> record = ParseKernelRecord(**next);
      if (record.ok() && record->text == line) found = *record;
    }
    (*loop)->Stop();
  });
  // A record is complete, and shown to readers, only with its newline.
  const std::string written = fmt::format("<6>{}\n", line);
  const auto size = static_cast<ssize_t>(written.size());
  ASSERT_EQ(::write(writer.get(), written.data(), written.size()), size);
  const Timer limit = (*loop)->After(5s, [&] { (*loop)->Stop(); });
  (*loop)->Run();

  ASSERT_TRUE(found) << "not read within 5 s; is /proc/sys/kernel/printk_devkmsg off?";
  EXPECT_EQ(found->facility, kFacilityUser);
  const Duration age = ((*loop)->Now() - Time{}) - found->since_boot;
  EXPECT_LT(age, 60s) << "the kernel's clock for its log and ours are far apart";
}

}  // namespace
}  // namespace galen::probes
