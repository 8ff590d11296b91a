#include "agent/containers/pod_directories.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "agent/containers/fake_container_processes.h"
#include "base/files/fake_disk_queue.h"
#include "base/files/fake_file_system.h"
#include "base/loop/fake_loop.h"

namespace galen::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

const PodRef kFirst{{"default", "a"}, "uid-1"};
// Another Pod of the same name.
const PodRef kSecond{{"default", "a"}, "uid-2"};

class PodDirectoriesTest : public ::testing::Test {
 protected:
  void Make(const PodRef& pod) {
    directories_->Make(pod, {Of(pod) + "/main"}, [this, pod](const Status& made) {
      made_.push_back(pod.uid + " " + (made.ok() ? "ok" : std::string(made.message())));
    });
  }
  static std::string Of(const PodRef& pod) { return "/s/pods/default_a_" + pod.uid; }
  std::vector<std::string> Present() {
    const auto names = files_.List("/s/pods");
    return names.ok() ? *names : std::vector<std::string>();
  }

  FakeLoop loop_;
  FakeFileSystem files_;
  FakeDiskQueue disk_;
  FakeContainerProcesses processes_{loop_, files_};
  std::vector<std::string> made_;
  std::optional<PodDirectories> directories_{
      std::in_place, PodDirectories::Edges{loop_, files_, processes_, disk_}, "/s/pods"};
};

TEST_F(PodDirectoriesTest, AreMadeOneBelowTheOther) {
  Make(kFirst);
  EXPECT_THAT(made_, ElementsAre("uid-1 ok"));
  EXPECT_TRUE(files_.List(Of(kFirst) + "/main").ok());
  EXPECT_EQ(directories_->busy_since(), std::nullopt);
}

TEST_F(PodDirectoriesTest, OnesThatCannotBeMadeAreReportedWithTheirReason) {
  files_.FailWrites(ResourceExhausted("disk full"));
  Make(kFirst);
  ASSERT_THAT(made_, SizeIs(1));
  EXPECT_THAT(made_[0], ::testing::HasSubstr("disk full"));
}

TEST_F(PodDirectoriesTest, WhileTheDiskHangsOnePieceOfWorkWaitsForIt) {
  disk_.Hang();
  Make(kFirst);
  Make(kSecond);
  directories_->Remove({{"default", "b"}, "uid-3"});
  EXPECT_EQ(disk_.waiting(), 1u);
  EXPECT_EQ(directories_->busy_since(), loop_.Now());
  EXPECT_THAT(made_, IsEmpty());
  disk_.GoOn();
  EXPECT_THAT(made_, ElementsAre("uid-1 ok", "uid-2 ok"));
  EXPECT_THAT(processes_.removed, ElementsAre("/s/pods/default_b_uid-3"));
  EXPECT_EQ(directories_->busy_since(), std::nullopt);
}

TEST_F(PodDirectoriesTest, OfAPodThatWentBeforeItsTurnNothingIsMade) {
  disk_.Hang();
  Make(kFirst);
  Make(kSecond);
  directories_->Remove(kSecond);
  disk_.GoOn();
  EXPECT_THAT(made_, ElementsAre("uid-1 ok"));
  EXPECT_THAT(Present(), ElementsAre("default_a_uid-1"));
}

TEST_F(PodDirectoriesTest, OfAPodThatWentDuringItsTurnAllIsRemovedBehindIt) {
  disk_.Hang();
  Make(kFirst);
  directories_->Remove(kFirst);
  Make(kSecond);
  disk_.GoOn();
  EXPECT_THAT(processes_.removed, ElementsAre(Of(kFirst)));
  EXPECT_THAT(made_, ElementsAre("uid-1 ok", "uid-2 ok"));
}

TEST_F(PodDirectoriesTest, ThoseOfNoPodGoAndThoseOfLaterPodsStay) {
  ASSERT_TRUE(files_.MakeDirectories(Of(kFirst), 0700).ok());
  ASSERT_TRUE(files_.MakeDirectories("/s/pods/default_old_uid-0", 0700).ok());
  disk_.Hang();
  directories_->RemoveOthers({kFirst});
  Make(kSecond);
  disk_.GoOn();
  EXPECT_THAT(processes_.removed, ElementsAre("/s/pods/default_old_uid-0"));
  EXPECT_THAT(made_, ElementsAre("uid-2 ok"));
}

TEST_F(PodDirectoriesTest, RemovalsThatWaitAreBounded) {
  disk_.Hang();
  Make(kFirst);
  for (std::size_t i = 0; i < PodDirectories::kRemovalsMax + 5; ++i) {
    directories_->Remove({{"default", "a"}, "gone-" + std::to_string(i)});
  }
  disk_.GoOn();
  EXPECT_THAT(processes_.removed, SizeIs(PodDirectories::kRemovalsMax));
}

TEST_F(PodDirectoriesTest, NobodyIsAnsweredAfterTheirEnd) {
  disk_.Hang();
  Make(kFirst);
  directories_.reset();
  disk_.GoOn();
  EXPECT_THAT(made_, IsEmpty());
}

}  // namespace
}  // namespace galen::agent
