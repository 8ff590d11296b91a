#include "agent/drivers/plugin_watcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agent/drivers/fake_socket_directory.h"
#include "base/loop/fake_loop.h"

namespace galen::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RecordedSockets final : public SocketListener {
 public:
  void OnSocketAdded(const std::string& path) override { calls.push_back("+" + path); }
  void OnSocketReplaced(const std::string& path) override { calls.push_back("~" + path); }
  void OnSocketRemoved(const std::string& path) override { calls.push_back("-" + path); }
  std::vector<std::string> Take() { return std::exchange(calls, {}); }
  std::vector<std::string> calls;
};

class PluginWatcherTest : public ::testing::Test {
 protected:
  PluginWatcherTest()
      : log_(
            LogLevel::kInfo, [this] { return loop_.WallNow(); },
            [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }) {}

  FakeLoop loop_;
  std::vector<std::string> lines_;
  Log log_;
  FakeSocketDirectory directory_;
  RecordedSockets sink_;
  PluginWatcher watcher_{loop_, log_, directory_, sink_};
};

TEST_F(PluginWatcherTest, ReportsSocketsThatAreThereAndThoseThatCome) {
  directory_.Put("/r/a.sock");
  EXPECT_FALSE(watcher_.scanned());
  watcher_.Start();
  EXPECT_TRUE(watcher_.scanned());
  directory_.Put("/r/sub/b.sock");
  EXPECT_THAT(sink_.Take(), ElementsAre("+/r/a.sock", "+/r/sub/b.sock"));
  directory_.Remove("/r/a.sock");
  EXPECT_THAT(sink_.Take(), ElementsAre("-/r/a.sock"));
}

TEST_F(PluginWatcherTest, ReportsASocketThatWasMadeAgain) {
  directory_.Put("/r/a.sock");
  watcher_.Start();
  sink_.Take();
  directory_.Put("/r/a.sock");
  EXPECT_THAT(sink_.Take(), ElementsAre("~/r/a.sock"));
}

TEST_F(PluginWatcherTest, LeavesEverythingElseAloneAndSaysSoOnce) {
  directory_.Put("/r/plain", DirectoryEntry::Kind::kOther);
  directory_.Put("/r/link.sock", DirectoryEntry::Kind::kSymlink);
  directory_.Put("/r/sub", DirectoryEntry::Kind::kDirectory);
  directory_.Put("/r/.hidden.sock");
  watcher_.Start();
  directory_.Put("/r/plain", DirectoryEntry::Kind::kOther);
  EXPECT_THAT(sink_.Take(), IsEmpty());
  EXPECT_EQ(lines_.size(), 2u) << "the plain file and the link";
}

TEST_F(PluginWatcherTest, NoticesLaterWhatNoEventReported) {
  watcher_.Start();
  directory_.GoDeaf();
  directory_.Put("/r/a.sock");
  EXPECT_THAT(sink_.Take(), IsEmpty());
  loop_.Advance(PluginWatcher::kRescanAfter);
  EXPECT_THAT(sink_.Take(), ElementsAre("+/r/a.sock"));
}

TEST_F(PluginWatcherTest, TakesNobodyForGoneBecauseItCannotLook) {
  directory_.Put("/r/a.sock");
  watcher_.Start();
  sink_.Take();
  directory_.FailScans(PermissionDenied("open /r"));
  loop_.Advance(PluginWatcher::kRescanAfter);
  loop_.Advance(PluginWatcher::kRescanAfter);
  EXPECT_THAT(sink_.Take(), IsEmpty());
  EXPECT_EQ(lines_.size(), 1u) << "logged once";
}

TEST_F(PluginWatcherTest, KeepsWhatLiesBelowADirectoryThatItCannotRead) {
  directory_.Put("/r/a.sock");
  directory_.Put("/r/sub/b.sock");
  watcher_.Start();
  sink_.Take();
  directory_.GoDeaf();
  directory_.Remove("/r/a.sock");
  directory_.Remove("/r/sub/b.sock");
  directory_.Put("/r/sub", DirectoryEntry::Kind::kUnreadable);
  loop_.Advance(PluginWatcher::kRescanAfter);
  EXPECT_THAT(sink_.Take(), ElementsAre("-/r/a.sock"));
  EXPECT_EQ(watcher_.trouble(), "/r/sub is unreadable");
}

TEST_F(PluginWatcherTest, AMissingRegistryIsATroubleUntilItIsThere) {
  directory_.FailScans(NotFound("open /r: no such file or directory"));
  watcher_.Start();
  EXPECT_TRUE(watcher_.scanned());
  EXPECT_THAT(watcher_.trouble(), ::testing::HasSubstr("no such file"));
  PluginWatcher sources(loop_, log_, directory_, sink_, PluginWatcher::Place::kHealthSources);
  sources.Start();
  EXPECT_EQ(sources.trouble(), "") << "nobody need have made it";
  directory_.FailScans(OkStatus());
  directory_.GoDeaf();
  directory_.Put("/r/a.sock");
  loop_.Advance(PluginWatcher::kRescanInTrouble);
  EXPECT_EQ(watcher_.trouble(), "");
  EXPECT_THAT(sink_.Take(), ElementsAre("+/r/a.sock"));
}

TEST_F(PluginWatcherTest, HardlyEverWakesUpWhenNothingHappens) {
  watcher_.Start();
  loop_.Advance(std::chrono::hours(1));
  EXPECT_LE(directory_.scans(), 13);
}

}  // namespace
}  // namespace galen::agent
