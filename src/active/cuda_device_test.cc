// The kernels' PTX is run by the scripted driver (tests/e2e/cuda), and says what the processor
// says.
#include "active/cuda_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "active/cpu_device.h"
#include "active/device_check.h"
#include "active/link_check.h"
#include "active/matrix_check.h"
#include "active/test_cuda_answers.h"
#include "base/files/posix_file_system.h"

namespace galen::active {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CudaDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    answers_.Write("gpus 3\n");
    auto driver = CudaDriver::Open(GALEN_SCRIPTED_CUDA, watch_);
    ASSERT_TRUE(driver.ok()) << driver.status().message();
    driver_ = std::move(*driver);
    const auto gpus = driver_->Gpus();
    ASSERT_TRUE(gpus.ok());
    for (std::size_t i = 0; i < 3; ++i) {
      auto device = CudaDevice::Open(*driver_, gpus->at(i));
      ASSERT_TRUE(device.ok()) << device.status().message();
      gpu_[i] = std::move(*device);
    }
  }
  // One round.
  CheckOutcome Check() {
    return RunDeviceCheck(*gpu_[0], {.seed = 1, .memory_bytes_max = 16384, .rounds_max = 1},
                          watch_);
  }

  TestCudaAnswers answers_;
  CheckWatch watch_{{.now = [] { return Time{}; }}};
  std::unique_ptr<CudaDriver> driver_;
  std::unique_ptr<CudaDevice> gpu_[3];
  PosixFileSystem files_;
  CpuDevice cpu_{files_, {}};
};

TEST_F(CudaDeviceTest, TheKernelsFillWithTheWordsOfEachPattern) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  const Words there{.begin = *gpu_[0]->Allocate(8 * 700), .count = 700, .first = 123456789012};
  for (const Pattern& pattern : PatternsOfRound(seed, static_cast<int>(seed % 8))) {
    ASSERT_TRUE(gpu_[0]->Fill(there, pattern).ok());
    std::vector<std::uint64_t> words(700);
    ASSERT_TRUE(gpu_[0]->Download(there.begin, std::as_writable_bytes(std::span(words))).ok());
    for (std::size_t i = 0; i < words.size(); ++i) {
      ASSERT_EQ(words[i], PatternWord(pattern, there.first + i)) << pattern.name << " " << i;
    }
    EXPECT_EQ(*gpu_[0]->Compare(there, pattern), Mismatch{}) << pattern.name;
  }
}

TEST_F(CudaDeviceTest, TheKernelsCompareAsTheProcessorDoes) {
  const Pattern pattern{.kind = PatternKind::kRandom, .argument = 11};
  std::vector<std::uint64_t> words(1000);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = PatternWord(pattern, 50 + i);
  words[999] ^= 0x10;
  words[400] ^= 0x8000000000000000;
  words[401] = 0;
  const auto compare = [&](ComputeDevice& device) {
    const Words place{.begin = *device.Allocate(8000), .count = 1000, .first = 50};
    EXPECT_TRUE(device.Upload(std::as_bytes(std::span(words)), place.begin).ok());
    return *device.Compare(place, pattern);
  };
  const Mismatch found = compare(*gpu_[0]);
  EXPECT_EQ(found, compare(cpu_));
  EXPECT_EQ(found.count, 3u);
  EXPECT_EQ(found.first, 450u);
}

TEST_F(CudaDeviceTest, TheKernelsMultiplyToTheKnownChecksums) {
  const auto check = MatrixCheck::Take(*gpu_[1], watch_);
  ASSERT_TRUE(check.ok()) << check.status().message();
  for (const MatrixKind kind : {MatrixKind::kIntegers, MatrixKind::kFloats}) {
    EXPECT_EQ(*MatrixCheck(*check).Run(kind, watch_), std::nullopt);
  }
}

TEST_F(CudaDeviceTest, ACheckOfASoundGpuPasses) {
  const CheckOutcome outcome = Check();
  EXPECT_EQ(outcome.verdict, CheckVerdict::kPassed) << outcome.message;
}

TEST_F(CudaDeviceTest, AFlippedBitOfItsMemoryIsFound) {
  // Behind the kernels' answer and six matrices, a page and 256 KiB each.
  answers_.Write(fmt::format("gpus 3\n0 stuck {} 17\n", 4096 + 6 * 256 * 1024 + 4096));
  const CheckOutcome outcome = Check();
  EXPECT_EQ(outcome.code, "MemoryMismatch") << outcome.message;
  EXPECT_THAT(outcome.message, HasSubstr("1 of 2048 words, the first at 0x"));
  EXPECT_THAT(outcome.message, HasSubstr("with bit 17 wrong"));
}

TEST_F(CudaDeviceTest, AWrongSumIsFound) {
  for (const char* kernel : {"active_multiply_integers", "active_multiply_floats"}) {
    answers_.Write(fmt::format("gpus 3\n0 miscomputes {}\n", kernel));
    const CheckOutcome outcome = Check();
    EXPECT_EQ(outcome.code, "MatrixMismatch") << outcome.message;
    EXPECT_THAT(outcome.message, HasSubstr("1 of 65536 elements, the first in row 0, column 99"));
  }
}

TEST_F(CudaDeviceTest, WhatTheGpuSaysOfItsMemoryFailsItAndWhatElseItSaysDoesNot) {
  answers_.Write("gpus 3\nfails active_compare 214\n");
  EXPECT_EQ(Check().verdict, CheckVerdict::kFailed);
  answers_.Write("gpus 3\nfails active_compare 700\n");
  const CheckOutcome outcome = Check();
  EXPECT_EQ(outcome.verdict, CheckVerdict::kUnknown);
  EXPECT_EQ(outcome.message, "cuLaunchKernel: CUDA_ERROR_ILLEGAL_ADDRESS");
}

TEST_F(CudaDeviceTest, TheGpuWhoseLinkFlipsBitsIsNamed) {
  answers_.Write("gpus 3\n2 link-flips 1\n");
  const LinkOutcome link = RunLinkCheck({{.name = "gpu-0", .device = gpu_[0].get()},
                                         {.name = "gpu-1", .device = gpu_[1].get()},
                                         {.name = "gpu-2", .device = gpu_[2].get()}},
                                        4096, {.seed = 1}, watch_);
  EXPECT_EQ(link.outcome.verdict, CheckVerdict::kFailed);
  EXPECT_THAT(link.bad, ElementsAre(2)) << link.outcome.message;
}

}  // namespace
}  // namespace galen::active
