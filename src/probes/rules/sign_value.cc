#include "probes/rules/sign_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "probes/rules/sign.h"

namespace galen::probes {
namespace {

using Value = std::variant<double, std::string>;

std::optional<double> ToNumber(std::string_view text) {
  Sign sign;
  sign.value = std::string(text);
  return NumberOf(sign);
}

// Texts stay texts, numbers become numbers, so that rules of either form match.
Value ToValue(std::string_view text) {
  if (const std::optional<double> number = ToNumber(text)) return *number;
  return std::string(text);
}

// "7.9e1" is 79 to a computer; whoever writes it for a fault's number meant something else.
bool IsPlainDigits(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool IsAnyText(const SignSpec& sign) {
  return sign.kind == SignKind::kEvent && !sign.whole && !sign.least && !sign.most;
}

bool IsWithin(const SignSpec& sign, double number) {
  return (!sign.least || number >= *sign.least) && (!sign.most || number <= *sign.most);
}

Status Refusal(const SignSpec& sign, std::string_view text) {
  return InvalidArgument("'{}' is nothing that {} can be: {}", Printable(CutText(text, 80)),
                         sign.name, PossibleValues(sign));
}

}  // namespace

StatusOr<Value> ParseSignValue(const SignSpec& sign, std::string_view text) {
  if (text.empty() || text.size() > kSignValueBytesMax) {
    return InvalidArgument("the value of {} is empty or past {} bytes", sign.name,
                           kSignValueBytesMax);
  }
  if (!sign.among.empty()) {
    const bool known = std::find(sign.among.begin(), sign.among.end(), text) != sign.among.end();
    return known ? StatusOr<Value>(ToValue(text)) : Refusal(sign, text);
  }
  if (IsAnyText(sign)) return ToValue(text);
  const std::optional<double> number = ToNumber(text);
  if (!number) {
    return InvalidArgument("'{}' is not a number, as {} needs one: {}",
                           Printable(CutText(text, 80)), sign.name, PossibleValues(sign));
  }
  if (!IsWithin(sign, *number) || (sign.whole && !IsPlainDigits(text))) return Refusal(sign, text);
  return Value(*number);
}

std::string PossibleValues(const SignSpec& sign) {
  std::string all;
  for (std::size_t i = 0; i < sign.among.size(); ++i) {
    const bool last = i + 1 == sign.among.size();
    all += (i == 0 ? "" : last ? " or " : ", ") + sign.among[i];
  }
  if (!all.empty() || IsAnyText(sign)) return all;
  all = sign.whole ? "a whole number" : "a number";
  if (sign.least && sign.most) {
    return fmt::format("{} from {} to {}", all, NumberText(*sign.least), NumberText(*sign.most));
  }
  if (sign.least) return fmt::format("{} from {} on", all, NumberText(*sign.least));
  if (sign.most) return fmt::format("{} up to {}", all, NumberText(*sign.most));
  return all;
}

}  // namespace galen::probes
