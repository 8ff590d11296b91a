#include "base/files/directory_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/fd.h"
#include "base/files/test_temporary_directory.h"
#include "base/loop/epoll_loop.h"

namespace galen {
namespace {

using namespace std::chrono_literals;

class DirectoryWatchTest : public testing::Test {
 protected:
  void Start(const std::string& name) {
    auto watch = DirectoryWatch::Start(*loop_, directory_.Path(name), [this] { ++told_; });
    ASSERT_TRUE(watch.ok()) << ToString(watch.status());
    watch_ = *std::move(watch);
  }
  void MakeFile(const std::string& name) { std::ofstream(directory_.Path(name)) << "x"; }
  void MakeDirectory(const std::string& name) {
    std::filesystem::create_directories(directory_.Path(name));
  }
  void Remove(const std::string& name) { std::filesystem::remove_all(directory_.Path(name)); }
  // How often the watch called back since the last call of this. The kernel has queued its events
  // when the change returns, so a few turns see them all.
  int Notified() {
    int turns = 4;
    std::function<void()> next = [&] {
      if (--turns == 0) return loop_->Stop();
      loop_->Post([&] { next(); });
    };
    loop_->Post([&] { next(); });
    loop_->Run();
    return std::exchange(told_, 0);
  }

  const TemporaryDirectory directory_;
  const std::unique_ptr<EpollLoop> loop_ = *EpollLoop::Create();
  std::unique_ptr<DirectoryWatch> watch_;
  int told_ = 0;
};

TEST_F(DirectoryWatchTest, SaysNothingWhileNothingChanges) {
  MakeDirectory("registry");
  MakeFile("registry/old");
  Start("registry");
  EXPECT_EQ(Notified(), 0);
}

TEST_F(DirectoryWatchTest, NotifiesOnceForManyChangesInOneTurn) {
  MakeDirectory("registry");
  Start("registry");
  for (int i = 0; i < 20; ++i) MakeFile("registry/" + std::to_string(i));
  EXPECT_EQ(Notified(), 1);
}

TEST_F(DirectoryWatchTest, SeesFilesComeChangeMoveAndGo) {
  MakeDirectory("registry");
  Start("registry");
  MakeFile("registry/a");
  EXPECT_EQ(Notified(), 1);
  MakeFile("registry/a");
  EXPECT_EQ(Notified(), 1);
  std::filesystem::rename(directory_.Path("registry/a"), directory_.Path("registry/b"));
  EXPECT_EQ(Notified(), 1);
  Remove("registry/b");
  EXPECT_EQ(Notified(), 1);
}

TEST_F(DirectoryWatchTest, SeesIntoDirectoriesThatWereThereAndThatComeLater) {
  MakeDirectory("registry/old");
  Start("registry");
  MakeFile("registry/old/socket");
  EXPECT_GE(Notified(), 1);
  MakeDirectory("registry/new/deeper");
  EXPECT_GE(Notified(), 1);
  MakeFile("registry/new/deeper/socket");
  EXPECT_GE(Notified(), 1);
}

TEST_F(DirectoryWatchTest, SurvivesRemovalAndReturnOfTheDirectory) {
  MakeDirectory("registry");
  Start("registry");
  for (int round = 0; round < 3; ++round) {
    Remove("registry");
    EXPECT_GE(Notified(), 1) << round;
    MakeDirectory("registry");
    EXPECT_GE(Notified(), 1) << round;
    MakeFile("registry/socket");
    EXPECT_GE(Notified(), 1) << round;
  }
}

TEST_F(DirectoryWatchTest, FindsTheNewDirectoryWhenItWasReplacedWithinOneTurn) {
  MakeDirectory("registry");
  Start("registry");
  Remove("registry");
  MakeDirectory("registry");
  EXPECT_GE(Notified(), 1);
  MakeFile("registry/socket");
  EXPECT_GE(Notified(), 1);
}

// The kernel reports the removal of a directory to its watchers only after the last process that
// holds it open has closed it: one that locks it, or a shell whose working directory it is.
TEST_F(DirectoryWatchTest, FindsTheNewDirectoryAlsoWhenSomebodyHoldsTheOldOneOpen) {
  MakeDirectory("registry");
  Start("registry");
  const Fd held(::open(directory_.Path("registry").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_TRUE(held);
  Remove("registry");
  EXPECT_GE(Notified(), 1);
  MakeDirectory("registry");
  EXPECT_GE(Notified(), 1);
  MakeFile("registry/socket");
  EXPECT_GE(Notified(), 1);
  const Fd again(::open(directory_.Path("registry").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  Remove("registry");
  MakeDirectory("registry");
  EXPECT_GE(Notified(), 1) << "replaced within one turn";
  MakeFile("registry/socket");
  EXPECT_GE(Notified(), 1);
}

TEST_F(DirectoryWatchTest, FindsTheNewDirectoryWhenTheOldOneWasMovedAside) {
  MakeDirectory("registry");
  Start("registry");
  std::filesystem::rename(directory_.Path("registry"), directory_.Path("registry.old"));
  MakeDirectory("registry");
  EXPECT_GE(Notified(), 1);
  MakeFile("registry.old/stray");
  EXPECT_EQ(Notified(), 0);
  MakeFile("registry/socket");
  EXPECT_GE(Notified(), 1);
}

TEST_F(DirectoryWatchTest, SaysNothingOfTheDirectorysNeighbours) {
  MakeDirectory("registry");
  Start("registry");
  MakeFile("neighbour");
  MakeDirectory("registry-of-another");
  Remove("neighbour");
  EXPECT_EQ(Notified(), 0);
}

TEST_F(DirectoryWatchTest, WaitsForADirectoryWhoseParentsAreMissingToo) {
  Start("lib/kubelet/plugins_registry");
  MakeFile("lib-unrelated");
  EXPECT_EQ(Notified(), 0);
  MakeDirectory("lib");
  EXPECT_EQ(Notified(), 0);
  MakeDirectory("lib/kubelet");
  MakeDirectory("lib/kubelet/plugins_registry");
  EXPECT_GE(Notified(), 1);
  MakeFile("lib/kubelet/plugins_registry/socket");
  EXPECT_GE(Notified(), 1);
  Remove("lib");
  EXPECT_GE(Notified(), 1);
  MakeDirectory("lib/kubelet/plugins_registry");
  EXPECT_GE(Notified(), 1);
}

TEST_F(DirectoryWatchTest, DoesNotFollowLinksInCircles) {
  MakeDirectory("registry");
  std::filesystem::create_directory_symlink(directory_.path(), directory_.Path("registry/up"));
  Start("registry");
  MakeFile("outside");
  EXPECT_EQ(Notified(), 0);
  MakeFile("registry/inside");
  EXPECT_EQ(Notified(), 1);
}

// Without root's right to read everything, for as long as it lives; nothing for any other user.
class UsualRights {
 public:
  UsualRights() { ::setfsuid(kNobody); }
  ~UsualRights() { ::setfsuid(::geteuid()); }
  UsualRights(const UsualRights&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
};

TEST_F(DirectoryWatchTest, SaysThatADirectoryMayNotBeRead) {
  std::filesystem::permissions(directory_.path(), std::filesystem::perms(0755));
  MakeDirectory("registry");
  std::filesystem::permissions(directory_.Path("registry"), std::filesystem::perms::none);
  {
    const UsualRights usual;
    const auto watch = DirectoryWatch::Start(*loop_, directory_.Path("registry"), [] {});
    EXPECT_EQ(watch.status().code(), Code::kPermissionDenied) << ToString(watch.status());
  }
  // So that it can be removed.
  std::filesystem::permissions(directory_.Path("registry"), std::filesystem::perms(0755));
}

TEST_F(DirectoryWatchTest, DirectoryThatMayBeReadAgainIsWatchedAgain) {
  const auto allow = [this](unsigned mode) {
    std::filesystem::permissions(directory_.Path("registry"), std::filesystem::perms(mode));
  };
  std::filesystem::permissions(directory_.path(), std::filesystem::perms(0755));
  MakeDirectory("registry");
  Start("registry");
  allow(0);
  {
    const UsualRights usual;
    EXPECT_GE(Notified(), 1);
  }
  allow(0755);
  EXPECT_GE(Notified(), 1);
  MakeFile("registry/socket");
  EXPECT_GE(Notified(), 1);
}

TEST_F(DirectoryWatchTest, ListenerMayDestroyTheWatch) {
  MakeDirectory("registry");
  auto watch = DirectoryWatch::Start(*loop_, directory_.Path("registry"), [this] {
    watch_.reset();
    ++told_;
  });
  watch_ = *std::move(watch);
  MakeFile("registry/a");
  EXPECT_EQ(Notified(), 1);
  MakeFile("registry/b");
  EXPECT_EQ(Notified(), 0);
}

}  // namespace
}  // namespace galen
