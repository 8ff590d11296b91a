// What the registers say that a line of an NVLink XID ends with. Numbers are those of NVIDIA's
// catalog of XIDs (https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html), its
// workflow for XID 74 and its sheet "XID 144-150 Decode"; names of units as drivers print them.
#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <vector>

#include "probes/kernel_log/kernel_log.h"

namespace galen::probes {
namespace {

constexpr std::uint32_t Bits(std::initializer_list<int> numbers) {
  std::uint32_t bits = 0;
  for (const int number : numbers) bits |= std::uint32_t{1} << number;
  return bits;
}

// One of the seven registers of XID 74. `follows` are bits that another fault brings about: beside
// other bits these others count, and alone they mean kUnclear. A register without bits here says
// nothing.
struct Register74 {
  std::uint32_t hardware = 0, link = 0, ignored = 0, follows = 0;
};
constexpr std::array<Register74, 7> kRegisters74 = {{
    {.hardware = Bits({4, 5, 27, 29}),
     .link = Bits({8, 9, 12, 16, 17, 21, 22, 24, 28}),
     .ignored = Bits({0, 23, 30}),
     .follows = Bits({1, 20})},
    {},
    {.hardware = Bits({0, 1, 2, 6, 13, 16, 17, 18, 19})},
    {.follows = Bits({16, 17, 18})},
    // Ignored bits mean corrected errors past a threshold.
    {.hardware = Bits({18, 19, 21, 22, 24, 25, 27, 28}), .ignored = Bits({20, 23, 26, 29})},
    {},
    {},
}};

// A unit of NVLink 5 that reports. The first word of a line has the unit: before R575 in its ten
// lowest bits together with where it is from, since then in its seven lowest.
struct Unit {
  std::int64_t xid;
  std::array<std::string_view, 2> names;
  std::uint32_t before_r575, since_r575;
  // Bits of the second word: a broken unit, which only a reset helps; a program that ended, where
  // XID 154 follows if a reset is needed; and what may be ignored.
  std::uint32_t hardware, program, ignored;
};
constexpr std::uint32_t kSpurious = 0x80000000;
constexpr Unit kUnits[] = {
    {144, {"SAW_MVB"}, 0x021, 1, 0x12, 0, 0x2d},
    {145, {"RLW_CTRL"}, 0x062, 3, 0, 0, kSpurious},
    {145, {"RLW_REMAP"}, 0x082, 4, 0xc0, 0x3f, 0x300 | kSpurious},
    {145, {"RLW_RSPCOL"}, 0x0a2, 5, 0x2, 0, 0x1 | kSpurious},
    {145, {"RLW_RXPIPE"}, 0x0c2, 6, 0, 0, 0xf | kSpurious},
    {145, {"RLW_SRC_TRACK"}, 0x0e2, 7, 0x31, 0xc, 0x2 | kSpurious},
    {145, {"RLW_TAGSTATE"}, 0x102, 8, 0x120002, 0, 0x10001 | kSpurious},
    {146, {"TLW_CTRL"}, 0x123, 9, 0x4, 0, 0x3 | kSpurious},
    {146, {"TLW_RX", "TLW_RX_PIPE0"}, 0x143, 10, 0x4, 0, 0x3 | kSpurious},
    {146, {"TLW_RX", "TLW_RX_PIPE1"}, 0x143, 11, 0x4, 0, 0x3 | kSpurious},
    {146, {"TLW_TX", "TLW_TX_PIPE0"}, 0x163, 12, 0x4, 0, 0x3 | kSpurious},
    {146, {"TLW_TX", "TLW_TX_PIPE1"}, 0x163, 13, 0x4, 0, 0x3 | kSpurious},
    {147, {"TREX"}, 0x184, 14, 0, 0, 0x1 | kSpurious},
    {148, {"NVLPW_CTRL", "NVLPW"}, 0x005, 15, 0, 0, kSpurious},
};
// RLW_RXPIPE alone says in the first word that the same errors are severe this time.
constexpr std::uint32_t kRxPipeSevereBefore = 1U << 10, kRxPipeSevereSince = 1U << 7;

// A whole text like 0x1f, 32 bits.
std::optional<std::uint32_t> HexWord(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  std::uint32_t word = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), word, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return word;
}

// Words between separators; nullopt where one is not a word.
std::optional<std::vector<std::uint32_t>> HexWords(std::string_view text,
                                                   std::string_view separator) {
  constexpr std::size_t kWordsMax = 16;  // the longest line has seven
  std::vector<std::uint32_t> words;
  while (true) {
    const std::size_t end = text.find(separator);
    const std::optional<std::uint32_t> word = HexWord(text.substr(0, end));
    if (!word || words.size() == kWordsMax) return std::nullopt;
    words.push_back(*word);
    if (end == std::string_view::npos) return words;
    text.remove_prefix(end + separator.size());
  }
}

// Digits alone, two at most.
std::optional<int> LinkNumber(std::string_view text) {
  if (text.empty() || text.size() > 2) return std::nullopt;
  if (text.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  int link = 0;
  std::from_chars(text.data(), text.data() + text.size(), link);
  return link;
}

// "…NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)". What a process
// is called stands before it, so the last one counts, and it ends the line.
struct Line74 {
  int link = 0;
  std::vector<std::uint32_t> words;
};

std::optional<Line74> ParseLine74(std::string_view text) {
  constexpr std::string_view kBegin = ", NVLink: fatal error detected on link ";
  const std::size_t begin = text.rfind(kBegin);
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin + kBegin.size());
  const std::size_t open = text.find('(');
  if (open == 0 || open > 2 || !text.ends_with(')')) return std::nullopt;
  const std::optional<int> link = LinkNumber(text.substr(0, open));
  auto words = HexWords(text.substr(open + 1, text.size() - open - 2), ", ");
  if (!link || !words || words->size() != kRegisters74.size()) return std::nullopt;
  return Line74{*link, *std::move(words)};
}

NvlinkFault Decode74(std::string_view text) {
  const std::optional<Line74> line = ParseLine74(text);
  if (!line) return NvlinkFault::kUnclear;
  bool hardware = false, link = false, ignored = false, follows = false;
  for (std::size_t i = 0; i < kRegisters74.size(); ++i) {
    const Register74& bits = kRegisters74[i];
    const std::uint32_t known = bits.hardware | bits.link | bits.ignored | bits.follows;
    if (known == 0) continue;
    const std::uint32_t word = line->words[i];
    if ((word & ~known) != 0) return NvlinkFault::kUnclear;
    hardware = hardware || (word & bits.hardware) != 0;
    link = link || (word & bits.link) != 0;
    ignored = ignored || (word & bits.ignored) != 0;
    follows = follows || (word & bits.follows) != 0;
  }
  if (hardware) return NvlinkFault::kHardware;
  if (link) return NvlinkFault::kLink;
  // The fault that the set bits follow from is not among them: something happened that must not be
  // ignored.
  return ignored && !follows ? NvlinkFault::kIgnored : NvlinkFault::kUnclear;
}

// "RLW_REMAP Nonfatal XC0 i0 Link -1 (0x00000004 0x00000001 …)".
struct Line {
  std::string_view unit;
  bool fatal = false;
  std::string_view link;  // "-1": of none
  std::vector<std::uint32_t> words;
};

std::optional<std::string_view> TakeWord(std::string_view& text) {
  const std::size_t end = text.find(' ');
  if (end == 0 || end == std::string_view::npos) return std::nullopt;
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end + 1);
  return word;
}

