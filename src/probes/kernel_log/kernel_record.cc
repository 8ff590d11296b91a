#include "probes/kernel_log/kernel_record.h"

#include <charconv>
#include <optional>

#include "base/text.h"

namespace galen::probes {
namespace {

// Takes a number and the mark behind it off the front.
template <typename Number>
std::optional<Number> TakeNumber(std::string_view& text, char mark) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data() + text.size() || *end != mark) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return number;
}

std::string_view TakeLine(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(line.size() < text.size() ? line.size() + 1 : text.size());
  return line;
}

// The kernel writes bytes that are not printable as \xNN; they are left as they are read.
std::string Clean(std::string_view text) { return Printable(ToValidUtf8(text)); }

}  // namespace

StatusOr<KernelRecord> ParseKernelRecord(std::string_view bytes) {
  if (bytes.size() > kKernelRecordBytesMax) {
    return InvalidArgument("kernel record of {} bytes is longer than {}", bytes.size(),
                           kKernelRecordBytesMax);
  }
  std::string_view head = TakeLine(bytes);
  KernelRecord record;
  // Each needs the one before; the first that is missing makes all that follow missing. Fields
  // between the time and ";" are flags, of which later kernels may have more.
  const auto priority = TakeNumber<std::uint32_t>(head, ',');
  const auto sequence = priority ? TakeNumber<std::uint64_t>(head, ',') : std::nullopt;
  const auto micros = sequence ? TakeNumber<std::uint64_t>(head, ',') : std::nullopt;
  const std::size_t flags_end = head.find(';');
  if (!micros || flags_end == std::string_view::npos) {
    return InvalidArgument("kernel record without \"priority,sequence,microseconds,flags;\"");
  }
  constexpr std::uint64_t kMicrosMax = 100ull * 366 * 24 * 3600 * 1'000'000;  // no machine is older
  if (*micros > kMicrosMax) return InvalidArgument("kernel record from {} µs after boot", *micros);
  // As in syslog: three bits of level, the rest is the facility.
  record.level = static_cast<int>(*priority % 8);
  record.facility = static_cast<int>(*priority / 8);
  record.sequence = *sequence;
  record.since_boot = std::chrono::microseconds(*micros);
  record.text = Clean(head.substr(flags_end + 1));
  while (!bytes.empty()) {
    const std::string_view line = TakeLine(bytes);
    const std::size_t equals = line.find('=');
    if (!line.starts_with(' ') || equals == std::string_view::npos) continue;
    record.properties[Clean(line.substr(1, equals - 1))] = Clean(line.substr(equals + 1));
  }
  return record;
}

}  // namespace galen::probes
