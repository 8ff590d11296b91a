#include "bench/memory_slope.h"

#include <gtest/gtest.h>

namespace galen::bench {
namespace {

constexpr std::uint64_t kPage = 4096;

// A process that begins with 1,000 pages, warms up over ten samples and then grows by `growth`
// pages a sample.
std::vector<std::uint64_t> Series(std::uint64_t growth) {
  std::vector<std::uint64_t> resident;
  for (std::uint64_t i = 0; i < 60; ++i) {
    resident.push_back((1000 + 50 * std::min<std::uint64_t>(i, 10) + growth * i) * kPage);
  }
  return resident;
}

TEST(MemorySlope, AProcessThatWarmsUpAndStaysIsFlat) {
  EXPECT_EQ(SlopeOf(Series(0), 10, 10).pages(), 0);
}

TEST(MemorySlope, AProcessThatGoesOnGrowingIsNot) {
  EXPECT_EQ(SlopeOf(Series(4), 10, 10).pages(), 160);
  EXPECT_GT(SlopeOf(Series(4), 10, 10).pages(), kFlatPagesMost);
}

// Samples as of `sustained`: 60 of them, 5,000 changes between two, that each leave so many bytes.
std::int64_t PagesWhenEachLeaves(double bytes) {
  std::vector<std::uint64_t> resident;
  for (int i = 0; i < 60; ++i) {
    resident.push_back(1000 * kPage + static_cast<std::uint64_t>(bytes * 5000 * i));
  }
  return SlopeOf(resident, 10, 10).pages();
}

TEST(MemorySlope, ALeakIsFoundFromTheSizeOnThatIsSaid) {
  const double least = LeastLeakFound(40 * 5000);
  EXPECT_NEAR(least, 2.62, 0.01);
  EXPECT_LE(PagesWhenEachLeaves(least * 0.98), kFlatPagesMost);
  EXPECT_GT(PagesWhenEachLeaves(least * 1.02), kFlatPagesMost);
}

TEST(MemorySlope, ASampleThatSwingsIsNotTheSlope) {
  std::vector<std::uint64_t> resident = Series(0);
  resident.back() *= 2;
  EXPECT_EQ(SlopeOf(resident, 10, 10).pages(), 0);
}

TEST(MemorySlope, WhatIsGivenBackIsNegative) {
  std::vector<std::uint64_t> resident = Series(0);
  for (std::size_t i = 50; i < resident.size(); ++i) resident[i] -= 7 * kPage;
  EXPECT_EQ(SlopeOf(resident, 10, 10).pages(), -7);
}

}  // namespace
}  // namespace galen::bench
