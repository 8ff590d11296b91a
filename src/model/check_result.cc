#include "model/check_result.h"

#include <fmt/format.h>

#include <charconv>

#include "base/check.h"
#include "base/text.h"
#include "model/health.h"

namespace galen {
namespace {

constexpr std::string_view kFormat = "galen.dev/check-result/v1";
constexpr std::size_t kShortTextMax = 64;  // names, codes, addresses, ids

std::optional<CheckVerdict> VerdictOf(std::string_view text) {
  for (const CheckVerdict verdict :
       {CheckVerdict::kPassed, CheckVerdict::kFailed, CheckVerdict::kUnknown}) {
    if (text == ToString(verdict)) return verdict;
  }
  return std::nullopt;
}

std::string Short(const Json& json) { return Shown(json.AsString(), kShortTextMax); }

}  // namespace

std::string_view ToString(CheckVerdict verdict) {
  switch (verdict) {
    case CheckVerdict::kPassed:
      return "Passed";
    case CheckVerdict::kFailed:
      return "Failed";
    case CheckVerdict::kUnknown:
      return "Unknown";
  }
  GALEN_UNREACHABLE();
}

std::string_view ToString(CheckSubject subject) {
  switch (subject) {
    case CheckSubject::kDevice:
      return "device";
    case CheckSubject::kLinks:
      return "links";
  }
  GALEN_UNREACHABLE();
}

Json ToJson(const CheckResult& result) {
  return Json::MakeObject({{"format", kFormat},
                           {"device", result.device},
                           {"pciAddress", result.pci_address},
                           {"uuid", result.uuid},
                           {"model", result.model},
                           {"subject", ToString(result.subject)},
                           {"verdict", ToString(result.verdict)},
                           {"code", result.code},
                           {"message", result.message},
                           {"began", FormatRfc3339(result.began, 3)},
                           {"ended", FormatRfc3339(result.ended, 3)},
                           {"bootId", result.boot_id},
                           // As text: a JSON number does not hold 64 bits.
                           {"seed", fmt::format("{:#x}", result.seed)},
                           {"rounds", result.rounds},
                           {"bytes", result.bytes}});
}

StatusOr<CheckResult> ParseCheckResult(std::string_view text) {
  if (text.size() > kCheckResultBytesMax) {
    return InvalidArgument("{} bytes are too many for a result, at most {} fit", text.size(),
                           kCheckResultBytesMax);
  }
  ASSIGN_OR_RETURN(const Json json, Json::Parse(text));
  if (json["format"].AsString() != kFormat) return InvalidArgument("format is not {}", kFormat);
  CheckResult result{.device = json["device"].AsString(),
                     .pci_address = Short(json["pciAddress"]),
                     .uuid = Short(json["uuid"]),
                     .model = Short(json["model"]),
                     .code = Short(json["code"]),
                     .message = Shown(json["message"].AsString(), kCauseMessageBytesMax),
                     .boot_id = Short(json["bootId"]),
                     .rounds = json["rounds"].AsInt(),
                     .bytes = static_cast<std::uint64_t>(json["bytes"].AsInt())};
  if (!IsDnsLabel(result.device)) return InvalidArgument("device is not a DNS label");
  const auto verdict = VerdictOf(json["verdict"].AsString());
  if (!verdict) return InvalidArgument("verdict is not Passed, Failed or Unknown");
  result.verdict = *verdict;
  const std::string& subject = json["subject"].AsString();
  if (subject != "device" && subject != "links") {
    return InvalidArgument("subject is not device or links");
  }
  result.subject = subject == "links" ? CheckSubject::kLinks : CheckSubject::kDevice;
  const auto began = ParseRfc3339(json["began"].AsString());
  const auto ended = ParseRfc3339(json["ended"].AsString());
  if (!began.ok() || !ended.ok())
    return InvalidArgument("began or ended is not a time of RFC 3339");
  result.began = *began;
  result.ended = *ended;
  std::string_view seed = json["seed"].AsString();
  if (seed.starts_with("0x")) seed.remove_prefix(2);
  const char* end = seed.data() + seed.size();
  if (seed.empty() || std::from_chars(seed.data(), end, result.seed, 16).ptr != end) {
    return InvalidArgument("seed is not a hexadecimal number");
  }
  return result;
}

std::string CheckResultFile(std::string_view device, CheckSubject subject) {
  return fmt::format("{}{}.json", device, subject == CheckSubject::kLinks ? ".links" : "");
}

}  // namespace galen
