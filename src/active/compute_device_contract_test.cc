// What every ComputeDevice promises: one suite, run on this machine's processor, on the kernels of
// the scripted CUDA driver (tests/e2e/cuda) and on the device of tests while nothing of it is
// broken. A check trusts an answer without asking which of them gave it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <map>

#include "active/compute_device.h"
#include "active/cpu_device.h"
#include "active/cuda_device.h"
#include "active/test_cuda_answers.h"
#include "active/test_device.h"
#include "base/files/posix_file_system.h"

namespace galen::active {
namespace {

using ::testing::Each;

struct Processors {
  PosixFileSystem files;
  CpuDevice a{files, {}}, b{files, {}};
  ComputeDevice& first() { return a; }
  ComputeDevice& second() { return b; }
};

struct Gpus {
  Gpus() {
    answers.Write("gpus 2\n");
    driver = std::move(*CudaDriver::Open(GALEN_SCRIPTED_CUDA, watch));
    const auto found = driver->Gpus();
    a = std::move(*CudaDevice::Open(*driver, found->at(0)));
    b = std::move(*CudaDevice::Open(*driver, found->at(1)));
  }
  ComputeDevice& first() { return *a; }
  ComputeDevice& second() { return *b; }

  TestCudaAnswers answers;
  CheckWatch watch{{.now = [] { return Time{}; }}};
  std::unique_ptr<CudaDriver> driver;
  std::unique_ptr<CudaDevice> a, b;
};

struct DevicesOfTests {
  TestDevice a, b;
  ComputeDevice& first() { return a; }
  ComputeDevice& second() { return b; }
};

template <typename Machine>
class ComputeDeviceContract : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kCount = 700;  // no multiple of a block of threads

  // Room for kCount words and one on each side, all of them zero.
  Address Room(ComputeDevice& device) {
    const auto begin = device.Allocate(8 * (kCount + 2));
    EXPECT_TRUE(begin.ok()) << begin.status().message();
    const std::vector<std::uint64_t> zeros(kCount + 2);
    EXPECT_EQ(device.Upload(std::as_bytes(std::span(zeros)), *begin), OkStatus());
    return *begin;
  }
  std::vector<std::uint64_t> Read(ComputeDevice& device, Address begin, std::size_t count) {
    std::vector<std::uint64_t> words(count);
    EXPECT_EQ(device.Download(begin, std::as_writable_bytes(std::span(words))), OkStatus());
    return words;
  }
  void Write(ComputeDevice& device, Address at, std::uint64_t word) {
    EXPECT_EQ(device.Upload(std::as_bytes(std::span(&word, 1)), at), OkStatus());
  }
  ComputeDevice& device() { return machine_.first(); }

