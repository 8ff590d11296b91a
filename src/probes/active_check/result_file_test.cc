#include "probes/active_check/result_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/files/test_temporary_directory.h"
#include "model/check_result.h"

namespace galen::probes {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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

TEST_F(ResultFileTest, ReadsWhatIsOurs) {
  EXPECT_EQ(*files_.Read(Write("gpu-0.json", "text")), "text");
  EXPECT_EQ(files_.Read(directory_.Path("none")).status().code(), Code::kNotFound);
}

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
              HasSubstr("it is no plain file"));
}

TEST_F(ResultFileTest, ReadsNoMoreThanAResultHas) {
  const auto text = files_.Read(Write("gpu-0.json", std::string(1 << 20, 'x')));
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text, SizeIs(kCheckResultBytesMax + 1));
}

TEST_F(ResultFileTest, SeesThatAFileIsAnother) {
  EXPECT_THAT(*files_.List(directory_.Path("none")), IsEmpty());
  EXPECT_FALSE(files_.List(Write("a-file", "text")).ok()) << "no directory";
  std::filesystem::remove(directory_.Path("a-file"));
  Write("gpu-0.json", "one");
  Write(".gpu-0.json.tmp", "half");
  const auto before = *files_.List(directory_.path());
  EXPECT_THAT(before, SizeIs(1));
  EXPECT_EQ(*files_.List(directory_.path()), before);
  std::filesystem::rename(Write("new", "two"), directory_.Path("gpu-0.json"));
  EXPECT_NE(*files_.List(directory_.path()), before);
}

}  // namespace
}  // namespace galen::probes
