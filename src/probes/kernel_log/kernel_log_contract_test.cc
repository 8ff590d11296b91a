// What every KernelLogSource promises: one suite, run on the kernel's own log where this machine
// lets us write into it, on the reader of that log over a pipe, and on the fake, so that tests
// above may trust the fake.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/files/test_temporary_directory.h"
#include "base/loop/epoll_loop.h"
#include "base/loop/test_turns.h"
#include "base/random.h"
#include "probes/kernel_log/fake_kernel_log.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// One write is one record.
bool WriteRecord(const Fd& fd, const std::string& record) {
  return ::write(fd.get(), record.data(), record.size()) == static_cast<ssize_t>(record.size());
}

// The machine's own.
struct KernelsLog {
  explicit KernelsLog(IoLoop& loop) : writer(::open("/dev/kmsg", O_WRONLY | O_CLOEXEC)) {
    if (!writer) return;
    opened = std::move(DevKmsg::Open(loop, "/dev/kmsg")).value();
    // What is there is from others.
    while (true) {
      const auto next = opened->Next();
      if (next.ok() && !*next) return;
    }
  }
  KernelLogSource* source() { return opened.get(); }
  void Write(const std::string& text) {
    EXPECT_TRUE(WriteRecord(writer, fmt::format("<6>{}\n", text)));
  }

  Fd writer;
  std::unique_ptr<DevKmsg> opened;
};

// A pipe whose writes stay apart (O_DIRECT, see pipe(7)), as records do.
struct LogInAPipe {
  explicit LogInAPipe(IoLoop& loop) {
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    opened = std::move(DevKmsg::Open(loop, path)).value();
    OpenWriter();
  }
  void OpenWriter() {
    writer = Fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    EXPECT_EQ(::fcntl(writer.get(), F_SETFL, O_DIRECT), 0);
  }
  KernelLogSource* source() { return opened.get(); }
  void Write(const std::string& text) {
    EXPECT_TRUE(WriteRecord(writer, fmt::format("6,1,0,-;{}\n", text)));
  }
  void End() { writer.Reset(); }
  void WriteAfterTheEnd(const std::string& text) {
    OpenWriter();
    Write(text);
  }

  TemporaryDirectory directory;
  const std::string path = directory.Path("kmsg");
  std::unique_ptr<DevKmsg> opened;
  Fd writer;
};

struct LogOfLines {
  explicit LogOfLines(IoLoop&) {}
  KernelLogSource* source() { return &fake; }
  void Write(const std::string& text) { fake.Append(fmt::format("6,1,0,-;{}\n", text)); }
  void End() { fake.Fail(Unavailable("the kernel's log has ended")); }
  void WriteAfterTheEnd(const std::string& text) { Write(text); }

  FakeKernelLog fake;
};

template <typename Log>
class KernelLogContract : public ::testing::Test {
 protected:
  // False, and says so, where this machine has no such log.
  bool IsHere() {
    if (log_.source() != nullptr) return true;
    fmt::print("not tried: writing /dev/kmsg needs root\n");
    return false;
  }
  KernelLogSource& source() { return *log_.source(); }
  void Write(const std::string& text) { log_.Write(mark_ + text); }
  // The texts of our records from here on; the log may have others, and be too fast for us.
  std::vector<std::string> TakeAll() {
    std::vector<std::string> texts;
    while (true) {
      const StatusOr<std::optional<std::string>> next = source().Next();
      if (next.status().code() == Code::kDataLoss) continue;
      end_ = next.status();
      if (!next.ok() || !*next) return texts;
      const std::size_t begin = (*next)->find(mark_);
      if (begin == std::string::npos) continue;
      const std::string text = (*next)->substr(begin + mark_.size());
      texts.push_back(text.substr(0, text.find('\n')));
    }
  }
  void RunUntil(const std::function<bool()>& done) {
    const Time limit = loop_->Now() + 10s;
    while (!done() && loop_->Now() < limit) {
      const Timer look = loop_->After(1ms, [this] { loop_->Stop(); });
      loop_->Run();
    }
    EXPECT_TRUE(done());
  }

  const std::unique_ptr<EpollLoop> loop_ = EpollLoop::Create().value();
  Log log_{*loop_};
  Status end_;
  const std::string mark_ = "galen test " + Random(Random::Seed()).Uuid() + " ";
};

using KernelLogs = ::testing::Types<KernelsLog, LogInAPipe, LogOfLines>;
TYPED_TEST_SUITE(KernelLogContract, KernelLogs);

TYPED_TEST(KernelLogContract, GivesEachRecordOnceInOrderAndThenNone) {
  if (!this->IsHere()) return;
  EXPECT_THAT(this->TakeAll(), IsEmpty());
  this->Write("one");
  this->Write("two");
  EXPECT_THAT(this->TakeAll(), ElementsAre("one", "two"));
  EXPECT_TRUE(this->end_.ok()) << "none now is not an error";
  EXPECT_THAT(this->TakeAll(), IsEmpty());
  this->Write("three");
  EXPECT_THAT(this->TakeAll(), ElementsAre("three"));
}

TYPED_TEST(KernelLogContract, CallsWhenThereIsMore) {
  if (!this->IsHere()) return;
  std::vector<std::string> seen;
  this->source().OnReadable([&] { std::ranges::move(this->TakeAll(), std::back_inserter(seen)); });
  for (const std::string text : {"one", "two"}) {
    this->Write(text);
    this->RunUntil([&] { return !seen.empty() && seen.back() == text; });
  }
  EXPECT_THAT(seen, ElementsAre("one", "two"));
}

TYPED_TEST(KernelLogContract, ASecondCallbackTakesThePlaceOfTheFirst) {
  if (!this->IsHere()) return;
  int first = 0;
  std::vector<std::string> seen;
  this->source().OnReadable([&] { ++first; });
  this->source().OnReadable([&] { std::ranges::move(this->TakeAll(), std::back_inserter(seen)); });
  this->Write("one");
  this->RunUntil([&] { return !seen.empty(); });
  EXPECT_EQ(first, 0);
}

// For logs that can end; the kernel's own does not while it runs.
template <typename Log>
class KernelLogEndContract : public KernelLogContract<Log> {};

using KernelLogsThatEnd = ::testing::Types<LogInAPipe, LogOfLines>;
TYPED_TEST_SUITE(KernelLogEndContract, KernelLogsThatEnd);

TYPED_TEST(KernelLogEndContract, AfterItsEndNobodyIsCalledAndNextSaysSoAgain) {
  int calls = 0;
  std::vector<std::string> seen;
  this->source().OnReadable([&] {
    ++calls;
    std::ranges::move(this->TakeAll(), std::back_inserter(seen));
  });
  this->Write("last");
  this->log_.End();
  this->RunUntil([&] { return !this->end_.ok(); });
  EXPECT_EQ(this->end_.code(), Code::kUnavailable);
  EXPECT_THAT(seen, ElementsAre("last")) << "what came before the end is read";
  const int calls_before = calls;
  EXPECT_EQ(this->source().Next().status().code(), Code::kUnavailable);
  this->log_.WriteAfterTheEnd("late");
  RunTurns(*this->loop_);
  EXPECT_EQ(calls, calls_before);
}

}  // namespace
}  // namespace galen::probes
