#include "probes/kernel_log/state_file.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "base/files/fake_disk_queue.h"
#include "base/files/fake_file_system.h"
#include "base/loop/fake_loop.h"

namespace galen::probes {
namespace {

constexpr char kPath[] = "/state/gpu.json";

using namespace std::chrono_literals;

Json Number(int number) { return Json::MakeObject({{"n", number}}); }

// One process and its disk, which outlives it.
class StateFileTest : public ::testing::Test {
 protected:
  StateFileTest() {
    EXPECT_TRUE(files_.MakeDirectories("/state", 0755).ok());
    Start("boot-1");
  }
  void Start(std::string boot_id) {
    auto disk = std::make_unique<FakeDiskQueue>();
    disk_ = disk.get();
    state_ = std::make_unique<StateFile>(StateFile::Parts{loop_, NullLog(), files_},
                                         std::move(disk), kPath, std::move(boot_id));
    state_->Load();
  }
  // What a process that starts now finds.
  int Kept(std::string_view section) {
    files_.Crash();
    Start("boot-1");
    const Json& value = state_->Get(section);
    return value.is_null() ? 0 : static_cast<int>(value["n"].AsInt());
  }
  // Sets and asks; the answer comes into answers_, as "1:kept" or "1:late".
  void Ask(int number, std::string_view section = "a") {
    state_->Set(section, Number(number));
    state_->Flush([this, number](bool on_disk) {
      answers_.push_back(std::to_string(number) + (on_disk ? ":kept" : ":late"));
    });
  }
  std::vector<std::string> Answers() { return std::exchange(answers_, {}); }

  using Said = std::vector<std::string>;
  FakeLoop loop_;
  FakeFileSystem files_;
  FakeDiskQueue* disk_ = nullptr;
  std::unique_ptr<StateFile> state_;
  Said answers_;
};

TEST_F(StateFileTest, GivesBackWithinABootWhatWasFlushed) {
  Ask(1, "a");
  Ask(2, "b");
  EXPECT_EQ(Answers(), (Said{"1:kept", "2:kept"}));
  EXPECT_EQ(Kept("a"), 1);
  EXPECT_EQ(Kept("b"), 2);
}

TEST_F(StateFileTest, AnotherBootStartsFresh) {
  Ask(1);
  Start("boot-2");
  EXPECT_TRUE(state_->Get("a").is_null());
}

TEST_F(StateFileTest, WritesNothingWhileNothingChanges) {
  Ask(1);
  const auto writes = files_.writes();
  Ask(1);
  EXPECT_EQ(Answers(), (Said{"1:kept", "1:kept"}));
  EXPECT_EQ(files_.writes(), writes);
}

TEST_F(StateFileTest, ABrokenFileIsPutAsideAndNotBelieved) {
  for (const std::string text : {"{\"bootId\":", "[]", "{}", "{\"bootId\":1,\"sections\":{}}"}) {
    ASSERT_TRUE(files_.WriteAtomically(kPath, text, 0600).ok());
    EXPECT_EQ(Kept("a"), 0) << text;
    EXPECT_EQ(*files_.Read(std::string(kPath) + ".broken"), text);
    EXPECT_EQ(files_.Read(kPath).status().code(), Code::kNotFound);
  }
}

TEST_F(StateFileTest, AFullDiskIsSaidAtOnceAndLosesNothingOnceThereIsRoom) {
  files_.FailWrites(ResourceExhausted("disk full"));
  Ask(1);
  EXPECT_EQ(Answers(), Said{"1:late"});
  EXPECT_EQ(state_->trouble(), "disk full");
  files_.FailWrites(std::nullopt);
  state_->Flush();
  EXPECT_EQ(state_->trouble(), "");
  EXPECT_EQ(Kept("a"), 1);
}

TEST_F(StateFileTest, WhoAsksWaitsForTheDiskForAWhileAndNoLonger) {
  disk_->Hang();
  Ask(1);
  loop_.Advance(StateFile::kDiskPatience - 1ns);
  EXPECT_EQ(Answers(), Said{});
  loop_.Advance(1ns);
  EXPECT_EQ(Answers(), Said{"1:late"});
  EXPECT_EQ(state_->trouble(),
            "the disk takes longer than 250 ms; health is reported all the same");
}

TEST_F(StateFileTest, OnADiskThatIsKnownToHangNobodyWaits) {
  disk_->Hang();
  Ask(1);
  loop_.Advance(100ms);
  Ask(2);
  loop_.Advance(150ms);
  EXPECT_EQ(Answers(), (Said{"1:late", "2:late"}));
  Ask(3);
  EXPECT_EQ(Answers(), Said{"3:late"});
  EXPECT_EQ(disk_->waiting(), 1U);
}

TEST_F(StateFileTest, TheNewestIsWrittenWhenTheDiskGoesOn) {
  const auto writes = files_.writes();
  disk_->Hang();
  Ask(1);
  Ask(2);
  Ask(3);
  loop_.Advance(1s);
  disk_->GoOn();
  EXPECT_EQ(state_->trouble(), "");
  EXPECT_EQ(files_.writes() - writes, 2U) << "what was under way, and the newest";
  Answers();
  Ask(3);
  EXPECT_EQ(Answers(), Said{"3:kept"});
  EXPECT_EQ(Kept("a"), 3);
}

TEST_F(StateFileTest, WhatComesDuringAWriteIsKeptWhenTheNextOneIs) {
  disk_->Hang();
  Ask(1);
  loop_.Advance(100ms);
  Ask(2);
  disk_->GoOn();
  EXPECT_EQ(Answers(), (Said{"1:kept", "2:kept"}));
  EXPECT_EQ(Kept("a"), 2);
}

TEST_F(StateFileTest, TheWaitForASecondWriteCountsFromTheQuestion) {
  disk_->Hang();
  Ask(1);
  loop_.Advance(240ms);
  Ask(2);
  disk_->GoOn();
  EXPECT_EQ(Answers(), (Said{"1:kept", "2:kept"}));
  disk_->Hang();
  Ask(3);
  loop_.Advance(240ms);
  EXPECT_EQ(Answers(), Said{});
  loop_.Advance(10ms);
  EXPECT_EQ(Answers(), Said{"3:late"});
}

TEST_F(StateFileTest, AtTheEndTheNewestIsWritten) {
  files_.FailWrites(ResourceExhausted("disk full"));
  Ask(1);
  files_.FailWrites(std::nullopt);
  state_->Finish();
  EXPECT_EQ(Kept("a"), 1);
}

TEST_F(StateFileTest, AWriteThatAnswersNobodyIsNoTrouble) {
  disk_->Hang();
  Ask(1);
  state_.reset();
  loop_.Advance(1s);
  EXPECT_EQ(Answers(), Said{});
}

}  // namespace
}  // namespace galen::probes
