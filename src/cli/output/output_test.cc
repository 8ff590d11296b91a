#include "cli/output/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "base/fd.h"
#include "base/loop/epoll_loop.h"

namespace galen::cli {
namespace {

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    reader = Fd(ends[0]);
    writer = Fd(ends[1]);
    std::signal(SIGPIPE, SIG_IGN);
  }
  Fd reader, writer;
};

TEST(Output, AnErrorCommandsNoTerminal) {
  testing::internal::CaptureStderr();
  PrintError(
      "driver a.example.com: \x1b]0;owned\x07\x1b[2J\nsecond line: \xC2\x9B"
      "2J");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "galen: driver a.example.com: \uFFFD]0;owned\uFFFD\uFFFD[2J\nsecond line: \uFFFD2J\n");
}

TEST(Output, WritesAllOfALongText) {
  Pipe pipe;
  ASSERT_GT(::fcntl(pipe.writer.get(), F_SETPIPE_SZ, 1 << 20), 0);
  Output output(pipe.writer.get());
  const std::string text(200'000, 'x');
  output.Write(text);
  EXPECT_TRUE(output.status().ok());
  std::string got(text.size() + 1, 0);
  EXPECT_EQ(::read(pipe.reader.get(), got.data(), got.size()), 200'000);
}

TEST(Output, SaysThatTheReaderIsGoneAndWritesNoMore) {
  Pipe pipe;
  pipe.reader.Reset();
  Output output(pipe.writer.get());
  output.Write("a line\n");
  EXPECT_EQ(output.status().code(), Code::kCancelled);
}

TEST(Output, SaysThatTheDiskIsFull) {
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  Output output(full.get());
  output.Write("a line\n");
  EXPECT_NE(output.status().message().find("No space left"), std::string::npos)
      << output.status().message();
}

TEST(Output, NoticesThatTheReaderWentAwayWhileNothingIsWritten) {
  Pipe pipe;
  const auto loop = EpollLoop::Create().value();
  Output output(pipe.writer.get());
  int lost = 0;
  const auto watching = output.Watch(*loop, [&] {
    ++lost;
    loop->Stop();
  });
  loop->Post([&pipe] { pipe.reader.Reset(); });
  const Timer limit = loop->After(std::chrono::seconds(10), [&loop] { loop->Stop(); });
  loop->Run();
  EXPECT_EQ(lost, 1);
  EXPECT_EQ(*ExitCodeOf(output), kExitReaderGone);
}

TEST(Output, OfAPlainFileIsNotWatchedAndStillWritten) {
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  const auto loop = EpollLoop::Create().value();
  Output output(full.get());
  int lost = 0;
  const auto watching = output.Watch(*loop, [&] { ++lost; });
  output.Write("x");
  output.Write("y");
  EXPECT_EQ(lost, 1) << "once";
  EXPECT_FALSE(ExitCodeOf(output).ok()) << "a full disk is an error, not a reader that had enough";
}

}  // namespace
}  // namespace galen::cli
