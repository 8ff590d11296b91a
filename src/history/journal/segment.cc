#include "history/journal/segment.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <charconv>

#include "base/check.h"

namespace galen::history {
namespace {

// The newline shows at once when a tool has changed line ends; the digit is the version of the
// format.
constexpr std::string_view kContinuationHeader = "GALENJ1\n";
constexpr std::string_view kSnapshotHeader = "GALENS1\n";
constexpr std::size_t kHeaderBytes = kSnapshotHeader.size();
constexpr std::string_view kNameEnd = ".segment";
constexpr std::size_t kNameDigits = 8;

// Byte by byte, so that a file can be moved between machines and read without alignment.
std::string LittleEndian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

std::uint32_t ReadLittleEndian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// Over the length too, so that a run of zero bytes is not a record.
std::uint32_t Checksum(std::string_view length, std::string_view payload) {
  const auto add = [](uLong sum, std::string_view bytes) {
    return ::crc32(sum, reinterpret_cast<const Bytef*>(bytes.data()),
                   static_cast<uInt>(bytes.size()));
  };
  return static_cast<std::uint32_t>(add(add(0, length), payload));
}

// The payload of the frame at the front of `bytes`, or why there is none.
struct Frame {
  std::string_view payload;
  const char* fault = nullptr;
};

Frame ReadFrame(std::string_view bytes) {
  if (bytes.size() < kFrameBytes) return {{}, "a frame is cut off"};
  const std::string_view length = bytes.substr(0, 4);
  const std::size_t size = ReadLittleEndian(length);
  // Before the checksum: a length from a torn block must not make us look far past it.
  if (size == 0 || size > kRecordBytesMax) return {{}, "a record's length is impossible"};
  if (bytes.size() < kFrameBytes + size) return {{}, "a record is cut off"};
  const std::string_view payload = bytes.substr(kFrameBytes, size);
  if (ReadLittleEndian(bytes.substr(4)) != Checksum(length, payload)) {
    return {{}, "a record's checksum is wrong"};
  }
  return {payload};
}

}  // namespace

std::string_view HeaderOf(SegmentKind kind) {
  switch (kind) {
    case SegmentKind::kContinuation:
      return kContinuationHeader;
    case SegmentKind::kSnapshot:
      return kSnapshotHeader;
  }
  GALEN_UNREACHABLE();
}

void AppendFrame(std::string& bytes, std::string_view payload) {
  GALEN_CHECK(!payload.empty() && payload.size() <= kRecordBytesMax);
  const std::string length = LittleEndian(static_cast<std::uint32_t>(payload.size()));
  bytes += length;
  bytes += LittleEndian(Checksum(length, payload));
  bytes += payload;
}

SegmentContent ReadSegment(std::string_view bytes) {
  SegmentContent content;
  const std::string_view header = bytes.substr(0, kHeaderBytes);
  if (header == kSnapshotHeader) content.kind = SegmentKind::kSnapshot;
  if (header != kSnapshotHeader && header != kContinuationHeader) {
    content.fault = "its header is broken";
    return content;
  }
  // A header without records is whole: nothing was written yet.
  content.good_bytes = kHeaderBytes;
  while (content.good_bytes < bytes.size()) {
    const Frame frame = ReadFrame(bytes.substr(content.good_bytes));
    if (frame.fault != nullptr) {
      content.fault = fmt::format("{} at byte {}", frame.fault, content.good_bytes);
      break;
    }
    content.records.emplace_back(frame.payload);
    content.good_bytes += kFrameBytes + frame.payload.size();
  }
  return content;
}

std::string SegmentName(std::uint64_t number) {
  return fmt::format("{:0{}}{}", number, kNameDigits, kNameEnd);
}

std::optional<std::uint64_t> ParseSegmentName(std::string_view name) {
  if (name.size() < kNameDigits + kNameEnd.size()) return std::nullopt;
  const std::string_view digits = name.substr(0, name.size() - kNameEnd.size());
  if (name.substr(digits.size()) != kNameEnd) return std::nullopt;
  std::uint64_t number = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || stop != digits.data() + digits.size()) return std::nullopt;
  // Only the one spelling that we write, so that no two names are one number.
  if (SegmentName(number) != name) return std::nullopt;
  return number;
}

}  // namespace galen::history
