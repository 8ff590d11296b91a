// The real reader of NVML against a library of our own that answers from a table, and what it and
// the fake both promise.
#include "probes/nvml/nvml_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/files/test_temporary_directory.h"
#include "probes/nvml/fake_nvml.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kOneGpu =
    "driver 570.124.06\ngpus 1\n0 uuid GPU-1\n0 name H100\n0 serial 165\n0 bus 75\n0 minor 3\n"
    "0 memory 85899345920\n";

class NvmlLibraryTest : public ::testing::Test {
 protected:
  NvmlLibraryTest() { ::setenv("GALEN_NVML_ANSWERS", path_.c_str(), 1); }
  ~NvmlLibraryTest() override { ::unsetenv("GALEN_NVML_ANSWERS"); }

  void Answer(const std::string& lines) { std::ofstream(path_) << kOneGpu << lines; }
  std::unique_ptr<NvmlLibrary> Open() {
    auto library = NvmlLibrary::Open(GALEN_SCRIPTED_NVML, [this] { return module_; });
    EXPECT_TRUE(library.ok()) << library.status().message();
    return std::move(*library);
  }
  // "power 300", "power !no permission"
  std::vector<std::string> Read(const std::string& lines, NvmlDepth depth = NvmlDepth::kPoll) {
    Answer(lines);
    const auto library = Open();
    std::vector<std::string> texts;
    for (const Sign& sign : library->Read(library->Gpus()->at(0), depth)) {
      texts.push_back(sign.name + " " + (sign.error.empty() ? ValueText(sign) : "!" + sign.error) +
                      (sign.expected ? " of " + NumberText(*sign.expected) : ""));
    }
    return texts;
  }

  // The same with eighteen links up, without that they are.
  std::vector<std::string> ReadLinks(const std::string& lines) {
    std::vector<std::string> texts = Read(kLinksUp + lines);
    EXPECT_EQ(texts.at(0), "nvlinks-up 18");
    texts.erase(texts.begin());
    return texts;
  }
  const std::string kLinksUp = "0 links 18\n0 links-up 18\n";
  NvmlModule module_;  // what the kernel module shows without NVML
  TemporaryDirectory directory_;
  const std::string path_ = directory_.Path("answers");
};

TEST_F(NvmlLibraryTest, FindsTheGpusWithWhatStaysOfThem) {
  Answer("");
  const auto library = Open();
  EXPECT_EQ(*library->DriverVersion(), "570.124.06");
  const std::vector<NvmlGpu> gpus = *library->Gpus();
  ASSERT_THAT(gpus, SizeIs(1));
  EXPECT_EQ(gpus[0].uuid, "GPU-1");
  EXPECT_EQ(gpus[0].model, "H100");
  EXPECT_EQ(gpus[0].serial, "165");
  EXPECT_EQ(gpus[0].pci_address, "0000:4b:00.0");
  EXPECT_EQ(gpus[0].minor, 3);
  EXPECT_EQ(gpus[0].memory, 85899345920u);
  EXPECT_FALSE(gpus[0].is_partitioned);
}

TEST_F(NvmlLibraryTest, WhatAGpuDoesNotSupportIsLeftOut) {
  EXPECT_THAT(Read("0 power 300000\n", NvmlDepth::kAll), ElementsAre("power 300"));
}

TEST_F(NvmlLibraryTest, AGpuThatSupportsNothingIsNotKnownToBeWell) {
  EXPECT_THAT(Read("", NvmlDepth::kAll),
              ElementsAre("nvml !it supports nothing of what is read of a GPU"));
}

TEST_F(NvmlLibraryTest, HeatIsHeldAgainstTheGpusOwnLimits) {
  EXPECT_THAT(Read("0 temperature 60\n0 slowdown-at 87\n0 shutdown-at 92\n"),
              ElementsAre("temperature-margin 27", "shutdown-margin 32"));
  EXPECT_THAT(Read("0 temperature 60\n"), ElementsAre("temperature 60"));
  EXPECT_THAT(Read("0 temperature 90\n0 slowdown-at 87\n"), ElementsAre("temperature-margin -3"));
}

TEST_F(NvmlLibraryTest, ClocksAreHeldDownByCause) {
  EXPECT_THAT(Read("0 clock-reasons 96\n"),
              ElementsAre("thermal-slowdown 1", "software-slowdown 1", "power-brake 0"));
  EXPECT_THAT(Read("0 clock-reasons 132\n"),
              ElementsAre("thermal-slowdown 0", "software-slowdown 0", "power-brake 1"));
}

