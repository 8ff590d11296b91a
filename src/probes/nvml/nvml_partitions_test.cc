// MIG instances, as the scripted library shows them.
#include <fmt/format.h>
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
using ::testing::SizeIs;

// A GPU whose instances have the places 0 and 2: what was at 1 is destroyed.
constexpr const char* kCutGpu =
    "driver 570.124.06\ngpus 1\n0 uuid GPU-1\n0 name H100\n0 bus 75\n0 mig 1\n0 mig-most 7\n"
    "0 mig-0-uuid MIG-a\n0 mig-0-name NVIDIA H100 MIG 3g.40gb\n0 mig-0-gi 1\n0 mig-0-ci 0\n"
    "0 mig-0-memory 40448\n0 mig-0-multiprocessors 60\n"
    "0 mig-2-uuid MIG-b\n0 mig-2-gi 9\n0 mig-2-ci 1\n";

class NvmlPartitionsTest : public ::testing::Test {
 protected:
  NvmlPartitionsTest() { ::setenv("GALEN_NVML_ANSWERS", path_.c_str(), 1); }
  ~NvmlPartitionsTest() override { ::unsetenv("GALEN_NVML_ANSWERS"); }

  void Answer(const std::string& lines) {
    std::ofstream(path_ + ".new") << lines << kCutGpu;
    std::filesystem::rename(path_ + ".new", path_);
  }
  std::unique_ptr<NvmlLibrary> OpenCut(const std::string& lines = "") {
    Answer(lines);
    auto library = NvmlLibrary::Open(GALEN_SCRIPTED_NVML, [] { return NvmlModule(); });
    EXPECT_TRUE(library.ok()) << library.status().message();
    return std::move(*library);
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.Path("answers");
};

TEST_F(NvmlPartitionsTest, TheInstancesOfAGpuAreThoseThereAreWithWhatTheyHave) {
  const auto library = OpenCut();
  const NvmlGpu gpu = library->Gpus()->at(0);
  EXPECT_TRUE(gpu.is_partitioned);
  const NvmlPartition first{.uuid = "MIG-a",
                            .profile = "3g.40gb",
                            .gpu_instance = 1,
                            .memory = std::uint64_t{40448} << 20,
                            .multiprocessors = 60};
  const NvmlPartition second{.uuid = "MIG-b", .gpu_instance = 9, .compute_instance = 1};
  EXPECT_THAT(gpu.partitions, ElementsAre(first, second));
}

TEST_F(NvmlPartitionsTest, ThoseThatAreMadeOrDestroyedMeanwhileAreSeenByTheNextLook) {
  const auto library = OpenCut();
  const NvmlGpu gpu = library->Gpus()->at(0);
  Answer("0 mig-0-uuid result 6\n");
  EXPECT_THAT(*library->Partitions(gpu), SizeIs(1));
}

TEST_F(NvmlPartitionsTest, AGpuThatIsLostDoesNotSayThatItHasNone) {
  const auto library = OpenCut();
  const NvmlGpu gpu = library->Gpus()->at(0);
  Answer("0 result 15\n");
  EXPECT_EQ(library->Partitions(gpu), std::nullopt);
}

// It would be gone from the list, and the Pod that has it would lose what is wrong with it.
TEST_F(NvmlPartitionsTest, AnInstanceThatCannotBeReadNowIsNotTakenForDestroyed) {
  const auto library = OpenCut();
  const NvmlGpu gpu = library->Gpus()->at(0);
  for (const char* part : {"uuid", "gi", "ci", "name", "memory"}) {
    // Lost, in need of a reset, unknown.
    for (const int result : {15, 16, 999}) {
      Answer(fmt::format("0 mig-0-{} result {}\n", part, result));
      EXPECT_EQ(library->Partitions(gpu), std::nullopt) << part << ' ' << result;
    }
  }
  for (const char* part : {"uuid", "gi", "ci", "name", "memory"}) {
    Answer(fmt::format("0 mig-0-{} result 6\n", part));
    EXPECT_THAT(*library->Partitions(gpu), SizeIs(1)) << part << ": destroyed meanwhile";
  }
}

TEST_F(NvmlPartitionsTest, AGpuThatIsNotCutHasNone) {
  const auto library = OpenCut("0 mig 0\n");
  EXPECT_FALSE(library->Gpus()->at(0).is_partitioned);
  EXPECT_THAT(library->Gpus()->at(0).partitions, IsEmpty());
}

TEST_F(NvmlPartitionsTest, AGpuThatTheModuleAloneHasShownSaysSoOnceTheVersionsMatch) {
  Answer("init 18\n");
  const NvmlGpu shown{.uuid = "GPU-1", .pci_address = "0000:4b:00.0", .is_mode_unknown = true};
  const auto library =
      *NvmlLibrary::Open(GALEN_SCRIPTED_NVML, [&] { return NvmlModule{.gpus = {shown}}; });
  const NvmlGpu gpu = library->Gpus()->at(0);
  EXPECT_TRUE(gpu.is_mode_unknown);
  EXPECT_EQ(library->IsPartitioned(gpu), std::nullopt);
  EXPECT_EQ(library->Partitions(gpu), std::nullopt);
  Answer("");
  EXPECT_EQ(library->IsPartitioned(gpu), true);
  EXPECT_THAT(*library->Partitions(gpu), SizeIs(2));
  Answer("0 mig 0\n");
  EXPECT_EQ(library->IsPartitioned(gpu), false);
}

TEST_F(NvmlPartitionsTest, AGpuThatCannotSayWhetherItIsCutIsNotTakenForWhole) {
  const auto library = OpenCut("0 mig result 999\n");
  EXPECT_TRUE(library->Gpus()->at(0).is_mode_unknown);
  Answer("0 mig result 3\n");
  EXPECT_FALSE(library->Gpus()->at(0).is_mode_unknown) << "from before there was MIG";
}

TEST_F(NvmlPartitionsTest, AnXidNamesTheInstanceThatItIsAbout) {
  const auto library = OpenCut("xid 0 13 9 1\nxid 0 31 1\nxid 0 79\n");
  EXPECT_THAT(*library->Gpus(), SizeIs(1));
  EXPECT_THAT(library->WaitForXids(1s)->xids, ElementsAre(NvmlXid{"GPU-1", 13, "9/1"}));
  EXPECT_THAT(library->WaitForXids(1s)->xids, ElementsAre(NvmlXid{"GPU-1", 31, "1"}));
  EXPECT_THAT(library->WaitForXids(1s)->xids, ElementsAre(NvmlXid{"GPU-1", 79, ""}));
}

}  // namespace
}  // namespace galen::probes
