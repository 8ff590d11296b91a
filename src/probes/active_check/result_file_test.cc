#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/files/test_temporary_directory.h"
#include "model/check_result.h"
#include "probes/active_check/check_results.h"
#include "probes/active_check/fake_result_files.h"

namespace galen::probes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// What all ResultFiles promise: one suite, run on a directory and on the fake one.

struct DiskPlace {
  void Put(const std::string& name, const std::string& text) {
    std::ofstream(directory.Path(".new")) << text;
    std::filesystem::rename(directory.Path(".new"), directory.Path(name));
  }
  void Remove(const std::string& name) { std::filesystem::remove(directory.Path(name)); }
  std::string Path(const std::string& name) const { return directory.Path(name); }

  const TemporaryDirectory directory;
  DiskResultFiles files;
  const std::string root = directory.path();
};

struct FakePlace {
  void Put(const std::string& name, const std::string& text) { files.Write(name, text); }
  void Remove(const std::string& name) { files.Remove(name); }
  std::string Path(const std::string& name) const { return root + "/" + name; }

  FakeResultFiles files;
  const std::string root = "/results";
};

template <typename Place>
class ResultFilesContract : public ::testing::Test {
 protected:
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    const auto listed = files().List(place_.root);
    EXPECT_TRUE(listed.ok());
    for (const auto& [name, stamp] : *listed) names.push_back(name);
    return names;
  }
  FileStamp StampOf(const std::string& name) { return files().List(place_.root)->at(name); }
  ResultFiles& files() { return place_.files; }

  Place place_;
};

using ResultPlaces = ::testing::Types<DiskPlace, FakePlace>;
TYPED_TEST_SUITE(ResultFilesContract, ResultPlaces);

TYPED_TEST(ResultFilesContract, GivesTheTextOfAFileAndNotFoundWhereThereIsNone) {
  this->place_.Put("gpu-0.json", "text");
  EXPECT_EQ(*this->files().Read(this->place_.Path("gpu-0.json")), "text");
  EXPECT_EQ(this->files().Read(this->place_.Path("gpu-1.json")).status().code(), Code::kNotFound);
}

TYPED_TEST(ResultFilesContract, ListsWhatIsThereButNothingThatIsBeingWritten) {
  EXPECT_THAT(this->Names(), IsEmpty());
  this->place_.Put("gpu-1.json", "b");
  this->place_.Put("gpu-0.json", "a");
  this->place_.Put(".gpu-0.json.tmp", "half");
  EXPECT_THAT(this->Names(), ElementsAre("gpu-0.json", "gpu-1.json"));
  this->place_.Remove("gpu-0.json");
  EXPECT_THAT(this->Names(), ElementsAre("gpu-1.json"));
}

TYPED_TEST(ResultFilesContract, ReadsNoMoreThanShowsThatAFileIsNoResult) {
  this->place_.Put("most", std::string(kCheckResultBytesMax, 'x'));
  this->place_.Put("more", std::string(2 * kCheckResultBytesMax, 'x'));
  EXPECT_THAT(*this->files().Read(this->place_.Path("most")), SizeIs(kCheckResultBytesMax));
  EXPECT_THAT(*this->files().Read(this->place_.Path("more")), SizeIs(kCheckResultBytesMax + 1));
}

TYPED_TEST(ResultFilesContract, AnotherFileUnderTheNameHasAnotherStamp) {
  this->place_.Put("gpu-0.json", "text");
  const FileStamp stamp = this->StampOf("gpu-0.json");
  ASSERT_TRUE(this->files().Read(this->place_.Path("gpu-0.json")).ok());
  EXPECT_EQ(this->StampOf("gpu-0.json"), stamp) << "who reads it changes nothing";
  this->place_.Put("gpu-0.json", "text");
  EXPECT_NE(this->StampOf("gpu-0.json"), stamp) << "as long and of the same text";
}

// What only the disk's do: whom they believe.

class ResultFileTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text, mode_t mode = 0644) {
    const std::string path = directory_.Path(name);
    std::ofstream(path) << text;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  const TemporaryDirectory directory_;
  DiskResultFiles files_;
};

TEST_F(ResultFileTest, BelievesNoFileThatOthersMayWrite) {
  for (const mode_t mode : {0664u, 0646u, 0666u}) {
    const auto read = files_.Read(Write("gpu-0.json", "text", mode));
    EXPECT_EQ(read.status().code(), Code::kPermissionDenied) << std::oct << mode;
    EXPECT_THAT(read.status().message(), HasSubstr("lets others write it"));
  }
}

TEST_F(ResultFileTest, BelievesNoFileOfAnotherUser) {
  const std::string path = Write("gpu-0.json", "text");
  if (::chown(path.c_str(), 12345, 0) != 0) return;  // only root can give one away
  EXPECT_THAT(files_.Read(path).status().message(), HasSubstr("user 12345 owns it, not root"));
}

TEST_F(ResultFileTest, FollowsNoLinkAndWaitsForNoPipe) {
  std::filesystem::create_symlink(Write("real.json", "text"), directory_.Path("link.json"));
  EXPECT_FALSE(files_.Read(directory_.Path("link.json")).ok());
  ASSERT_EQ(::mkfifo(directory_.Path("pipe.json").c_str(), 0600), 0);
  EXPECT_THAT(files_.Read(directory_.Path("pipe.json")).status().message(),
              HasSubstr("it is not a plain file"));
}

TEST_F(ResultFileTest, SeesThatAFileIsAnother) {
  EXPECT_THAT(*files_.List(directory_.Path("none")), IsEmpty());
  EXPECT_FALSE(files_.List(Write("a-file", "text")).ok()) << "no directory";
  std::filesystem::remove(directory_.Path("a-file"));
  Write("gpu-0.json", "one");
  const auto before = *files_.List(directory_.path());
  EXPECT_THAT(before, SizeIs(1));
  EXPECT_EQ(*files_.List(directory_.path()), before);
  std::filesystem::rename(Write("new", "two"), directory_.Path("gpu-0.json"));
  EXPECT_NE(*files_.List(directory_.path()), before);
}

}  // namespace
}  // namespace galen::probes
