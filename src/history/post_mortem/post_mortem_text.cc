#include "history/post_mortem/post_mortem_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "history/post_mortem/relevant_finding.h"

namespace galen::history {
namespace {

// By number, as Linux counts on x86-64 and arm64 alike.
constexpr std::array<std::string_view, 32> kSignals = {
    "",          "SIGHUP",  "SIGINT",    "SIGQUIT", "SIGILL",   "SIGTRAP", "SIGABRT", "SIGBUS",
    "SIGFPE",    "SIGKILL", "SIGUSR1",   "SIGSEGV", "SIGUSR2",  "SIGPIPE", "SIGALRM", "SIGTERM",
    "SIGSTKFLT", "SIGCHLD", "SIGCONT",   "SIGSTOP", "SIGTSTP",  "SIGTTIN", "SIGTTOU", "SIGURG",
    "SIGXCPU",   "SIGXFSZ", "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO",   "SIGPWR",  "SIGSYS"};

constexpr std::string_view kNothingCrashed = "nothing crashed";
constexpr std::string_view kNobodySaw = "undetermined: nobody saw how its containers ended";

// "14:02:11 and 14:09:40", with their dates where these differ: on a quiet node nobody may have
// looked for days.
std::string Between(WallTime from, WallTime to) {
  constexpr std::size_t kDate = 10, kClock = 8;  // "2026-11-21T14:02:14Z"
  const std::string a = FormatRfc3339(from, 0), b = FormatRfc3339(to, 0);
  if (a.substr(0, kDate) != b.substr(0, kDate)) return a + " and " + b;
  return a.substr(kDate + 1, kClock) + " and " + b.substr(kDate + 1, kClock);
}

// "gpu-3 Unhealthy since 2026-11-21T14:02:11Z: XID 79", "gpu-3 Unhealthy 13s after the end: XID 79"
std::string FaultText(const RelevantFinding& relevant) {
  const DeviceHealth& health = relevant.finding->health;
  const bool at_the_end = relevant.when == RelevantFinding::When::kAtTheEnd;
  return health.id.device + " " + (at_the_end ? Sentence(health) : DetailOf(relevant));
}

}  // namespace

std::string SignalName(int signal) {
  if (signal > 0 && static_cast<std::size_t>(signal) < kSignals.size()) {
    return std::string(kSignals[static_cast<std::size_t>(signal)]);
  }
  return fmt::format("signal {}", signal);
}

std::string TextOf(const ContainerEnd& end) {
  std::string text = "container " + end.container;
  if (end.exit_code) text += fmt::format(", exit {}", *end.exit_code);
  std::string why;
  // "Error" and "Completed" say no more than the code does.
  if (end.reason != "Error" && end.reason != "Completed") why = end.reason;
  if (const std::optional<int> signal = SignalOf(end)) {
    why += (why.empty() ? "" : ", ") + SignalName(*signal);
  }
  return why.empty() ? text : text + " (" + why + ")";
}

std::string EndText(const PostMortem& record) {
  std::string text(ToString(record.end));
  if (!record.reason.empty() && record.reason != text) text += " (" + record.reason + ")";
  if (record.exact) return text;
  return text + " between " + Between(record.first, record.ended);
}

const ContainerEnd* MostRelevantEnd(const PostMortem& record) {
  const auto bad = std::ranges::find_if(record.containers, EndedBadly);
  if (bad != record.containers.end()) return &*bad;
  return record.containers.empty() ? nullptr : &record.containers.back();
}

std::string VerdictText(const PostMortem& record) {
  if (HasCrash(record) || record.verdict != Verdict{} || record.end == PodEnd::kFailed) {
    return Summary(record.verdict);
  }
  // The Pod was taken away by force, or while nobody looked.
  const bool unseen = record.containers.empty() && record.end != PodEnd::kSucceeded;
  return std::string(unseen ? kNobodySaw : kNothingCrashed);
}

std::string SentenceOf(const PostMortem& record) {
  std::string text = EndText(record);
  if (const ContainerEnd* end = MostRelevantEnd(record)) text += ", " + TextOf(*end);
  const auto relevant = MostRelevantFinding(record);
  if (relevant && IsFault(*relevant)) text += "; " + FaultText(*relevant);
  const std::string verdict = VerdictText(record);
  return text + (verdict == kNothingCrashed ? "; " : "; verdict ") + verdict;
}

}  // namespace galen::history
