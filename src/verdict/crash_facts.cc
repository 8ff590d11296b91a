#include "verdict/crash_facts.h"

#include <fmt/core.h>

#include <algorithm>

#include "verdict/crash_scene.h"

namespace galen {
namespace {

bool Sees(const CrashScene& scene, const DeviceTimeline& device) {
  const std::vector<std::string>& containers = device.containers;
  return scene.end == nullptr || containers.empty() ||
         std::find(containers.begin(), containers.end(), scene.end->container) != containers.end();
}

// Drops each Unknown finding that a later one refutes: the driver says that the device has been
// Healthy since then or longer. `findings` are in the order of arrival.
void DropRefuted(std::vector<DeviceHealth>& findings) {
  for (std::size_t i = findings.size(); i-- > 0;) {
    if (findings[i].state != HealthState::kUnknown) continue;
    const auto at = findings.begin() + static_cast<std::ptrdiff_t>(i);
    const bool refuted = std::any_of(at + 1, findings.end(), [&](const DeviceHealth& later) {
      return later.state == HealthState::kHealthy && later.since <= at->since;
    });
    if (refuted) findings.erase(at);
  }
}

// "0.4 s", "42.0 s", "4m10s".
std::string SpanText(Duration span) {
  if (span >= std::chrono::minutes(1)) return FormatAge(span);
  return fmt::format("{:.1f} s", std::chrono::duration<double>(span).count());
}

std::vector<FactRow> DeviceRows() {
  return {
      {Fact::kDeviceLost, "device lost",
       "a near hardware sign that says that the device is gone, and it lasts"},
      {Fact::kDeviceDown, "device down",
       "a near hardware sign from before the end by which the device is Unhealthy, and it lasts"},
      {Fact::kHardwareJustBefore, "hardware just before",
       "a hardware sign in the minute before the end, not mended before the run began"},
      {Fact::kHardwareSameSecond, "hardware in the same second",
       "a hardware sign in the second of the end: which came first is not known"},
      {Fact::kHardwareAtStart, "hardware at start",
       "a hardware sign from before this run of the container, and it lasts"},
      {Fact::kHardwareEarlier, "hardware earlier",
       "a hardware sign from 5 min to 1 min before the end, and it lasts"},
      {Fact::kHardwareLong, "hardware long before",
       "a hardware sign more than 5 min before the end that lasts; the run began before it, or "
       "nobody knows when"},
      {Fact::kHardwareOver, "hardware over",
       "a hardware sign from 5 min to 1 min before the end that was over by then"},
      {Fact::kHardwareJustAfter, "hardware just after",
       "a hardware sign up to 5 s after the end: drivers poll"},
      {Fact::kHardwareLater, "hardware later", "a hardware sign from 5 s to 5 min after the end"},
      {Fact::kHardwareNear, "hardware near",
       "a hardware sign that is just before, in the same second, at start, earlier or just after"},
      {Fact::kDeviceStrained, "device strained",
       "a lasting fault of the hardware that by itself ends no program: Degraded, too hot, or a "
       "request for a reset"},
      {Fact::kProgramFault, "program fault",
       "a finding of owner Application from 1 min before the end to 5 s after, without a hardware "
       "sign in the minute before it"},
      {Fact::kDriverFault, "driver fault",
       "Unhealthy of owner Driver up to 5 min before the end, without a hardware sign in the "
       "minute before it"},
      {Fact::kPlatformFault, "platform fault", "the same of owner Platform"},
      {Fact::kUnownedFault, "unowned fault",
       "the same of no owner: drivers that are not made with Galen's SDK report none"},
      {Fact::kDeviceTrouble, "device trouble",
       "hardware near, driver fault, platform fault, unowned fault or driver mismatch"},
      {Fact::kDevicesWell, "devices well",
       "each device known Healthy from 1 min before the end, or from the start of a shorter run, "
       "to 5 s after, without a note of owner Hardware"},
  };
}

std::vector<FactRow> EndingRows() {
  return {
      {Fact::kOwnEnding, "own ending",
       "exit 1 to 125, or a signal that the program's own code raises"},
      {Fact::kExitOrdinary, "ordinary exit", "exit 1 to 125"},
      {Fact::kExitCommand, "bad command", "exit 126 or 127"},
      {Fact::kSegfault, "segfault", "SIGSEGV (exit 139)"},
      {Fact::kAbort, "abort", "SIGABRT (exit 134)"},
      {Fact::kArithmetic, "arithmetic", "SIGFPE (exit 136)"},
      {Fact::kBadInstruction, "bad instruction", "SIGILL (exit 132)"},
      {Fact::kBusError, "bus error", "SIGBUS (exit 135)"},
      {Fact::kKilled, "killed", "SIGKILL (exit 137), and not OOMKilled"},
      {Fact::kTerminated, "terminated", "SIGTERM (exit 143)"},
      {Fact::kOom, "OOMKilled", "the reason of the container's end"},
      {Fact::kStartError, "start error", "reason StartError, ContainerCannotRun or alike"},
      {Fact::kStatusUnknown, "status unknown", "reason ContainerStatusUnknown or Unknown"},
      {Fact::kEndedAtOnce, "ended at once", "within 10 s of its start"},
      {Fact::kEndsRepeatedly, "ends repeatedly", "restarted at least 3 times before"},
      {Fact::kSaysDeviceError, "says device error",
       "the termination message names a fault of the hardware"},
      {Fact::kSaysProgramError, "says program error",
       "the termination message names a fault of the program, and none of the hardware"},
      {Fact::kDriverMismatch, "driver mismatch",
       "of kernel module and library, by the termination message or a device's cause"},
  };
}

std::vector<FactRow> SurroundingRows() {
  return {
      {Fact::kSiblingsFell, "siblings fell",
       "other containers on the same device ended badly within 5 s of the end"},
      {Fact::kSiblingsGoOn, "siblings go on",
       "other containers on the same device run on, and none fell"},
      {Fact::kPeersUnharmed, "peers unharmed",
       "ranks of the same workload on Healthy devices, none of which ended badly before"},
      {Fact::kPeersFellFirst, "peers fell first",
       "such ranks ended with the same exit code before or with it, and before any near hardware "
       "sign"},
      {Fact::kOthersFellAlike, "others fell",
       "two or more containers of other workloads, on other devices, ended with the same exit code "
       "within 5 s"},
      {Fact::kEvicted, "evicted", "the Pod's reason is Evicted or TerminationByKubelet"},
      {Fact::kEvictedForDevice, "evicted for device",
       "the Pod's reason is DeletionByDeviceTaintManager"},
      {Fact::kAskedToGo, "asked to go",
       "preempted, drained, shut down or deleted, before it ended"},
      {Fact::kPastDeadline, "past deadline", "the Pod's reason is DeadlineExceeded"},
      {Fact::kReboot, "reboot", "of the node, from 5 min before the end to 2 min after"},
      {Fact::kShutdown, "shutdown", "of the node, in the same time"},
      {Fact::kMemoryPressure, "memory pressure",
       "the kubelet took Pods of the node down for want of memory, in the same time"},
      {Fact::kDiskPressure, "disk pressure", "or for want of another resource, mostly disk"},
  };
}

std::vector<FactRow> AllRows() {
  std::vector<FactRow> rows = DeviceRows();
  for (const std::vector<FactRow>& part : {EndingRows(), SurroundingRows()}) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
  return rows;
}

}  // namespace

const std::vector<FactRow>& FactRows() {
  static const std::vector<FactRow> kRows = AllRows();
  return kRows;
}

std::string_view ToString(Fact fact) {
  const auto row = std::find_if(FactRows().begin(), FactRows().end(),
                                [&](const FactRow& r) { return r.fact == fact; });
  GALEN_CHECK(row != FactRows().end());
  return row->name;
}

CrashScene SceneOf(const CrashEvidence& evidence) {
  const ContainerEnd* end = FirstBadEnd(evidence);
  CrashScene scene{.evidence = evidence,
                   .end = end,
                   .moment = end == nullptr ? evidence.deleted : end->finished,
                   .devices = {}};
  for (const DeviceTimeline& device : evidence.devices) {
    if (!Sees(scene, device)) continue;
    scene.devices.push_back(device);
    std::vector<DeviceHealth>& findings = scene.devices.back().findings;
    DropRefuted(findings);
    // Kept in the order of arrival: one that was reported late may be older than its neighbours.
    std::stable_sort(findings.begin(), findings.end(),
                     [](const auto& x, const auto& y) { return x.since < y.since; });
  }
  return scene;
}

std::string WhenText(WallTime time, WallTime moment) {
  if (time < moment) return SpanText(moment - time) + " before the crash";
  if (time < moment + kEndPrecision) return "within the second of the crash";
  return SpanText(time - moment) + " after the crash";
}

void Note(CrashFacts& facts, Fact fact, FactText text) { facts.try_emplace(fact, std::move(text)); }

CrashFacts ReadFacts(const CrashEvidence& evidence) {
  const CrashScene scene = SceneOf(evidence);
  CrashFacts facts;
  ReadEndingFacts(scene, facts);
  if (scene.moment) {
    ReadDeviceFacts(scene, facts);
    ReadNeighbourFacts(scene, facts);
    ReadNodeFacts(scene, facts);
  }
  for (const Fact trouble : {Fact::kHardwareNear, Fact::kDriverFault, Fact::kPlatformFault,
                             Fact::kUnownedFault, Fact::kDriverMismatch}) {
    if (facts.contains(trouble)) Note(facts, Fact::kDeviceTrouble);
  }
  return facts;
}

}  // namespace galen