  Machine machine_;
  const Pattern random_{.name = "random", .kind = PatternKind::kRandom, .argument = 7};
};

using Machines = ::testing::Types<Processors, Gpus, DevicesOfTests>;
TYPED_TEST_SUITE(ComputeDeviceContract, Machines);

TYPED_TEST(ComputeDeviceContract, WhatIsUploadedIsThereWhereItWasPut) {
  ComputeDevice& device = this->device();
  const Address begin = this->Room(device);
  this->Write(device, begin + 8 * 3, 0x0123456789abcdef);
  const std::vector<std::uint64_t> words = this->Read(device, begin, 5);
  EXPECT_EQ(words, (std::vector<std::uint64_t>{0, 0, 0, 0x0123456789abcdef, 0}));
  EXPECT_EQ(this->Read(device, begin + 8 * 3, 1).at(0), 0x0123456789abcdef);
}

TYPED_TEST(ComputeDeviceContract, FillsItsWordsAndNoneBesideThem) {
  ComputeDevice& device = this->device();
  const Address begin = this->Room(device);
  const Words words{.begin = begin + 8, .count = this->kCount, .first = 1'000'000'000'007};
  for (const Pattern& pattern : PatternsOfRound(11, 3)) {
    ASSERT_EQ(device.Fill(words, pattern), OkStatus());
    const std::vector<std::uint64_t> seen = this->Read(device, begin, this->kCount + 2);
    ASSERT_EQ(seen.front(), 0u) << pattern.name;
    ASSERT_EQ(seen.back(), 0u) << pattern.name;
    for (std::uint64_t i = 0; i < words.count; ++i) {
      ASSERT_EQ(seen[i + 1], PatternWord(pattern, words.first + i)) << pattern.name << " " << i;
    }
  }
}

TYPED_TEST(ComputeDeviceContract, FindsNothingInWhatItFilled) {
  ComputeDevice& device = this->device();
  const Words words{.begin = this->Room(device), .count = this->kCount, .first = 42};
  for (const Pattern& pattern : PatternsOfRound(12, 0)) {
    ASSERT_EQ(device.Fill(words, pattern), OkStatus());
    EXPECT_EQ(*device.Compare(words, pattern), Mismatch{}) << pattern.name;
  }
}

TYPED_TEST(ComputeDeviceContract, CountsWrongWordsAndTellsTheFirstAndAllWrongBits) {
  ComputeDevice& device = this->device();
  const Words words{.begin = this->Room(device), .count = this->kCount, .first = 5'000};
  ASSERT_EQ(device.Fill(words, this->random_), OkStatus());
  for (const auto& [place, wrong] :
       std::map<std::uint64_t, std::uint64_t>{{17, 1}, {256, 1 << 17}, {699, 1ull << 63}}) {
    const std::uint64_t right = PatternWord(this->random_, words.first + place);
    this->Write(device, words.begin + 8 * place, right ^ wrong);
  }
  const Mismatch found = *device.Compare(words, this->random_);
  EXPECT_EQ(found.count, 3u);
  EXPECT_EQ(found.first, 5'017u);
  EXPECT_EQ(found.bits, (std::uint64_t{1} << 63) | (std::uint64_t{1} << 17) | 1);
}

TYPED_TEST(ComputeDeviceContract, TheFirstAndTheLastWordAreComparedToo) {
  ComputeDevice& device = this->device();
  const Words words{.begin = this->Room(device), .count = this->kCount, .first = 0};
  for (const std::uint64_t place : {std::uint64_t{0}, this->kCount - 1}) {
    ASSERT_EQ(device.Fill(words, this->random_), OkStatus());
    this->Write(device, words.begin + 8 * place, ~PatternWord(this->random_, place));
    EXPECT_EQ(*device.Compare(words, this->random_),
              (Mismatch{.count = 1, .first = place, .bits = ~std::uint64_t{0}}));
  }
}

TYPED_TEST(ComputeDeviceContract, WordsOfAnotherPlaceOrSeedAreWrong) {
  ComputeDevice& device = this->device();
  const Words words{.begin = this->Room(device), .count = this->kCount, .first = 0};
  ASSERT_EQ(device.Fill(words, this->random_), OkStatus());
  Words shifted = words;
  shifted.first = 1;
  EXPECT_EQ(device.Compare(shifted, this->random_)->count, this->kCount);
  Pattern other = this->random_;
  other.argument = 8;
  EXPECT_EQ(device.Compare(words, other)->count, this->kCount);
  Pattern inverse = this->random_;
  inverse.mask = ~std::uint64_t{0};
  EXPECT_EQ(*device.Compare(words, inverse),
            (Mismatch{.count = this->kCount, .first = 0, .bits = ~std::uint64_t{0}}));
}

TYPED_TEST(ComputeDeviceContract, CopiesFromAnotherAndFromItselfAndLeavesTheSourceAlone) {
  ComputeDevice& here = this->device();
  ComputeDevice& there = this->machine_.second();
  const Words source{.begin = this->Room(there), .count = this->kCount, .first = 9};
  ASSERT_EQ(there.Fill(source, this->random_), OkStatus());
  Words copy{.begin = this->Room(here), .count = this->kCount, .first = 9};
  ASSERT_EQ(here.CopyFrom(there, source.begin, copy.begin, 8 * this->kCount), OkStatus());
  EXPECT_EQ(*here.Compare(copy, this->random_), Mismatch{});
  EXPECT_EQ(*there.Compare(source, this->random_), Mismatch{});
  EXPECT_THAT(this->Read(here, copy.begin + 8 * this->kCount, 2), Each(0u)) << "and no more";
  const Words again{.begin = this->Room(here), .count = this->kCount, .first = 9};
  ASSERT_EQ(here.CopyFrom(here, copy.begin, again.begin, 8 * this->kCount), OkStatus());
  EXPECT_EQ(*here.Compare(again, this->random_), Mismatch{});
}

TYPED_TEST(ComputeDeviceContract, AChecksumTellsNumbersAndTheirPlaces) {
  ComputeDevice& device = this->device();
  std::vector<std::uint32_t> numbers(1'000);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<std::uint32_t>(MixBits(i));
    sum += MixBits((i + 1) * kGoldenStep + numbers[i]);
  }
  const Address begin = this->Room(device);
  const auto checksum = [&] {
    EXPECT_EQ(device.Upload(std::as_bytes(std::span(numbers)), begin), OkStatus());
    return *device.Checksum(begin, numbers.size());
  };
  EXPECT_EQ(checksum(), sum);
  std::swap(numbers[3], numbers[4]);
  EXPECT_NE(checksum(), sum);
  std::swap(numbers[3], numbers[4]);
  numbers.back() ^= 1;
  EXPECT_NE(checksum(), sum);
}

TYPED_TEST(ComputeDeviceContract, MultipliesNumbersOfBothKindsRowByColumn) {
  constexpr std::uint32_t kSize = 16;
  ComputeDevice& device = this->device();
  for (const MatrixKind kind : {MatrixKind::kIntegers, MatrixKind::kFloats}) {
    const bool whole = kind == MatrixKind::kIntegers;
    const auto bits = [&](std::uint64_t number) {
      return whole ? static_cast<std::uint32_t>(number)
                   : std::bit_cast<std::uint32_t>(static_cast<float>(number));
    };
    // Large enough that integers run over 2^32.
    const std::uint64_t scale = whole ? 0x1234567 : 1;
    std::vector<std::uint32_t> left, right, product(kSize * kSize);
    for (std::uint32_t i = 0; i < kSize * kSize; ++i) left.push_back(bits(scale * (i % 31)));
    for (std::uint32_t i = 0; i < kSize * kSize; ++i) right.push_back(bits(scale * (i % 29)));
    Matrices at{.size = kSize};
    for (Address* place : {&at.left, &at.right, &at.product}) *place = this->Room(device);
    ASSERT_EQ(device.Upload(std::as_bytes(std::span(left)), at.left), OkStatus());
    ASSERT_EQ(device.Upload(std::as_bytes(std::span(right)), at.right), OkStatus());
    ASSERT_EQ(device.Multiply(kind, at), OkStatus());
    ASSERT_EQ(device.Download(at.product, std::as_writable_bytes(std::span(product))), OkStatus());
    for (std::uint32_t row = 0; row < kSize; ++row) {
      for (std::uint32_t column = 0; column < kSize; ++column) {
        std::uint64_t sum = 0;
        for (std::uint32_t k = 0; k < kSize; ++k) {
          sum += scale * ((row * kSize + k) % 31) * (scale * ((k * kSize + column) % 29));
        }
        ASSERT_EQ(product[row * kSize + column], bits(sum)) << row << " " << column;
      }
    }
  }
}

TYPED_TEST(ComputeDeviceContract, BlocksDoNotOverlapAndMoreThanThereIsIsRefused) {
  ComputeDevice& device = this->device();
  const Address one = this->Room(device), two = this->Room(device);
  EXPECT_GE(std::max(one, two) - std::min(one, two), 8 * (this->kCount + 2));
  EXPECT_EQ(device.Allocate(std::uint64_t{1} << 50).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(device.Free(one), OkStatus());
  EXPECT_TRUE(device.Allocate(4096).ok()) << "the refusal broke nothing";
}

}  // namespace
}  // namespace galen::active
