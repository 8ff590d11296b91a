// XIDs of the real reader of NVML while GPUs refuse to report them, against a library of our own.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/files/test_temporary_directory.h"
#include "probes/nvml/nvml_library.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class NvmlEventsTest : public ::testing::Test {
 protected:
  NvmlEventsTest() {
    ::setenv("GALEN_NVML_ANSWERS", path_.c_str(), 1);
    Answer("");
    auto library = NvmlLibrary::Open(GALEN_SCRIPTED_NVML, {});
    EXPECT_TRUE(library.ok()) << library.status().message();
    library_ = std::move(*library);
  }
  ~NvmlEventsTest() override { ::unsetenv("GALEN_NVML_ANSWERS"); }

  void Answer(const std::string& lines) {
    // Another file, which is seen to be another however fast one follows the other.
    std::ofstream(path_ + ".new") << "gpus 2\n0 uuid GPU-1\n0 bus 75\n1 uuid GPU-2\n1 bus 76\n"
                                  << lines;
    std::filesystem::rename(path_ + ".new", path_);
  }
  Code Wait() { return library_->WaitForXids(0s).status().code(); }
  // That the library has made for whoever, and that nobody has freed.
  static int Sets() {
    void* library = ::dlopen(GALEN_SCRIPTED_NVML, RTLD_NOW | RTLD_LOCAL);
    void* count = ::dlsym(library, "galenScriptedEventSets");
    EXPECT_NE(count, nullptr);
    return count == nullptr ? 0 : reinterpret_cast<int (*)()>(count)();
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.Path("answers");
  std::unique_ptr<NvmlLibrary> library_;
  const int sets_before_ = Sets();
};

TEST_F(NvmlEventsTest, GpusThatAllRefuseOnceAreAskedAgain) {
  Answer("0 events result 999\n1 events result 15\n");
  EXPECT_EQ(Wait(), Code::kUnavailable);
  EXPECT_EQ(Wait(), Code::kUnavailable);
  EXPECT_EQ(Sets(), sets_before_) << "no set is left behind";
  Answer("xid 1 79\n");
  EXPECT_THAT(library_->WaitForXids(1s)->xids, ElementsAre(NvmlXid{"GPU-2", 79}));
}

TEST_F(NvmlEventsTest, ASetThatCannotBeMadeNowIsMadeLater) {
  Answer("event-set 999\n");
  EXPECT_EQ(Wait(), Code::kUnavailable);
  Answer("");
  EXPECT_EQ(Wait(), Code::kOk);
}

TEST_F(NvmlEventsTest, OnlyWhereNoGpuEverReportsXidsIsNoneAskedAgain) {
  Answer("0 events result 3\n1 events result 999\n");
  EXPECT_EQ(Wait(), Code::kUnavailable) << "the second may yet";
  Answer("0 events result 3\n1 events result 13\n");
  EXPECT_EQ(Wait(), Code::kUnimplemented);
  EXPECT_EQ(Sets(), sets_before_);
  Answer("event-set 13\n");
  EXPECT_EQ(Wait(), Code::kUnimplemented);
}

TEST_F(NvmlEventsTest, AGpuThatRefusedAloneIsAskedAtTheNextWait) {
  Answer("1 events result 999\nxid 1 79\n");
  const auto waited = library_->WaitForXids(0s);
  ASSERT_TRUE(waited.ok());
  EXPECT_THAT(waited->xids, IsEmpty()) << "nobody hears of it";
  EXPECT_THAT(waited->refused, ElementsAre(Pair("GPU-2", "ask for XIDs: NVML error 999")));
  Answer("xid 1 79\nxid 1 48\n");
  EXPECT_THAT(library_->WaitForXids(1s)->xids, ElementsAre(NvmlXid{"GPU-2", 48}));
}

TEST_F(NvmlEventsTest, AGpuThatNeverReportsXidsIsNamedBesideOneThatDoes) {
  Answer("0 events result 3\nxid 1 79\n");
  const auto waited = library_->WaitForXids(1s);
  ASSERT_TRUE(waited.ok());
  EXPECT_THAT(waited->xids, ElementsAre(NvmlXid{"GPU-2", 79}));
  EXPECT_THAT(waited->silent, ElementsAre("GPU-1"));
  EXPECT_THAT(waited->refused, IsEmpty()) << "asking again would not help";
}

TEST_F(NvmlEventsTest, GpusThatCannotBeHadYetAreLookedForAgain) {
  Answer("0 handle 999\n1 handle 999\n");
  EXPECT_EQ(Wait(), Code::kUnavailable);
  Answer("xid 0 48\n");
  EXPECT_THAT(library_->WaitForXids(1s)->xids, ElementsAre(NvmlXid{"GPU-1", 48}));
}

}  // namespace
}  // namespace galen::probes