TEST_F(NvmlLibraryTest, MemoryErrorsAndWhatWaitsForAReset) {
  EXPECT_THAT(Read("0 uncorrected 2\n0 corrected 5\n0 remap-pending 1\n0 remap-failed 0\n"
                   "0 retirement-pending 1\n0 memory-temperature 70\n0 recovery-action 1\n"),
              ElementsAre("ecc-uncorrectable 2", "ecc-corrected 5", "row-remap-pending 1",
                          "row-remap-failed 0", "page-retirement-pending 1",
                          "memory-temperature 70", "recovery-action 1"));
  EXPECT_THAT(Read("0 memory-temperature 0\n"), IsEmpty()) << "a GPU without such a sensor";
}

TEST_F(NvmlLibraryTest, LinksAgainstWhatTheyCanBe) {
  EXPECT_THAT(Read("0 width 8\n0 width-most 16\n0 generation 4\n0 generation-most 5\n0 replays 7\n"
                   "0 links 18\n0 links-up 17\n0 fabric 2\n"),
              ElementsAre("pcie-width 8 of 16", "pcie-speed 16 of 32", "pcie-replays 7",
                          "nvlinks-up 17", "fabric-ready 0"));
  EXPECT_THAT(Read("0 fabric 3\n"), ElementsAre("fabric-ready 1"));
  EXPECT_THAT(Read("0 fabric 0\n"), IsEmpty()) << "a machine without NVSwitch";
}

// NVML has fields for NVLink 5 where older links have counters; 524 is 2e-12, 4095 no error at all.
TEST_F(NvmlLibraryTest, FieldsOfNvlink5AreAddedUpAndOfErrorRatesTheWorstCounts) {
  const std::string lines =
      "0 link-0-field-208 3\n0 link-7-field-208 4\n0 link-7-field-213 1\n0 link-1-field-214 0\n"
      "0 link-0-field-220 4095\n0 link-9-field-220 524\n0 link-9-field-221 70000\n";
  EXPECT_THAT(
      ReadLinks(lines),
      ElementsAre("nvlink-receive-errors 7", "nvlink-recoveries 1", "nvlink-recoveries-failed 0",
                  "nvlink-bit-error-rate 2e-12", "nvlink-symbol-errors 70000"));
  const auto library = Open();
  const std::vector<Sign> signs = library->Read(library->Gpus()->at(0), NvmlDepth::kPoll);
  EXPECT_EQ(signs.at(1).raw, "NVML: nvlink-receive-errors 7, 4 of them on link 7");
  EXPECT_THAT(signs.at(4).raw, HasSubstr(", of link 9"));
  EXPECT_THAT(ReadLinks("0 link-0-field-220 4095\n"), ElementsAre("nvlink-bit-error-rate 0"));
}

TEST_F(NvmlLibraryTest, AFieldOfALinkThatCannotBeReadIsAnErrorAndTheOthersStay) {
  EXPECT_THAT(
      ReadLinks("0 link-0-field-214 2\n0 link-3-field-214 result 999\n0 link-0-field-208 1\n"),
      ElementsAre("nvlink-receive-errors 1", "nvlink-recoveries-failed !NVML error 999"));
}

TEST_F(NvmlLibraryTest, ErrorsOfLinksAreAddedUpAndTheWorstLinkIsNamed) {
  const std::string lines =
      "0 link-0-replays 1\n0 link-3-replays 5\n0 link-3-recoveries 0\n0 link-2-crc-flits 7\n"
      "0 link-2-crc-data 1\n0 link-17-crc-data 2\n";
  EXPECT_THAT(ReadLinks(lines),
              ElementsAre("nvlink-replays 6", "nvlink-recoveries 0", "nvlink-crc-errors 10"));
  const auto library = Open();
  const std::vector<Sign> signs = library->Read(library->Gpus()->at(0), NvmlDepth::kPoll);
  EXPECT_EQ(signs.at(3).raw, "NVML: nvlink-crc-errors 10, 8 of them on link 2");
  EXPECT_THAT(ReadLinks("0 link-0-replays 1\n0 link-3-replays result 999\n"),
              ElementsAre("nvlink-replays !NVML error 999"));
  Answer("0 links 4\n0 links-up 2\n");
  EXPECT_EQ(Open()->Read(library->Gpus()->at(0), NvmlDepth::kPoll).at(0).raw,
            "NVML: nvlinks-up 2 links, not up: 2 3");
}

