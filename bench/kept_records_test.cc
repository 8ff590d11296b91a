#include "bench/kept_records.h"

#include <gtest/gtest.h>

namespace galen::bench {
namespace {

KeptRecords Of(std::uint64_t first, std::uint64_t last) {
  KeptRecords kept;
  for (std::uint64_t i = first; i <= last; ++i) kept.Add(i);
  return kept;
}

TEST(KeptRecords, OfAJournalThatWasNeverRewrittenAreAllFromTheFirst) {
  EXPECT_TRUE(Of(1, 10).AreAll(false));
  EXPECT_FALSE(Of(2, 10).AreAll(false));
  EXPECT_FALSE(KeptRecords().AreAll(false));
}

TEST(KeptRecords, OneThatIsMissingOrComesTwiceIsFound) {
  KeptRecords missing = Of(1, 5);
  missing.Add(7);
  EXPECT_FALSE(missing.AreAll(false));
  EXPECT_EQ(missing.newest_without_gap(), 1u);
  KeptRecords twice = Of(1, 5);
  twice.Add(5);
  EXPECT_FALSE(twice.AreAll(false));
}

TEST(KeptRecords, OfARewrittenJournalAreTheNewestBehindTheLastOfEachDevice) {
  KeptRecords kept;
  kept.Add(17);  // a device that changed last long ago
  for (std::uint64_t i = 5'000; i < 5'000 + KeptRecords::kWindowLeast; ++i) kept.Add(i);
  EXPECT_EQ(kept.newest_without_gap(), KeptRecords::kWindowLeast);
  EXPECT_TRUE(kept.AreAll(true));
  kept.Add(9'000);
  EXPECT_FALSE(kept.AreAll(true)) << "those between are lost";
}

}  // namespace
}  // namespace galen::bench
