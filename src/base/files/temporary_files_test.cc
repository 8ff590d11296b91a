#include "base/files/temporary_files.h"

#include <gtest/gtest.h>

#include "base/files/fake_disk.h"
#include "base/files/fake_file_system.h"
#include "base/files/posix_file_system.h"

namespace galen {
namespace {

TEST(TemporaryFiles, OfAFileGoAndWhatOnlyLooksLikeThemStays) {
  FakeFileSystem files;
  ASSERT_TRUE(files.MakeDirectories("/s", 0755).ok());
  for (const char* name : {"a.json", "a.json.tmp-Ab12Cd", "a.json.tmp-000001", "b.json.tmp-Ab12Cd",
                           "a.json.corrupt", "xa.json.tmp-Ab12Cd"}) {
    ASSERT_TRUE(files.WriteAtomically(std::string("/s/") + name, "x", 0600).ok());
  }
  EXPECT_EQ(RemoveTemporaryFilesOf(files, "/s/a.json"), OkStatus());
  EXPECT_EQ(*files.List("/s"),
            (std::vector<std::string>{"a.json", "a.json.corrupt", "b.json.tmp-Ab12Cd",
                                      "xa.json.tmp-Ab12Cd"}));
  EXPECT_EQ(RemoveTemporaryFilesOf(files, "/none/a.json"), OkStatus());
}

// The mark is the one that disks put into the name.
TEST(TemporaryFiles, OfAWriteThatAKillEndedAreFound) {
  for (std::uint64_t operations = 1; operations < 4; ++operations) {
    FakeDisk disk;
    DurableFileSystem files(disk);
    ASSERT_TRUE(files.MakeDirectories("/s", 0755).ok());
    disk.StopAfter(operations);
    ASSERT_FALSE(files.WriteAtomically("/s/a.json", "text", 0600).ok());
    disk.Restart();
    ASSERT_EQ(files.List("/s")->size(), 1u);
    EXPECT_EQ(RemoveTemporaryFilesOf(files, "/s/a.json"), OkStatus());
    EXPECT_EQ(files.List("/s")->size(), 0u) << operations;
  }
}

}  // namespace
}  // namespace galen