std::optional<Line> ParseLine(std::string_view text) {
  std::array<std::string_view, 6> head;
  for (std::string_view& word : head) {
    const std::optional<std::string_view> taken = TakeWord(text);
    if (!taken) return std::nullopt;
    word = *taken;
  }
  const auto& [unit, severity, containment, instance, link, number] = head;
  if (severity != "Fatal" && severity != "Nonfatal") return std::nullopt;
  if (!containment.starts_with("XC") || !instance.starts_with('i') || link != "Link") {
    return std::nullopt;
  }
  if (number.find_first_not_of("-0123456789") != std::string_view::npos) return std::nullopt;
  if (!text.starts_with('(') || !text.ends_with(')')) return std::nullopt;
  auto words = HexWords(text.substr(1, text.size() - 2), " ");
  if (!words || words->size() < 2) return std::nullopt;
  return Line{unit, severity == "Fatal", number, *std::move(words)};
}

// Whether the first word is of this unit, in either of its forms: none of the old ones ends with
// the new number of another unit of the same XID.
bool IsOf(const Line& line, std::uint32_t before_r575, std::uint32_t since_r575) {
  return (line.words[0] & 0x3ff) == before_r575 || (line.words[0] & 0x7f) == since_r575;
}

// Bits 25 to 20 of the first word: why a link went down.
std::uint32_t Reason(const Line& line) { return (line.words[0] >> 20) & 0x3f; }

