#include "api_sim/storage/store_log.h"

#include <gtest/gtest.h>

#include "base/files/fake_file_system.h"
#include "base/loop/fake_loop.h"

namespace galen::api_sim {
namespace {

constexpr const char* kMaps = "/configmaps";

Json Map(std::string_view name, int value) {
  return Json::MakeObject(
      {{"metadata", Json::MakeObject({{"namespace", "d"}, {"name", name}})}, {"value", value}});
}

// One life of a store that is kept in the same files.
struct Life {
  explicit Life(FakeFileSystem& files) {
    auto opened = StoreLog::Open(loop, files, NullLog(), "/data", store);
    status = opened.status();
    if (opened.ok()) log = std::move(opened).value();
  }
  std::int64_t Value(const char* name) const {
    const Snapshot object = store.Get(kMaps, {"d", name});
    return object == nullptr ? -1 : (*object)["value"].AsInt();
  }
  void Put(const char* name, int value) { store.Put(kMaps, {"d", name}, Map(name, value)); }

  FakeLoop loop;
  ObjectStore store{{.first_version = 1}};
  std::unique_ptr<StoreLog> log;
  Status status;
};

TEST(StoreLog, BringsBackWhatWasWrittenAndNotWhatWasRemoved) {
  FakeFileSystem files;
  {
    Life life(files);
    life.Put("a", 1);
    life.Put("a", 2);
    life.Put("b", 3);
    life.store.Remove(kMaps, {"d", "b"});
  }
  Life life(files);
  EXPECT_EQ(life.Value("a"), 2);
  EXPECT_EQ(life.Value("b"), -1);
}

TEST(StoreLog, WhatAKillLeftOfASnapshotGoesAtTheNextStart) {
  FakeFileSystem files;
  {
    const Life life(files);
  }
  ASSERT_TRUE(files.WriteAtomically("/data/snapshot.tmp-Ab12Cd", "half", 0600).ok());
  {
    const Life life(files);
  }
  EXPECT_EQ(*files.List("/data"), (std::vector<std::string>{"changes", "snapshot"}));
}

TEST(StoreLog, NeverUsesAVersionTwice) {
  FakeFileSystem files;
  std::uint64_t last = 0;
  {
    Life life(files);
    life.Put("a", 1);
    life.store.Remove(kMaps, {"d", "a"});
    last = life.store.version();
  }
  Life life(files);
  EXPECT_GT(life.store.version(), last);
  EXPECT_GE(life.store.OldestKnown(kMaps), life.store.version());
}

TEST(StoreLog, KeepsTheGoodPartOfATornLogAndPutsTheRestBeside) {
  FakeFileSystem files;
  {
    Life life(files);
    life.Put("a", 1);
  }
  const std::string good = files.Read("/data/changes").value();
  {
    auto file = files.OpenAppend("/data/changes");
    ASSERT_TRUE((*file)->Append("torn in the middle of a record").ok());
  }
  Life life(files);
  EXPECT_EQ(life.Value("a"), 1);
  EXPECT_EQ(files.Read("/data/changes.torn").value(), "torn in the middle of a record");
}

TEST(StoreLog, RefusesADamagedSnapshotAndNamesIt) {
  FakeFileSystem files;
  {
    Life life(files);
    life.Put("a", 1);
  }
  {
    const Life folded(files);
  }
  std::string snapshot = files.Read("/data/snapshot").value();
  snapshot[20] ^= 1;
  ASSERT_TRUE(files.WriteAtomically("/data/snapshot", snapshot, 0600).ok());
  const Life life(files);
  EXPECT_EQ(life.status.code(), Code::kDataLoss);
  EXPECT_NE(life.status.message().find("/data/snapshot"), std::string::npos);
}

TEST(StoreLog, ServesOnWithAFullDiskAndKeepsAllOnceThereIsRoom) {
  FakeFileSystem files;
  {
    Life life(files);
    files.FailWrites(ResourceExhausted("no space left"));
    life.Put("a", 1);
    EXPECT_EQ(life.Value("a"), 1);
    life.loop.Advance(StoreLog::kRetryAfter * 3);
    life.Put("b", 1);
    files.FailWrites(std::nullopt);
    life.loop.Advance(StoreLog::kRetryAfter);  // nobody needs to write for it
    life.Put("c", 2);
  }
  Life life(files);
  EXPECT_EQ(life.Value("a"), 1);
  EXPECT_EQ(life.Value("b"), 1);
  EXPECT_EQ(life.Value("c"), 2);
}

TEST(StoreLog, AFoldThatWasCutShortDoesNotBringBackThePast) {
  FakeFileSystem files;
  std::string old_log;
  {
    Life life(files);
    life.Put("changed", 1);
    life.Put("removed", 1);
    old_log = files.Read("/data/changes").value();
    files.FailWrites(ResourceExhausted("no space left"));
    life.Put("changed", 2);
    life.store.Remove(kMaps, {"d", "removed"});
    files.FailWrites(std::nullopt);
    life.loop.Advance(StoreLog::kRetryAfter);
  }
  // As if killed after the new snapshot, before the old log was removed.
  ASSERT_TRUE(files.WriteAtomically("/data/changes", old_log, 0600).ok());
  const Life life(files);
  EXPECT_EQ(life.Value("changed"), 2);
  EXPECT_EQ(life.Value("removed"), -1);
}

TEST(StoreLog, FoldsALongLogIntoASnapshot) {
  FakeFileSystem files;
  Life life(files);
  Json big = Map("a", 1);
  big["text"] = std::string(1024 * 1024, 'x');
  for (int i = 0; i < 20; ++i) life.store.Put(kMaps, {"d", "a"}, big);
  EXPECT_LT(files.Read("/data/changes").value().size(), StoreLog::kLogBytesMax);
  EXPECT_GT(files.Read("/data/snapshot").value().size(), 1024u * 1024u);
}

}  // namespace
}  // namespace galen::api_sim
