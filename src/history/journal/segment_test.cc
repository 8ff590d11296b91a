#include "history/journal/segment.h"

#include <gtest/gtest.h>

namespace galen::history {
namespace {

std::string Segment(SegmentKind kind, const std::vector<std::string>& records) {
  std::string bytes(HeaderOf(kind));
  for (const std::string& record : records) AppendFrame(bytes, record);
  return bytes;
}

TEST(Segment, BytesAreThoseOfTheFormatsPage) {
  EXPECT_EQ(Segment(SegmentKind::kContinuation, {"abc"}),
            std::string("GALENJ1\n\x03\0\0\0\x33\x5d\xe1\x66"
                        "abc",
                        19));
  EXPECT_EQ(Segment(SegmentKind::kSnapshot, {}), "GALENS1\n");
}

TEST(Segment, ReadsBackWhatWasWritten) {
  const std::vector<std::string> records = {"a", std::string("\0\n\xff", 3),
                                            std::string(kRecordBytesMax, 'x')};
  for (const SegmentKind kind : {SegmentKind::kContinuation, SegmentKind::kSnapshot}) {
    const std::string bytes = Segment(kind, records);
    const SegmentContent content = ReadSegment(bytes);
    EXPECT_EQ(content.kind, kind);
    EXPECT_EQ(content.records, records);
    EXPECT_EQ(content.good_bytes, bytes.size());
    EXPECT_EQ(content.fault, "");
  }
}

TEST(Segment, CutAnywhereItGivesTheWholeRecordsBeforeTheCut) {
  const std::vector<std::string> records = {"one", "two", "three"};
  const std::string bytes = Segment(SegmentKind::kContinuation, records);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    const SegmentContent content = ReadSegment(std::string_view(bytes).substr(0, cut));
    std::vector<std::string> whole = records;
    while (Segment(SegmentKind::kContinuation, whole).size() > cut && !whole.empty()) {
      whole.pop_back();
    }
    EXPECT_EQ(content.records, whole) << cut;
    const std::size_t good = Segment(SegmentKind::kContinuation, whole).size();
    EXPECT_EQ(content.good_bytes, cut < 8 ? 0 : good) << cut;
    EXPECT_EQ(content.fault.empty(), cut == good) << cut;
  }
}

TEST(Segment, AnyFlippedBitIsSeen) {
  const std::string bytes = Segment(SegmentKind::kContinuation, {"one", "two"});
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string broken = bytes;
      broken[at] = static_cast<char>(broken[at] ^ (1 << bit));
      const SegmentContent content = ReadSegment(broken);
      // The two headers differ in one letter, by more than one bit.
      EXPECT_NE(content.fault, "") << at << "." << bit;
      EXPECT_LT(content.records.size(), 2u);
    }
  }
}

TEST(Segment, ZerosAfterTheEndAreNoRecords) {
  const std::string bytes = Segment(SegmentKind::kContinuation, {"one"});
  const SegmentContent content = ReadSegment(bytes + std::string(4096, '\0'));
  EXPECT_EQ(content.records, std::vector<std::string>{"one"});
  EXPECT_NE(content.fault.find("at byte 19"), std::string::npos) << content.fault;
}

TEST(Segment, NamesAreNumbersInOneSpelling) {
  EXPECT_EQ(SegmentName(12), "00000012.segment");
  EXPECT_EQ(ParseSegmentName("00000012.segment"), 12u);
  EXPECT_EQ(ParseSegmentName(SegmentName(123'456'789)), 123'456'789u);
  for (const char* name :
       {"", "12.segment", "00000012", "00000012.segment.corrupt-1", "x0000012.segment",
        "000000012.segment", "00000012.segment.tmp-Ab12Cd"}) {
    EXPECT_EQ(ParseSegmentName(name), std::nullopt) << name;
  }
}

TEST(SegmentDeathTest, EmptyRecordIsOurBug) {
  std::string bytes;
  EXPECT_DEATH(AppendFrame(bytes, ""), "check failed");
}

}  // namespace
}  // namespace galen::history
