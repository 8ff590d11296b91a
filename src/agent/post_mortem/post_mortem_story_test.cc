#include "agent/post_mortem/post_mortem_story.h"

#include <gtest/gtest.h>

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using history::PodEnd;
using history::PostMortem;

constexpr WallTime kEndOfStory(std::chrono::seconds(1'795'269'731));

PostMortem RecordOf(PodEnd end) {
  PostMortem record;
  record.end = end;
  record.first = record.ended = kEndOfStory;
  record.over = IsLast(end);
  return record;
}

TEST(PostMortemStory, CrashesOfFiveMinutesAreOneFromTheFirstOn) {
  PostMortem record = RecordOf(PodEnd::kCrashed);
  const PodEnding second{PodEnd::kCrashed, "", kEndOfStory + 4min};
  ASSERT_TRUE(BelongsTo(record, second));
  Join(record, second);
  EXPECT_EQ(record.ended, kEndOfStory + 4min);
  EXPECT_FALSE(BelongsTo(record, {PodEnd::kCrashed, "", kEndOfStory + 6min}));
}

TEST(PostMortemStory, ADeletionSoonAfterACrashEndsItsStory) {
  PostMortem record = RecordOf(PodEnd::kCrashed);
  Join(record, {PodEnd::kDeleted, "DeletionByTaintManager", kEndOfStory + 1min});
  EXPECT_EQ(record.end, PodEnd::kDeleted);
  EXPECT_EQ(record.reason, "DeletionByTaintManager");
  EXPECT_TRUE(record.over);
  EXPECT_TRUE(BelongsTo(record, {PodEnd::kGone, "", kEndOfStory + 24h}));
}

TEST(PostMortemStory, ARebootAfterACrashIsAStoryOfItsOwn) {
  EXPECT_FALSE(
      BelongsTo(RecordOf(PodEnd::kCrashed), {PodEnd::kNodeReboot, "", kEndOfStory + 3min}));
}

TEST(PostMortemStory, CrashesAfterARebootDoNotKeepItsStoryOpen) {
  PostMortem record = RecordOf(PodEnd::kNodeReboot);
  for (const Duration after : {2min, 4min}) {
    const PodEnding crash{PodEnd::kCrashed, "", kEndOfStory + after};
    ASSERT_TRUE(BelongsTo(record, crash));
    Join(record, crash);
  }
  EXPECT_EQ(record.ended, kEndOfStory);
  EXPECT_FALSE(BelongsTo(record, {PodEnd::kCrashed, "", kEndOfStory + 6min}));
}

TEST(PostMortemStory, APodThatGoesSoonAfterARebootWentByIt) {
  PostMortem record = RecordOf(PodEnd::kNodeReboot);
  Join(record, {PodEnd::kDeleted, "", kEndOfStory + 1min});
  EXPECT_EQ(record.end, PodEnd::kNodeReboot);
  EXPECT_TRUE(record.over);
}

}  // namespace
}  // namespace galen::agent