TEST_F(NvmlLibraryTest, TheBoardKeepsWhatWasNotCorrectedOverResets) {
  EXPECT_THAT(Read("0 uncorrected 0\n0 uncorrected-ever 9\n"),
              ElementsAre("ecc-uncorrectable 0", "ecc-uncorrectable-ever 9"));
}

TEST_F(NvmlLibraryTest, TheInforomIsReadOnlyWhenAskedFor) {
  EXPECT_THAT(Read("0 power 1000\n0 inforom result 14\n"), ElementsAre("power 1"));
  EXPECT_THAT(Read("0 inforom result 14\n", NvmlDepth::kAll), ElementsAre("inforom-broken 1"));
  EXPECT_THAT(Read("0 inforom 1\n", NvmlDepth::kAll), ElementsAre("inforom-broken 0"));
}

TEST_F(NvmlLibraryTest, ACallThatFailsSaysSoAndTheOthersCount) {
  EXPECT_THAT(Read("0 power result 999\n0 utilization 90\n"),
              ElementsAre("power !NVML error 999", "utilization 90"));
}

TEST_F(NvmlLibraryTest, WhatCouldBeWorseThanShownIsNotKnown) {
  EXPECT_THAT(Read("0 links 18\n0 links-up 18\n0 link-2 result 999\n"),
              ElementsAre("nvlinks-up !NVML error 999"));
  EXPECT_THAT(Read("0 temperature 60\n0 slowdown-at result 999\n"),
              ElementsAre("temperature-margin !NVML error 999"));
  EXPECT_THAT(Read("0 memory-temperature result 10\n"),
              ElementsAre("memory-temperature !timed out"));
  EXPECT_THAT(Read("0 width 8\n0 width-most result 999\n"),
              ElementsAre("pcie-width !NVML error 999"));
}

TEST_F(NvmlLibraryTest, AGpuThatCannotBeHadKeepsItsPlaceWithItsError) {
  std::ofstream(path_) << "gpus 3\n0 handle 15\n1 uuid GPU-2\n1 bus 76\n2 bus 77\n";
  const auto library = Open();
  const std::vector<NvmlGpu> gpus = *library->Gpus();
  ASSERT_THAT(gpus, SizeIs(3));
  EXPECT_EQ(gpus[0].error, "the GPU is lost");
  EXPECT_EQ(gpus[1].uuid, "GPU-2");
  EXPECT_EQ(gpus[2].error, "it has no UUID");
}

TEST_F(NvmlLibraryTest, AWaitThatFailedIsFollowedByOneOfTheGpusThatAnswer) {
  Answer("wait 15\n");
  const auto library = Open();
  ASSERT_TRUE(library->Gpus().ok());
  EXPECT_EQ(library->WaitForXids(0s).status().code(), Code::kUnavailable);
  Answer("");
  EXPECT_THAT(library->WaitForXids(0s)->xids, IsEmpty());
}

TEST_F(NvmlLibraryTest, ALostGpuShowsNothingElse) {
  EXPECT_THAT(Read("0 power 300000\n0 utilization result 15\n"), ElementsAre("gpu-lost 1"));
}

TEST_F(NvmlLibraryTest, AGpuThatNeedsAResetAsksForIt) {
  EXPECT_THAT(Read("0 utilization result 16\n0 recovery-action 0\n"),
              ElementsAre("utilization !the GPU needs a reset", "recovery-action 1"));
}

TEST_F(NvmlLibraryTest, XidsAreReportedOnceWithTheirGpu) {
  Answer("");
  const auto library = Open();
  ASSERT_TRUE(library->Gpus().ok());
  EXPECT_THAT(library->WaitForXids(0s)->xids, IsEmpty());
  Answer("xid 0 79\n");
  EXPECT_THAT(library->WaitForXids(1s)->xids, ElementsAre(NvmlXid{"GPU-1", 79}));
  EXPECT_THAT(library->WaitForXids(0s)->xids, IsEmpty());
}

TEST_F(NvmlLibraryTest, ALibraryWithoutEventsIsNotAskedAgain) {
  Answer("events none\n");
  const auto library = Open();
  ASSERT_TRUE(library->Gpus().ok());
  EXPECT_EQ(library->WaitForXids(0s).status().code(), Code::kUnimplemented);
}

