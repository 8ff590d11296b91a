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

// More than any record of ours needs (record.h bounds every text); a length beyond it is a broken
// frame. It also bounds what one frame of a damaged file can make a reader take for granted.
inline constexpr std::size_t kRecordBytesMax = std::size_t{64} << 10;

// Bytes of a record's frame: length and checksum.
inline constexpr std::size_t kFrameBytes = 8;

// The header before a segment's records: whether the segments before it still count (kContinuation)
// or are replaced by this one (kSnapshot), so that a rewrite takes effect with one rename.
enum class SegmentKind { kContinuation, kSnapshot };

// The eight bytes with which such a segment begins; its version is in them.
std::string_view HeaderOf(SegmentKind kind);

// Adds one record with its frame (length and CRC-32) to `bytes`. REQUIRES: 1 to kRecordBytesMax
// bytes of payload.
void AppendFrame(std::string& bytes, std::string_view payload);

// The contents of a segment's bytes up to the first fault.
struct SegmentContent {
  SegmentKind kind = SegmentKind::kContinuation;
  std::vector<std::string> records;
  std::size_t good_bytes = 0;  // header and whole records; 0 when the header is broken
  std::string fault;           // "" when all is good
};
// Never fails: what comes after the first fault is not looked at, because the start of the next
// frame is unknown.
SegmentContent ReadSegment(std::string_view bytes);

// "00000012.segment": at least eight digits, so that names sort like numbers.
std::string SegmentName(std::uint64_t number);
// nullopt for every name that SegmentName does not give; such files are left alone.
std::optional<std::uint64_t> ParseSegmentName(std::string_view name);

}  // namespace galen::history
