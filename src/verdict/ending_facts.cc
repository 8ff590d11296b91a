// Tested by crash_facts_test.cc: how a container ended is a part of a crash's facts.
#include <fmt/core.h>

#include <algorithm>
#include <csignal>

#include "base/text.h"
#include "verdict/crash_scene.h"

namespace galen {
namespace {

constexpr Duration kAtOnce = std::chrono::seconds(10);
constexpr int kRepeatedRestarts = 3;
// Exit codes of shells and container runtimes for a program that may not be run, or is not there.
constexpr int kCannotRun = 126, kNotFound = 127;
constexpr int kOrdinaryMax = 125;
// Limit of a message that a verdict quotes.
constexpr std::size_t kQuoteBytesMax = 60;

struct SignalRow {
  int signal;
  std::string_view name;
  Fact fact;
  bool own;  // a fault of the program's own code raises it
};
constexpr SignalRow kSignalRows[] = {
    {SIGSEGV, "SIGSEGV", Fact::kSegfault, true},    {SIGABRT, "SIGABRT", Fact::kAbort, true},
    {SIGFPE, "SIGFPE", Fact::kArithmetic, true},    {SIGILL, "SIGILL", Fact::kBadInstruction, true},
    {SIGBUS, "SIGBUS", Fact::kBusError, true},      {SIGKILL, "SIGKILL", Fact::kKilled, false},
    {SIGTERM, "SIGTERM", Fact::kTerminated, false},
};

// Reasons of state.terminated. "Unknown" and "ContainerStatusUnknown" stand for a container that
// was gone when somebody looked again: after a reboot, say.
struct ReasonRow {
  std::string_view reason;
  Fact fact;
};
constexpr ReasonRow kEndReasons[] = {
    {"OOMKilled", Fact::kOom},
    {"StartError", Fact::kStartError},
    {"ContainerCannotRun", Fact::kStartError},
    {"CreateContainerError", Fact::kStartError},
    {"RunContainerError", Fact::kStartError},
    {"ContainerStatusUnknown", Fact::kStatusUnknown},
    {"Unknown", Fact::kStatusUnknown},
};
// Reasons of a Pod's status, and of its condition DisruptionTarget.
constexpr ReasonRow kPodReasons[] = {
    {"Evicted", Fact::kEvicted},
    {"TerminationByKubelet", Fact::kEvicted},
    {"DeletionByDeviceTaintManager", Fact::kEvictedForDevice},
    {"Preempting", Fact::kAskedToGo},
    {"PreemptionByScheduler", Fact::kAskedToGo},
    {"DeletionByTaintManager", Fact::kAskedToGo},
    {"EvictionByEvictionAPI", Fact::kAskedToGo},
    {"DeletionByPodGC", Fact::kAskedToGo},
    {"NodeShutdown", Fact::kAskedToGo},
    {"Terminated", Fact::kAskedToGo},
    {"DeadlineExceeded", Fact::kPastDeadline},
};

// A text that a termination message may contain, in lower case; the first row that is found counts.
// A program writes what it likes, so a named fault of the hardware only ever supports a sign.
// nullopt: texts that come with faults of either side; they stop the search before the general rows
// below.
struct MessageRow {
  std::string_view part;
  std::optional<Fact> says;
};
constexpr MessageRow kMessages[] = {
    {"uncorrectable ecc", Fact::kSaysDeviceError},
    {"eccuncorrectable", Fact::kSaysDeviceError},
    {"eccnotcorrectable", Fact::kSaysDeviceError},
    {"ecc error", Fact::kSaysDeviceError},
    {"fallen off the bus", Fact::kSaysDeviceError},
    {"gpu is lost", Fact::kSaysDeviceError},
    {"device is lost", Fact::kSaysDeviceError},
    {"device lost", Fact::kSaysDeviceError},
    {"nvlink error", Fact::kSaysDeviceError},
    {"nvlinkuncorrectable", Fact::kSaysDeviceError},
    {"driver/library version mismatch", Fact::kDriverMismatch},
    {"driver version is insufficient", Fact::kDriverMismatch},
    {"systemdrivermismatch", Fact::kDriverMismatch},
    {"illegal memory access", Fact::kSaysProgramError},
    {"misaligned address", Fact::kSaysProgramError},
    {"device-side assert", Fact::kSaysProgramError},
    {"out of memory", Fact::kSaysProgramError},
    {"modulenotfounderror", Fact::kSaysProgramError},
    {"importerror", Fact::kSaysProgramError},
    {"syntaxerror", Fact::kSaysProgramError},
    {"valueerror", Fact::kSaysProgramError},
    {"keyerror", Fact::kSaysProgramError},
    {"typeerror", Fact::kSaysProgramError},
    {"assertionerror", Fact::kSaysProgramError},
    {"filenotfounderror", Fact::kSaysProgramError},
    {"no such file or directory", Fact::kSaysProgramError},
    {"executable file not found", Fact::kSaysProgramError},
    {"permission denied", Fact::kSaysProgramError},
    {"cuda", std::nullopt},
    {"nccl", std::nullopt},
    {"hip error", std::nullopt},
    {"traceback (most recent call last)", Fact::kSaysProgramError},
    {"panic:", Fact::kSaysProgramError},
    {"exception in thread", Fact::kSaysProgramError},
    {"unhandled exception", Fact::kSaysProgramError},
};

std::string LowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

// The line of `message` that contains the position `at`, cut.
std::string LineAt(const std::string& message, std::size_t at) {
  const std::size_t newline = message.rfind('\n', at);
  const std::size_t begin = newline == std::string::npos ? 0 : newline + 1;
  const std::size_t stop = std::min(message.find('\n', at), message.size());
  return CutText(ToValidUtf8(message.substr(begin, stop - begin)), kQuoteBytesMax);
}

void ReadMessage(const ContainerEnd& end, CrashFacts& facts) {
  const std::string message = LowerCase(end.message);
  for (const MessageRow& row : kMessages) {
    const std::size_t at = message.find(row.part);
    if (at == std::string::npos) continue;
    if (row.says) Note(facts, *row.says, {.what = LineAt(end.message, at)});
    return;
  }
}

// "exit 139 (SIGSEGV)", "exit 1".
std::string HowText(const ContainerEnd& end) {
  const std::optional<int> signal = SignalOf(end);
  std::string text = end.exit_code ? fmt::format("exit {}", *end.exit_code) : "ended";
  if (!signal) return text;
  const auto* const row = std::find_if(std::begin(kSignalRows), std::end(kSignalRows),
                                       [&](const SignalRow& r) { return r.signal == *signal; });
  return text + (row == std::end(kSignalRows) ? fmt::format(" (signal {})", *signal)
                                              : fmt::format(" ({})", row->name));
}

void ReadCode(const ContainerEnd& end, const FactText& text, CrashFacts& facts) {
  const std::optional<int> signal = SignalOf(end);
  for (const SignalRow& row : kSignalRows) {
    if (signal != row.signal) continue;
    Note(facts, row.fact, text);
    if (row.own) Note(facts, Fact::kOwnEnding, text);
  }
  if (signal || !end.exit_code) return;
  const int code = *end.exit_code;
  const bool command = code == kCannotRun || code == kNotFound;
  if (command) Note(facts, Fact::kExitCommand, text);
  if (code < 1 || code > kOrdinaryMax) return;
  Note(facts, Fact::kExitOrdinary, text);
  Note(facts, Fact::kOwnEnding, text);
}

void ReadEnd(const ContainerEnd& end, CrashFacts& facts) {
  const FactText text = {.subject = "container " + end.container, .what = HowText(end)};
  const auto* const reason =
      std::find_if(std::begin(kEndReasons), std::end(kEndReasons),
                   [&](const ReasonRow& row) { return row.reason == end.reason; });
  // Where the runtime says why, the code is only how it did it: SIGKILL for want of memory.
  if (reason != std::end(kEndReasons)) {
    Note(facts, reason->fact, text);
  } else {
    ReadCode(end, text, facts);
  }
  ReadMessage(end, facts);
  if (end.started && end.finished && *end.finished - *end.started <= kAtOnce) {
    Note(facts, Fact::kEndedAtOnce, text);
  }
  if (end.restarts >= kRepeatedRestarts) {
    Note(facts, Fact::kEndsRepeatedly, {.what = fmt::format("{}", end.restarts)});
  }
}

// Whether somebody had asked for the Pod to go: whatever it did then, it did while it was leaving.
bool WasAskedToGo(const CrashScene& scene) {
  const std::optional<WallTime>& deleted = scene.evidence.deleted;
  return deleted && scene.moment && *deleted <= *scene.moment;
}

// "kernel 575.57, library 570.86"; the source of the report where the versions are not known.
std::string MismatchText(const DriverMismatch& mismatch) {
  std::string text;
  if (!mismatch.kernel_version.empty()) text = "kernel " + mismatch.kernel_version;
  if (!mismatch.library_version.empty()) {
    text += (text.empty() ? "library " : ", library ") + mismatch.library_version;
  }
  return text.empty() ? "reported by driver " + mismatch.driver : text;
}

}  // namespace

void ReadEndingFacts(const CrashScene& scene, CrashFacts& facts) {
  if (scene.end != nullptr) ReadEnd(*scene.end, facts);
  for (const ReasonRow& row : kPodReasons) {
    if (row.reason != scene.evidence.pod_reason) continue;
    Note(facts, row.fact, {.what = scene.evidence.pod_reason});
  }
  const bool evicted = facts.contains(Fact::kEvictedForDevice) || facts.contains(Fact::kEvicted);
  if (!evicted && WasAskedToGo(scene)) Note(facts, Fact::kAskedToGo, {.what = "deleted"});
  if (const std::optional<DriverMismatch>& mismatch = scene.evidence.driver_mismatch) {
    Note(facts, Fact::kDriverMismatch, {.what = MismatchText(*mismatch)});
  }
}

}  // namespace galen