TEST_F(NvmlLibraryTest, AModuleOfAnotherVersionIsShownWithItsGpusUntilBothMatch) {
  module_ = {.version = "570.133.20",
             .gpus = {{.uuid = "GPU-1", .pci_address = "0000:4b:00.0", .minor = 3}}};
  Answer("init 18\n");
  const auto library = Open();
  EXPECT_EQ(*library->DriverVersion(), "570.133.20");
  const std::vector<NvmlGpu> gpus = *library->Gpus();
  EXPECT_EQ(gpus, module_.gpus);
  const std::vector<Sign> signs = library->Read(gpus[0], NvmlDepth::kAll);
  ASSERT_THAT(signs, SizeIs(1));
  EXPECT_EQ(signs[0].name, "kernel-module");
  EXPECT_EQ(ValueText(signs[0]), "570.133.20");
  EXPECT_EQ(signs[0].expected_text, "of unknown version") << "the scripted file has no version";
  EXPECT_EQ(signs[0].raw, "NVML: driver/library version mismatch");
  EXPECT_EQ(library->WaitForXids(0s).status().code(), Code::kUnavailable);

  Answer("0 power 300000\n");
  EXPECT_EQ(library->Read(gpus[0], NvmlDepth::kPoll).at(0).name, "power");
  EXPECT_THAT(library->WaitForXids(0s)->xids, IsEmpty()) << "asked of the GPUs that answer now";
}

TEST_F(NvmlLibraryTest, AGpuOfTheModuleThatNvmlDoesNotKnowIsNotReadWhateverTheReason) {
  const NvmlGpu gpu{.uuid = "GPU-1", .pci_address = "0000:4b:00.0"};
  const auto read = [&](const char* lines) {
    Answer(lines);
    return Open()->Read(gpu, NvmlDepth::kAll);
  };
  // A function that is missing and an argument that is refused are no values left out here: there
  // is no value at all.
  for (const auto& [result, error] : std::map<std::string, std::string>{
           {"2", "invalid argument"},
           {"3", "not supported"},
           {"6", "not found"},
           {"13", "this version of the library has no such function"}}) {
    const std::vector<Sign> signs = read(("0 power 300000\n0 handle " + result + "\n").c_str());
    ASSERT_THAT(signs, SizeIs(1)) << error;
    EXPECT_EQ(signs[0].name, "nvml");
    EXPECT_EQ(signs[0].error, error);
  }
  EXPECT_EQ(read("0 handle 15\n").at(0).name, "gpu-lost");
  EXPECT_EQ(read("0 handle 18\n").at(0).name, "kernel-module");
}

TEST_F(NvmlLibraryTest, AModuleThatWasExchangedBelowTheLibraryIsAllThatAGpuShows) {
  module_ = {.version = "570.133.20"};
  EXPECT_THAT(Read("0 temperature 41\n0 power result 18\n"),
              ElementsAre("kernel-module 570.133.20"));
}

TEST_F(NvmlLibraryTest, WhatCannotBeLoadedSaysWhatToDo) {
  EXPECT_THAT(NvmlLibrary::Open("/nowhere/libnvidia-ml.so.1", {}).status().message(),
              HasSubstr("is NVIDIA's driver installed, and --nvml right?"));
  EXPECT_THAT(NvmlLibrary::Open("libz.so.1", {}).status().message(), HasSubstr("is not NVML"));
  Answer("init 9\n");
  const Status refused =
      NvmlLibrary::Open(GALEN_SCRIPTED_NVML, [this] { return module_; }).status();
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_THAT(refused.message(), HasSubstr("NVIDIA's kernel module is not loaded"));
}

// What every Nvml promises: one suite, run on the scripted library and on the fake.

struct ScriptedGpus {
  ScriptedGpus() { ::setenv("GALEN_NVML_ANSWERS", path.c_str(), 1); }
  ~ScriptedGpus() { ::unsetenv("GALEN_NVML_ANSWERS"); }
  // The second GPU draws power and has a broken InfoROM, or is lost.
  void Show(bool lost, const std::string& more = "") {
    // Another file, which is seen to be another however fast one follows the other.
    std::ofstream(path + ".new") << "driver 570.124.06\ngpus 2\n0 uuid GPU-1\n0 bus 75\n"
                                 << "1 uuid GPU-2\n1 bus 76\n1 inforom result 14\n"
                                 << (lost ? "1 power result 15\n" : "1 power 300000\n") << more;
    std::filesystem::rename(path + ".new", path);
  }
  // Adds an event to the table; each of its events is reported once.
  void Xid(std::uint64_t number) {
    events += "xid 1 " + std::to_string(number) + "\n";
    Show(false, events);
  }
  void FailWaits() { Show(false, "wait 15\n"); }
  Nvml& nvml() {
    if (!library) library = std::move(*NvmlLibrary::Open(GALEN_SCRIPTED_NVML, {}));
    return *library;
  }

