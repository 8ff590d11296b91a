#include "model/verdict.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/check.h"

namespace galen {
namespace {

// More reasons than fit one line of a terminal are not read.
constexpr std::size_t kReasonsShown = 3;

// "device lost 2.7 s before the crash; …": the strongest few.
std::string Reasons(const std::vector<Evidence>& evidence, std::size_t count, bool with_kind) {
  std::string text;
  for (std::size_t i = 0; i < std::min(count, evidence.size()); ++i) {
    if (i > 0) text += "; ";
    if (with_kind) {
      std::string kind(ToString(evidence[i].supports));
      kind[0] = static_cast<char>(kind[0] - 'A' + 'a');
      text += fmt::format("for {}: ", kind);
    }
    text += evidence[i].sentence;
  }
  return text;
}

}  // namespace

std::string_view ToString(VerdictKind kind) {
  switch (kind) {
    case VerdictKind::kUndetermined:
      return "Undetermined";
    case VerdictKind::kHardware:
      return "Hardware";
    case VerdictKind::kApplication:
      return "Application";
    case VerdictKind::kPlatform:
      return "Platform";
  }
  GALEN_UNREACHABLE();
}

VerdictKind ParseVerdictKind(std::string_view text) {
  for (const VerdictKind kind : kVerdictKinds) {
    if (text == ToString(kind)) return kind;
  }
  return VerdictKind::kUndetermined;
}

std::string Summary(const Verdict& verdict) {
  if (verdict.kind == VerdictKind::kUndetermined) {
    if (verdict.opposing.empty()) return "undetermined: nothing shows why it ended";
    return "undetermined: " + Reasons(verdict.opposing, kReasonsShown, true);
  }
  std::string kind(ToString(verdict.kind));
  kind[0] = static_cast<char>(kind[0] - 'A' + 'a');
  std::string text = fmt::format("{} ({:.2f}): {}", kind, verdict.confidence,
                                 Reasons(verdict.supporting, kReasonsShown, false));
  if (verdict.opposing.empty()) return text;
  return text + "; but " + Reasons(verdict.opposing, 1, true);
}

}  // namespace galen
