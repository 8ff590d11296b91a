// The bytes of one journal file: a header, then framed records. Values; no I/O.
// docs/formats/journal.md describes every byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace galen::history {

// More than any record of ours needs; a length beyond it is a broken frame.
inline constexpr std::size_t kRecordBytesMax = std::size_t{64} << 10;

// What comes before a segment's records: whether the segments before it still count.
enum class SegmentKind { kContinuation, kSnapshot };

std::string_view HeaderOf(SegmentKind kind);

// Adds one record with its frame to `bytes`. REQUIRES: 1 to kRecordBytesMax bytes of payload.
void AppendFrame(std::string& bytes, std::string_view payload);

// What a segment's bytes hold up to the first fault.
struct SegmentContent {
  SegmentKind kind = SegmentKind::kContinuation;
  std::vector<std::string> records;
  std::size_t good_bytes = 0;  // header and whole records; 0 when the header is broken
  std::string fault;           // "" when all is good
};
SegmentContent ReadSegment(std::string_view bytes);

// "00000012.segment"
std::string SegmentName(std::uint64_t number);
std::optional<std::uint64_t> ParseSegmentName(std::string_view name);

}  // namespace galen::history
