#include "alloc/semantic_version.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace galen::alloc {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kIdentifierCharacters =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-";

bool IsOnly(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

// A number without leading zeros that a uint64 holds.
bool ReadNumber(std::string_view text, std::uint64_t& number) {
  if (!IsOnly(text, kDigits) || (text.size() > 1 && text[0] == '0')) return false;
  return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc();
}

std::vector<std::string> SplitAtDots(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t dot = text.find('.');
    parts.emplace_back(text.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    text.remove_prefix(dot + 1);
  }
}

// Semver 9 and 10: identifiers of letters, digits and "-"; those before a build that are numbers
// have no leading zeros.
bool IsPreRelease(const std::string& identifier) {
  std::uint64_t number = 0;
  return IsOnly(identifier, kDigits) ? ReadNumber(identifier, number)
                                     : IsOnly(identifier, kIdentifierCharacters);
}

// Major, minor, and patch with all that follows it; false when there are fewer.
bool SplitNumbers(std::string_view text, std::array<std::string_view, 3>& parts) {
  for (std::size_t part = 0; part < 2; ++part) {
    const std::size_t dot = text.find('.');
    if (dot == std::string_view::npos) return false;
    parts[part] = text.substr(0, dot);
    text.remove_prefix(dot + 1);
  }
  parts[2] = text;
  return true;
}

// "+" and what follows it, checked and cut off; false when it is not a build.
bool CutBuild(std::string_view& text) {
  const std::size_t plus = text.find('+');
  if (plus == std::string_view::npos) return true;
  const auto build = SplitAtDots(text.substr(plus + 1));
  text = text.substr(0, plus);
  return std::all_of(build.begin(), build.end(), [](const std::string& identifier) {
    return IsOnly(identifier, kIdentifierCharacters);
  });
}

bool ReadVersion(std::string_view text, SemanticVersion& version) {
  std::array<std::string_view, 3> parts;
  if (!SplitNumbers(text, parts) || !CutBuild(parts[2])) return false;
  const std::size_t dash = parts[2].find('-');
  if (dash != std::string_view::npos) {
    version.pre_release = SplitAtDots(parts[2].substr(dash + 1));
    parts[2] = parts[2].substr(0, dash);
  }
  return ReadNumber(parts[0], version.major) && ReadNumber(parts[1], version.minor) &&
         ReadNumber(parts[2], version.patch) &&
         std::all_of(version.pre_release.begin(), version.pre_release.end(), IsPreRelease);
}

// "007" is "7", "00" is "0", and "0-rc" stays what it is.
std::string WithoutLeadingZeros(std::string part) {
  if (part.size() < 2) return part;
  part.erase(0, std::min(part.find_first_not_of('0'), part.size()));
  const bool digit = !part.empty() && kDigits.find(part[0]) != std::string_view::npos;
  return digit ? part : "0" + part;
}

std::strong_ordering CompareIdentifiers(const std::string& a, const std::string& b) {
  const bool a_number = IsOnly(a, kDigits);
  const bool b_number = IsOnly(b, kDigits);
  if (a_number != b_number) {
    return a_number ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  // Numbers have no leading zeros, so the longer one is the larger.
  if (a_number && a.size() != b.size()) return a.size() <=> b.size();
  return a.compare(b) <=> 0;
}

}  // namespace

bool SemanticVersion::operator==(const SemanticVersion& other) const {
  return (*this <=> other) == std::strong_ordering::equal;
}

std::strong_ordering SemanticVersion::operator<=>(const SemanticVersion& other) const {
  if (const auto order = major <=> other.major; order != 0) return order;
  if (const auto order = minor <=> other.minor; order != 0) return order;
  if (const auto order = patch <=> other.patch; order != 0) return order;
  // A release comes after what led to it.
  if (pre_release.empty() || other.pre_release.empty()) {
    return other.pre_release.size() <=> pre_release.size();
  }
  for (std::size_t at = 0; at < std::min(pre_release.size(), other.pre_release.size()); ++at) {
    const auto order = CompareIdentifiers(pre_release[at], other.pre_release[at]);
    if (order != 0) return order;
  }
  return pre_release.size() <=> other.pre_release.size();
}

StatusOr<SemanticVersion> ParseSemanticVersion(std::string_view text) {
  SemanticVersion version;
  if (!ReadVersion(text, version)) {
    return Status(
        Code::kInvalidArgument,
        fmt::format("\"{}\" is not a version by semver 2.0.0, such as 1.2.3 or 1.2.3-rc.1",
                    text.substr(0, 64)));
  }
  version.text = text;
  return version;
}

StatusOr<SemanticVersion> ParseLenientVersion(std::string_view text) {
  std::string_view rest = text;
  if (!rest.empty() && rest[0] == 'v') rest.remove_prefix(1);
  std::vector<std::string> parts;
  while (parts.size() < 2 && rest.find('.') != std::string_view::npos) {
    parts.push_back(WithoutLeadingZeros(std::string(rest.substr(0, rest.find('.')))));
    rest.remove_prefix(rest.find('.') + 1);
  }
  parts.push_back(WithoutLeadingZeros(std::string(rest)));
  // What follows a patch number would follow the one that is added.
  if (parts.size() < 3 && parts.back().find_first_of("+-") != std::string::npos) {
    return ParseSemanticVersion(text);
  }
  while (parts.size() < 3) parts.push_back("0");
  return ParseSemanticVersion(parts[0] + "." + parts[1] + "." + parts[2]);
}

}  // namespace galen::alloc
