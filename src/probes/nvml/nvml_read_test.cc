// What the real reader of NVML makes of odd answers; of usual ones nvml_library_test.cc has more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/files/test_temporary_directory.h"
#include "probes/nvml/nvml_library.h"

namespace galen::probes {
namespace {

class NvmlReadTest : public ::testing::Test {
 protected:
  NvmlReadTest() { ::setenv("GALEN_NVML_ANSWERS", path_.c_str(), 1); }
  ~NvmlReadTest() override { ::unsetenv("GALEN_NVML_ANSWERS"); }

  std::vector<Sign> ReadAll(const std::string& lines) {
    // Another file, which is seen to be another however fast one follows the other.
    std::ofstream(path_ + ".new") << "gpus 1\n0 uuid GPU-1\n0 bus 75\n" << lines;
    std::filesystem::rename(path_ + ".new", path_);
    auto library = NvmlLibrary::Open(GALEN_SCRIPTED_NVML, {});
    EXPECT_TRUE(library.ok()) << library.status().message();
    return (*library)->Read((*library)->Gpus()->at(0), NvmlDepth::kPoll);
  }
  // The first counter of a GPU whose links are up.
  Sign Read(const std::string& lines) { return ReadAll(kLinksUp + lines).at(1); }

  const std::string kLinksUp = "0 links 18\n0 links-up 18\n";
  TemporaryDirectory directory_;
  const std::string path_ = directory_.Path("answers");
};

// Two numbers are packed into one that is whole, which a library may give as a double.
TEST_F(NvmlReadTest, AnErrorRateThatIsNoWholeNumberIsNotKnown) {
  EXPECT_EQ(ValueText(Read("0 link-1-field-220 double 524\n")), "2e-12");
  for (const std::string number : {"nan", "inf", "-1", "18446744073709551616"}) {
    const Sign rate = Read("0 link-1-field-220 double " + number + "\n");
    EXPECT_EQ(rate.name, "nvlink-bit-error-rate");
    EXPECT_EQ(rate.error, "link 1 gives no error rate") << number;
  }
}

// A link that is down has no counters; what the others count is another sum.
TEST_F(NvmlReadTest, ASumOfLinksSaysWhichTheyAre) {
  EXPECT_EQ(Read("0 link-0-replays 1\n0 link-3-replays 5\n").parts, "0 3");
  EXPECT_EQ(Read("0 link-0-replays 1\n").parts, "0");
  EXPECT_EQ(Read("0 link-2-crc-flits 0\n0 link-2-crc-data 1\n").parts, "2");
  EXPECT_EQ(Read("0 link-0-field-208 3\n0 link-7-field-208 4\n").parts, "0 7");
}

TEST_F(NvmlReadTest, WhereALinkHasTheOldCounterItsFieldDoesNotCountBesides) {
  const auto signs = ReadAll(kLinksUp + "0 link-0-recoveries 2\n0 link-0-field-213 2\n");
  EXPECT_EQ(signs.size(), 2u);
  EXPECT_EQ(signs.back().name, "nvlink-recoveries");
}

// Two hundred calls a look, of which none would bring anything.
TEST_F(NvmlReadTest, AGpuWithoutLinksIsNotAskedForTheirCounters) {
  const std::string counters = "0 power 1000\n0 link-0-replays 1\n0 link-0-field-208 3\n";
  EXPECT_EQ(ReadAll(counters).size(), 1u);
  EXPECT_EQ(ReadAll(kLinksUp + "0 link-2 result 999\n" + counters).size(), 4u)
      << "one whose state is not known may have them";
}

}  // namespace
}  // namespace galen::probes
