#include "probes/sysfs/device_look.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "probes/rules/sign.h"
#include "probes/sysfs/file_pattern.h"

namespace galen::probes {
namespace {

std::string_view TakeLine(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

bool IsSeparator(char c) { return c == ' ' || c == '\t' || c == ':' || c == '='; }

void TrimSpaces(std::string_view& text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
}

// The text after the row's name; nullopt when no line begins with it.
std::optional<std::string_view> TextOfRow(std::string_view text, std::string_view row) {
  while (!text.empty()) {
    std::string_view line = TakeLine(text);
    TrimSpaces(line);
    if (!line.starts_with(row)) continue;
    line.remove_prefix(row.size());
    if (!line.empty() && !IsSeparator(line.front())) continue;
    while (!line.empty() && IsSeparator(line.front())) line.remove_prefix(1);
    return line;
  }
  return std::nullopt;
}

// "Unknown" and "Unknown speed" of the kernel's PCI code, "N/A" of drivers.
bool SaysUnknown(std::string_view text) {
  return text.starts_with("Unknown") || text.starts_with("unknown") || text == "N/A";
}

std::optional<double> LeadingDouble(std::string_view text, std::string_view& rest) {
  if (text.starts_with("0x")) {
    std::uint64_t number = 0;
    const auto [end, error] =
        std::from_chars(text.data() + 2, text.data() + text.size(), number, 16);
    rest = text.substr(static_cast<std::size_t>(end - text.data()));
    if (error != std::errc() || end == text.data() + 2) return std::nullopt;
    return static_cast<double>(number);
  }
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  rest = text.substr(static_cast<std::size_t>(end - text.data()));
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  return number;
}

// A file that was read, or why not.
struct FileNumber {
  std::optional<double> value{};
  std::string error{};
  std::string word{};  // what stood there, where a sign's words make numbers of texts
};

// The first line, or what stands behind the row's name; nullopt when no line begins with it.
std::optional<std::string_view> LineOf(std::string_view text, std::string_view row) {
  std::optional<std::string_view> line = row.empty() ? TakeLine(text) : TextOfRow(text, row);
  if (line) TrimSpaces(*line);
  return line;
}

StatusOr<std::optional<double>> NumberOfLine(std::string_view line) {
  if (SaysUnknown(line)) return std::optional<double>();
  std::string_view rest;
  const std::optional<double> number = LeadingDouble(line, rest);
  if (!number || (!rest.empty() && !IsSeparator(rest.front()) && rest.front() != '%'))
    return InvalidArgument("'{}' is not a number", Printable(CutText(ToValidUtf8(line), 40)));
  return number;
}

// A driver of another version may know states that the table does not: nobody knows what they mean.
FileNumber NumberOfWord(std::string_view line, const FileSource& source) {
  const std::string word(line);
  if (const auto known = source.words.find(word); known != source.words.end())
    return {.value = known->second, .word = word};
  if (SaysUnknown(line)) return {};
  return {.error = fmt::format("'{}' is not one of its words",
                               Printable(CutText(ToValidUtf8(word), 40)))};
}

FileNumber NumberIn(std::string_view text, const FileSource& source) {
  std::optional<std::string_view> line;
  if (source.capture && source.capture->pattern) {
    const Pattern::Found found = source.capture->pattern->Find(text);
    if (found.matches) line = LineOf(found.text, "");
  } else {
    line = LineOf(text, source.row);
  }
  // A row that is not there; likewise a text that the expression does not fit.
  if (!line) return {};
  if (!source.words.empty()) return NumberOfWord(*line, source);
  const StatusOr<std::optional<double>> number = NumberOfLine(*line);
  if (!number.ok()) return {.error = number.status().message()};
  return {.value = *number};
}

FileNumber ReadNumber(const SysfsFiles& files, SysfsDirectory& directory, const std::string& file,
                      const FileSource& source) {
  const StatusOr<std::string> text = files.ReadIn(directory, file);
  if (text.status().code() == Code::kNotFound) return {};
  if (!text.ok()) return {.error = text.status().message()};
  FileNumber number = NumberIn(*text, source);
  if (!number.error.empty()) return {.error = fmt::format("{}: {}", file, number.error)};
  if (number.value) *number.value *= source.scale;
  return number;
}

bool IsInBounds(const SignSpec& sign, double value) {
  return (!sign.least || value >= *sign.least) && (!sign.most || value <= *sign.most);
}

// One of the files that a sign's pattern names.
SignReading ReadOne(const SysfsFiles& files, SysfsDirectory& directory, const SignSpec& sign,
                    const FoundPath& found, const BeforeRead& before_read) {
  const FileSource& source = *sign.file;
  before_read(sign.name, found.path);
  FileNumber number = ReadNumber(files, directory, found.path, source);
  SignReading reading{.sign = sign.name, .error = std::move(number.error)};
  if (number.value && !IsInBounds(sign, *number.value)) reading.outside = number.value;
  if (!number.value || reading.outside) return reading;
  reading.value = number.value;
  reading.raw = fmt::format("{}: {}{}", found.path, source.row.empty() ? "" : source.row + " ",
                            number.word.empty() ? NumberText(*number.value) : number.word);
  if (source.expected.empty()) return reading;
  const std::string file = FillStars(source.expected, found.stars);
  before_read(sign.name, file);
  FileNumber expected = ReadNumber(files, directory, file, source);
  if (!expected.error.empty()) {
    // Without its limit no rule would match, and a fault would pass for over.
    reading.value.reset();
    reading.raw.clear();
    reading.error = std::move(expected.error);
    return reading;
  }
  // An expected value must be a possible value of the sign (255 lanes are not), and more than
  // nothing: sensors that are not wired have a limit of 0.
  if (expected.value && *expected.value > 0 && IsInBounds(sign, *expected.value)) {
    reading.expected = expected.value;
  }
  return reading;
}

// The number that two readings are compared by: how near they are to their limit, where they have
// one.
double Rank(const SignReading& reading) {
  if (!reading.expected) return *reading.value;
  return *reading.value / *reading.expected;
}

// The one of two readings with values that counts.
SignReading Pick(Several several, SignReading a, SignReading b) {
  // A sensor without a limit of its own says nothing beside one that has it.
  if (a.expected.has_value() != b.expected.has_value() && several != Several::kSum) {
    return a.expected ? a : b;
  }
  switch (several) {
    case Several::kFirst:
      return a;
    case Several::kHighest:
      return Rank(b) > Rank(a) ? b : a;
    case Several::kLowest:
      return Rank(b) < Rank(a) ? b : a;
    case Several::kSum:
      a.value = *a.value + *b.value;
      a.raw += ", " + b.raw;
      return a;
  }
  GALEN_UNREACHABLE();
}

SignReading ReadAllOf(const SysfsFiles& files, SysfsDirectory& directory, const SignSpec& sign,
                      const BeforeRead& before_read) {
  before_read(sign.name, sign.file->path);
  const StatusOr<std::vector<FoundPath>> found = FindPaths(files, directory.path, sign.file->path);
  if (!found.ok()) return {.sign = sign.name, .error = found.status().message()};
  SignReading all{.sign = sign.name};
  const Several several = sign.file->several;
  const bool keeps_parts = sign.kind == SignKind::kCounter || several == Several::kSum;
  std::vector<std::pair<std::string, double>> parts;
  std::vector<std::string> silent;
  for (const FoundPath& each : *found) {
    SignReading one = ReadOne(files, directory, sign, each, before_read);
    // A part that cannot be read makes the whole unknown: it may be the one that is bad.
    if (!one.error.empty()) return one;
    if (!one.value) {
      if (keeps_parts) silent.push_back(each.path);
      continue;
    }
    if (keeps_parts && (several != Several::kFirst || !all.value)) {
      parts.emplace_back(each.path, *one.value);
    }
    all = all.value ? Pick(several, std::move(all), std::move(one)) : std::move(one);
  }
  all.parts = std::move(parts);
  all.silent = std::move(silent);
  return all;
}

SignReading ReadSign(const SysfsFiles& files, SysfsDirectory& directory, const SignSpec& sign,
                     const BeforeRead& before_read) {
  const std::string& path = sign.file->path;
  const bool one = path.find('*') == std::string::npos && !path.ends_with('/');
  SignReading reading = one ? ReadOne(files, directory, sign, {.path = path}, before_read)
                            : ReadAllOf(files, directory, sign, before_read);
  constexpr std::size_t kRawBytesMax = 160;  // people read it in one line
  if (reading.raw.size() > kRawBytesMax) reading.raw = CutText(reading.raw, kRawBytesMax);
  return reading;
}

}  // namespace

StatusOr<std::optional<double>> NumberInFile(std::string_view text, std::string_view row) {
  const std::optional<std::string_view> line = LineOf(text, row);
  return line ? NumberOfLine(*line) : std::optional<double>();
}

std::vector<const SignSpec*> WithFiles(const std::vector<SignSpec>& signs) {
  std::vector<const SignSpec*> with_files;
  for (const SignSpec& sign : signs) {
    if (sign.file) with_files.push_back(&sign);
  }
  return with_files;
}

DeviceLook LookAgainAtDevice(const SysfsFiles& files, SysfsDirectory& directory,
                             const std::vector<const SignSpec*>& signs,
                             const BeforeRead& before_read) {
  std::optional<SysfsDirectory> opened = files.Open(std::move(directory));
  DeviceLook look{.present = opened.has_value()};
  if (!look.present) return look;
  directory = *std::move(opened);
  look.readings.reserve(signs.size());
  for (const SignSpec* sign : signs) {
    look.readings.push_back(ReadSign(files, directory, *sign, before_read));
  }
  return look;
}

DeviceLook LookAtDevice(const SysfsFiles& files, const std::string& directory,
                        const std::vector<const SignSpec*>& signs, const BeforeRead& before_read) {
  SysfsDirectory once{.path = directory};
  return LookAgainAtDevice(files, once, signs, before_read);
}

std::vector<Sign> SignsOf(const DeviceLook& look, const std::string& device) {
  std::vector<Sign> signs;
  for (const SignReading& reading : look.readings) {
    if (!reading.value && reading.error.empty()) continue;
    Sign sign{.device = device, .name = reading.sign};
    if (reading.value) sign.value = *reading.value;
    sign.raw = reading.raw;
    sign.error = reading.error;
    sign.expected = reading.expected;
    signs.push_back(std::move(sign));
  }
  return signs;
}

}  // namespace galen::probes
