#include "base/files/fake_file_system.h"

#include <gtest/gtest.h>

namespace galen {
namespace {

const Status kFull = ResourceExhausted("no space left on device");

TEST(FakeFileSystem, CrashTakesWhatWasNotSynced) {
  FakeFileSystem files;
  auto file = *files.OpenAppend("/log");
  ASSERT_TRUE(file->Append("synced").ok());
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(file->Append(" lost").ok());
  EXPECT_EQ(*files.Read("/log"), "synced lost");
  files.Crash();
  EXPECT_EQ(*files.Read("/log"), "synced");
}

TEST(FakeFileSystem, CrashCanTearTheLastWrite) {
  FakeFileSystem files;
  auto file = *files.OpenAppend("/log");
  ASSERT_TRUE(file->Append("synced").ok());
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(file->Append("torn").ok());
  files.Crash(2);
  EXPECT_EQ(*files.Read("/log"), "syncedto");
}

TEST(FakeFileSystem, AtomicWriteSurvivesACrashWhole) {
  FakeFileSystem files;
  ASSERT_TRUE(files.WriteAtomically("/config", "v1", 0600).ok());
  files.Crash();
  EXPECT_EQ(*files.Read("/config"), "v1");
}

TEST(FakeFileSystem, FullDiskTakesPartOfAnAppendAndSaysSo) {
  FakeFileSystem files;
  auto file = *files.OpenAppend("/log");
  files.FailWrites(kFull);
  EXPECT_EQ(file->Append("1234"), kFull);
  EXPECT_EQ(file->Sync(), kFull);
  EXPECT_EQ(files.WriteAtomically("/other", "x", 0600), kFull);
  EXPECT_EQ(files.OpenAppend("/new").status(), kFull);
  EXPECT_EQ(*files.Read("/log"), "12");
  EXPECT_EQ(files.Read("/other").status().code(), Code::kNotFound);
  files.FailWrites(std::nullopt);
  EXPECT_TRUE(file->Append("5").ok());
}

TEST(FakeFileSystem, FullDiskLetsFilesBeRemovedAndABrokenOneDoesNot) {
  FakeFileSystem files;
  ASSERT_TRUE(files.WriteAtomically("/a", "x", 0600).ok());
  ASSERT_TRUE(files.WriteAtomically("/b", "x", 0600).ok());
  files.FailWrites(kFull);
  EXPECT_TRUE(files.Remove("/a").ok());
  files.FailWrites(PermissionDenied("read-only file system"));
  EXPECT_EQ(files.Remove("/b").code(), Code::kPermissionDenied);
  EXPECT_TRUE(files.Remove("/a").ok()) << "nothing to do";
  EXPECT_EQ(*files.Read("/b"), "x");
}

TEST(FakeFileSystem, FaultCanComeAfterSomeWrites) {
  FakeFileSystem files;
  auto file = *files.OpenAppend("/log");
  files.FailWrites(kFull, 2);
  EXPECT_TRUE(file->Append("a").ok());
  EXPECT_TRUE(file->Sync().ok());
  EXPECT_EQ(file->Append("b"), kFull);
}

TEST(FakeFileSystem, CountsWritesAndNotReads) {
  FakeFileSystem files;
  auto file = *files.OpenAppend("/log");
  const std::uint64_t before = files.writes();
  EXPECT_TRUE(files.Read("/log").ok());
  EXPECT_TRUE(files.List("/").ok());
  EXPECT_TRUE(files.OpenAppend("/log").ok());
  EXPECT_EQ(files.writes(), before);
  ASSERT_TRUE(file->Append("x").ok());
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_EQ(files.writes(), before + 2);
}

}  // namespace
}  // namespace galen
