#include "model/crash_evidence.h"

namespace galen {
namespace {

// A shell and every container runtime report "ended by signal n" as 128 + n; 64 is Linux's last.
constexpr int kSignalBase = 128;
constexpr int kSignalMax = 64;

}  // namespace

bool EndedBadly(const ContainerEnd& end) {
  return end.exit_code.value_or(0) != 0 || end.signal.value_or(0) != 0;
}

bool EndedAsAsked(const ContainerEnd& end, const std::optional<WallTime>& asked) {
  return asked && (!end.finished || *end.finished >= *asked);
}

std::optional<int> SignalOf(const ContainerEnd& end) {
  if (end.signal.value_or(0) != 0) return end.signal;
  const int signal = end.exit_code.value_or(0) - kSignalBase;
  if (signal < 1 || signal > kSignalMax) return std::nullopt;
  return signal;
}

const ContainerEnd* FirstBadEnd(const CrashEvidence& evidence) {
  const ContainerEnd* first = nullptr;
  for (const ContainerEnd& end : evidence.containers) {
    if (!EndedBadly(end)) continue;
    const bool earlier =
        first != nullptr && end.finished && (!first->finished || *end.finished < *first->finished);
    if (first == nullptr || earlier) first = &end;
  }
  return first;
}

}  // namespace galen
