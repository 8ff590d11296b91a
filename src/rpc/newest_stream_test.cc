#include "rpc/newest_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace galen::rpc {
namespace {

using ::testing::ElementsAre;

// What a writer did, and the reader's part by hand.
struct Wire {
  std::vector<std::string> written;
  std::optional<Status> finished;
  bool drained = true;
  std::function<void()> on_drained;
  std::function<void()> on_gone;
};

class HandWriter final : public StreamWriter {
 public:
  explicit HandWriter(Wire& wire) : wire_(wire) {}
  void Write(std::string message) override {
    wire_.written.push_back(std::move(message));
    wire_.drained = false;
  }
  void Finish(const Status& status) override { wire_.finished = status; }
  bool drained() const override { return wire_.drained; }
  void OnDrained(std::function<void()> callback) override {
    wire_.on_drained = std::move(callback);
  }
  void OnGone(std::function<void()> callback) override { wire_.on_gone = std::move(callback); }

 private:
  Wire& wire_;
};

class NewestStreamTest : public ::testing::Test {
 protected:
  void Drain() {
    wire_.drained = true;
    wire_.on_drained();
  }

  Wire wire_;
  bool gone_ = false;
  NewestStream stream_{std::make_unique<HandWriter>(wire_), [this] { gone_ = true; }};
};

TEST_F(NewestStreamTest, SlowReaderGetsTheNewestAndHoldsOne) {
  for (const char* snapshot : {"1", "2", "3", "4"}) stream_.Send(snapshot);
  EXPECT_THAT(wire_.written, ElementsAre("1"));
  EXPECT_EQ(stream_.merged(), 2U);
  Drain();
  EXPECT_THAT(wire_.written, ElementsAre("1", "4"));
  Drain();
  EXPECT_THAT(wire_.written, ElementsAre("1", "4"));
}

// A writer is drained before its notice of it comes, which takes a turn of the loop.
TEST_F(NewestStreamTest, SnapshotSentBeforeTheNoticeOfRoomIsNotFollowedByAnOlderOne) {
  stream_.Send("1");
  stream_.Send("2");
  wire_.drained = true;
  stream_.Send("3");
  wire_.on_drained();
  EXPECT_THAT(wire_.written, ElementsAre("1", "3"));
  EXPECT_EQ(stream_.merged(), 1U);
}

TEST_F(NewestStreamTest, FastReaderGetsEach) {
  for (const char* snapshot : {"1", "2", "3"}) {
    stream_.Send(snapshot);
    Drain();
  }
  EXPECT_THAT(wire_.written, ElementsAre("1", "2", "3"));
  EXPECT_EQ(stream_.merged(), 0U);
}

TEST_F(NewestStreamTest, NewestArrivesBeforeTheEnd) {
  stream_.Send("1");
  stream_.Send("2");
  stream_.Finish(Aborted("over"));
  EXPECT_THAT(wire_.written, ElementsAre("1", "2"));
  EXPECT_EQ(*wire_.finished, Aborted("over"));
}

TEST_F(NewestStreamTest, LeavingReaderIsNoticed) {
  wire_.on_gone();
  EXPECT_TRUE(gone_);
}

}  // namespace
}  // namespace galen::rpc