  TemporaryDirectory directory;
  const std::string path = directory.Path("answers");
  std::string events;
  std::unique_ptr<NvmlLibrary> library;
};

struct FakeGpus {
  void Show(bool lost) {
    fake.gpus = {{.uuid = "GPU-1", .pci_address = "0000:4b:00.0"},
                 {.uuid = "GPU-2", .pci_address = "0000:4c:00.0"}};
    fake.shows["GPU-2"] = {{.name = "power", .value = 300.0},
                           {.name = "inforom-broken", .value = 1.0}};
    if (lost) fake.shows["GPU-2"].push_back({.name = "gpu-lost", .value = 1.0});
    fake.fails = OkStatus();
  }
  void Xid(std::uint64_t number) {
    fake.fails = OkStatus();
    fake.xids = std::vector<NvmlXid>{{"GPU-2", number}};
  }
  void FailWaits() { fake.fails = Unavailable("the GPU is lost"); }
  Nvml& nvml() { return fake; }

  FakeNvml fake;
};

template <typename Gpus>
class NvmlContract : public ::testing::Test {
 protected:
  NvmlContract() { gpus_.Show(false); }
  // What the second GPU shows.
  std::vector<std::string> Read(NvmlDepth depth) {
    Nvml& nvml = gpus_.nvml();
    std::vector<std::string> names;
    for (const Sign& sign : nvml.Read(nvml.Gpus()->at(1), depth)) {
      names.push_back(sign.name);
      EXPECT_EQ(sign.device, "") << "the caller knows it";
      EXPECT_EQ(sign.time, WallTime{}) << "likewise";
    }
    return names;
  }

  Gpus gpus_;
};

using GpuKinds = ::testing::Types<ScriptedGpus, FakeGpus>;
TYPED_TEST_SUITE(NvmlContract, GpuKinds);

TYPED_TEST(NvmlContract, NamesTheGpusInOrder) {
  EXPECT_EQ(*this->gpus_.nvml().DriverVersion(), "570.124.06");
  const std::vector<NvmlGpu> gpus = *this->gpus_.nvml().Gpus();
  ASSERT_THAT(gpus, SizeIs(2));
  EXPECT_EQ(gpus[0].uuid, "GPU-1");
  EXPECT_EQ(gpus[1].uuid, "GPU-2");
  EXPECT_EQ(gpus[1].pci_address, "0000:4c:00.0");
  EXPECT_EQ(gpus[1].memory, std::nullopt) << "neither knows it";
}

TYPED_TEST(NvmlContract, APollLeavesFlashMemoryAlone) {
  EXPECT_THAT(this->Read(NvmlDepth::kPoll), ElementsAre("power"));
  EXPECT_THAT(this->Read(NvmlDepth::kAll), ElementsAre("power", "inforom-broken"));
}

TYPED_TEST(NvmlContract, ALostGpuShowsThatAlone) {
  this->gpus_.Show(true);
  EXPECT_THAT(this->Read(NvmlDepth::kAll), ElementsAre("gpu-lost"));
}

TYPED_TEST(NvmlContract, EachXidComesOnceAndNoneIsNoError) {
  Nvml& nvml = this->gpus_.nvml();
  ASSERT_TRUE(nvml.Gpus().ok());
  EXPECT_THAT(nvml.WaitForXids(0s)->xids, IsEmpty());
  this->gpus_.Xid(79);
  EXPECT_THAT(nvml.WaitForXids(1s)->xids, ElementsAre(NvmlXid{"GPU-2", 79}));
  EXPECT_THAT(nvml.WaitForXids(0s)->xids, IsEmpty());
}

TYPED_TEST(NvmlContract, AfterAWaitThatFailedXidsComeAgain) {
  Nvml& nvml = this->gpus_.nvml();
  ASSERT_TRUE(nvml.Gpus().ok());
  this->gpus_.FailWaits();
  EXPECT_FALSE(nvml.WaitForXids(0s).ok());
  this->gpus_.Xid(48);
  EXPECT_THAT(nvml.WaitForXids(1s)->xids, ElementsAre(NvmlXid{"GPU-2", 48}));
}

}  // namespace
}  // namespace galen::probes
