#include "base/log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <thread>
#include <vector>

#include "base/fd.h"

namespace galen {
namespace {

class LogTest : public testing::Test {
 protected:
  Log Make(LogLevel least) {
    return Log(
        least, [] { return WallTime(std::chrono::milliseconds(1'795'269'731'304)); },
        [this](LogLevel, std::string_view line) { lines_.emplace_back(line); });
  }
  std::vector<std::string> lines_;
};

TEST_F(LogTest, LineCarriesTimeLevelSentenceAndFields) {
  Log log = Make(LogLevel::kInfo);
  log.Info("health changed", {{"device", "gpu-3"}, {"reports", 812}});
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_EQ(
      lines_[0],
      "time=2026-11-21T14:02:11.304Z level=info msg=\"health changed\" device=gpu-3 reports=812");
}

TEST_F(LogTest, LowerLevelsAreLeftOut) {
  Log log = Make(LogLevel::kWarning);
  log.Debug("a");
  log.Info("b");
  log.Warning("c");
  log.Error("d");
  ASSERT_EQ(lines_.size(), 2u);
  EXPECT_NE(lines_[0].find("level=warning"), std::string::npos);
  EXPECT_NE(lines_[1].find("level=error"), std::string::npos);
}

TEST_F(LogTest, ValuesAreQuotedWhenTheyWouldBeMisread) {
  Log log = Make(LogLevel::kInfo);
  log.Info("x",
           {{"empty", ""}, {"space", "a b"}, {"equals", "a=b"}, {"quote", "\"\\"}, {"u", "91°C"}});
  EXPECT_NE(lines_[0].find(R"( empty="" space="a b" equals="a=b" quote="\"\\" u="91°C")"),
            std::string::npos)
      << lines_[0];
}

TEST_F(LogTest, TextFromOutsideCannotForgeALineOrATerminalCommand) {
  Log log = Make(LogLevel::kInfo);
  log.Info("x", {{"message", "a\nlevel=error\x1b[2J\xff"}});
  EXPECT_EQ(lines_[0].find_first_of("\n\x1b\xff"), std::string::npos);
  EXPECT_NE(lines_[0].find("\"a\xEF\xBF\xBDlevel=error"), std::string::npos) << lines_[0];
}

TEST_F(LogTest, LongValueIsCut) {
  Log log = Make(LogLevel::kInfo);
  log.Info("x", {{"message", std::string(1 << 20, 'a')}});
  EXPECT_LT(lines_[0].size(), 3000u);
  EXPECT_EQ(lines_[0].substr(lines_[0].size() - 5), "a...\"");
}

TEST_F(LogTest, LinesOfManyThreadsStayWhole) {
  Log log = Make(LogLevel::kInfo);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 250; ++i) log.Info("x");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lines_.size(), 1000u);
}

TEST(LogLevel, ReadsWhatItWrites) {
  for (const LogLevel level :
       {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError}) {
    EXPECT_EQ(*ParseLogLevel(ToString(level)), level);
  }
  EXPECT_EQ(ParseLogLevel("INFO").status().code(), Code::kInvalidArgument);
}

TEST(StderrSink, WritesTheLineAndItsEnd) {
  testing::internal::CaptureStderr();
  StderrSink()(LogLevel::kInfo, "level=info msg=x");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "level=info msg=x\n");
}

// Whoever reads it (a terminal that is held, a collector that hangs) must not stop the loop.
TEST(StderrSink, LosesLinesThatNobodyReadsAndSaysHowMany) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd reader(ends[0]);
  const Fd writer(ends[1]);
  const Log::Sink sink = StderrSink(writer.get());
  constexpr int kLines = 200;  // more than a pipe holds
  for (int i = 0; i < kLines; ++i) sink(LogLevel::kInfo, std::string(1000, 'a'));
  std::string text(1 << 20, '\0');
  const ssize_t kept = ::read(reader.get(), text.data(), text.size());
  EXPECT_EQ(kept % 1001, 0) << "no piece of a line";
  sink(LogLevel::kInfo, "again");
  text.resize(static_cast<std::size_t>(::read(reader.get(), text.data(), text.size())));
  EXPECT_EQ(text, fmt::format("level=warning msg=\"log lines were lost because nobody read them\" "
                              "lines={}\nagain\n",
                              kLines - kept / 1001));
}

// A reader that takes a page now and then: the line that says how many are lost arrives, and the
// one behind it does not.
TEST(StderrSink, CountsEachLostLineOnce) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const Fd reader(ends[0]);
  const Fd writer(ends[1]);
  std::string text;
  const auto read_some = [&](std::size_t bytes_max) {
    std::string piece(bytes_max, '\0');
    const ssize_t count = ::read(reader.get(), piece.data(), piece.size());
    text += piece.substr(0, static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  };
  const Log::Sink sink = StderrSink(writer.get());
  constexpr std::size_t kLines = 200;
  for (std::size_t i = 0; i < kLines; ++i) {
    sink(LogLevel::kInfo, std::string(6000, 'a') + "end");
    if (i > kLines / 2) read_some(4096);
  }
  read_some(1 << 20);
  sink(LogLevel::kInfo, "again");
  read_some(1 << 20);
  std::size_t found = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line == std::string(6000, 'a') + "end") ++found;
    const std::size_t count = line.rfind(" lines=");
    if (count != std::string::npos) found += std::stoul(line.substr(count + 7));
  }
  EXPECT_EQ(found, kLines);
}

}  // namespace
}  // namespace galen