NvlinkFault DecodeUnit(const Unit& unit, const Line& line) {
  const std::uint32_t word = line.words[1];
  const std::uint32_t known = unit.hardware | unit.program | unit.ignored;
  if (Reason(line) != 0 || word == 0 || (word & ~known) != 0) return NvlinkFault::kUnclear;
  bool hardware = (word & unit.hardware) != 0;
  if (unit.names[0] == "RLW_RXPIPE" && (word & 0x7) != 0) {
    const bool before = (line.words[0] & 0x3ff) == unit.before_r575;
    hardware = (line.words[0] & (before ? kRxPipeSevereBefore : kRxPipeSevereSince)) != 0;
  }
  // Text and registers must agree; otherwise one of them is not what we take it for.
  if (hardware != line.fatal) return NvlinkFault::kUnclear;
  if (hardware) return NvlinkFault::kHardware;
  return (word & unit.program) != 0 ? NvlinkFault::kProgram : NvlinkFault::kIgnored;
}

// XID 149, whose second word is one number.
NvlinkFault Decode149(const Line& line) {
  const std::uint32_t status = line.words[1];
  const bool link_event = line.unit == "NETIR_LINK_EVT" || line.unit == "NETIR_LINK_DOWN";
  if (link_event && IsOf(line, 0x1c6, 17)) {
    // Two more reasons are orders of somebody, which the catalog says to ignore, in lines that say
    // Fatal: left as they are.
    constexpr std::array<std::uint32_t, 19> kReasons = {0x00, 0x01, 0x02, 0x04, 0x0a, 0x0f, 0x10,
                                                        0x11, 0x12, 0x15, 0x16, 0x20, 0x21, 0x22,
                                                        0x23, 0x24, 0x25, 0x2a, 0x2b};
    const bool known = std::ranges::find(kReasons, Reason(line)) != kReasons.end();
    return known && status == 0 && line.fatal ? NvlinkFault::kLink : NvlinkFault::kUnclear;
  }
  if (Reason(line) != 0) return NvlinkFault::kUnclear;
  if ((line.unit == "NETIR" || line.unit == "NETIR_INT") && IsOf(line, 0x006, 24)) {
    return status == 0 && line.fatal ? NvlinkFault::kLink : NvlinkFault::kUnclear;
  }
  if (line.unit == "NETIR_BER_EVENT" && IsOf(line, 0x226, 19)) {
    return status <= 3 && !line.fatal ? NvlinkFault::kIgnored : NvlinkFault::kUnclear;
  }
  if (line.unit == "NETIR_MFDE_EVENT" && IsOf(line, 0x246, 20)) {
    if (status == 3 && !line.fatal) return NvlinkFault::kIgnored;
    const bool broken = status == 1 || status == 4 || status == 5 || status == 7;
    return broken && line.fatal ? NvlinkFault::kHardware : NvlinkFault::kUnclear;
  }
  return NvlinkFault::kUnclear;
}

std::optional<Line> ParseLine5(std::string_view text) {
  // A process's name may stand before the last comma, and says what the process likes.
  const std::size_t comma = text.rfind(", ");
  return comma == std::string_view::npos ? std::nullopt : ParseLine(text.substr(comma + 2));
}

NvlinkFault DecodeNvlink5(std::int64_t xid, std::string_view text) {
  const std::optional<Line> line = ParseLine5(text);
  if (!line) return NvlinkFault::kUnclear;
  if (xid == 149) return Decode149(*line);
  if (xid == 150) {
    const bool watchdog = line->unit == "MSE_WATCHDOG" && IsOf(*line, 0, 0) && Reason(*line) == 0;
    return watchdog && line->words[1] == 0 && line->fatal ? NvlinkFault::kHardware
                                                          : NvlinkFault::kUnclear;
  }
  for (const Unit& unit : kUnits) {
    const bool named = line->unit == unit.names[0] || line->unit == unit.names[1];
    if (unit.xid != xid || !named || !IsOf(*line, unit.before_r575, unit.since_r575)) continue;
    return DecodeUnit(unit, *line);
  }
  return NvlinkFault::kUnclear;
}

}  // namespace

NvlinkFault DecodeNvlinkXid(std::int64_t xid, std::string_view rest) {
  if (xid == 74) return Decode74(rest);
  if (xid >= 144 && xid <= 150) return DecodeNvlink5(xid, rest);
  return NvlinkFault::kUnclear;
}

std::optional<int> LinkOfNvlinkXid(std::int64_t xid, std::string_view rest) {
  if (xid == 74) {
    const std::optional<Line74> line = ParseLine74(rest);
    return line ? std::optional(line->link) : std::nullopt;
  }
  if (xid < 144 || xid > 150) return std::nullopt;
  const std::optional<Line> line = ParseLine5(rest);
  return line ? LinkNumber(line->link) : std::nullopt;
}

}  // namespace galen::probes
