// The rows of VerdictRules(), which judge.h declares and judge.cc applies.
#include <utility>

#include "verdict/judge.h"

namespace galen {
namespace {

// Short, so that a row of the table takes two or three lines.
constexpr VerdictKind kHw = VerdictKind::kHardware;
constexpr VerdictKind kApp = VerdictKind::kApplication;
constexpr VerdictKind kPlat = VerdictKind::kPlatform;

constexpr std::string_view kCatalog = "XID catalog, by the owner in the probes' rules";
constexpr std::string_view kSignals = "signal(7)";
constexpr std::string_view kKubelet = "Kubernetes: reasons of a container's end";
constexpr std::string_view kDisruption = "Kubernetes: reasons of a Pod's end (KEP-3329)";
constexpr std::string_view kNode = "kernel boot id; reasons of the kubelet";
constexpr std::string_view kCuda = "CUDA runtime: names of its errors";
constexpr std::string_view kOrder = "order of events";
constexpr std::string_view kCompare = "comparison with neighbours";

// A function, so that a row of the table below takes two or three lines.
VerdictRule Row(std::string_view name, VerdictKind supports, std::string_view group, double weight,
                std::vector<Fact> holds, std::vector<Fact> lacks, std::string_view sentence,
                std::string_view source) {
  return {name, supports, group, weight, std::move(holds), std::move(lacks), sentence, source};
}

// Signs of the device come first; rows that only support a sign need one nearby.
std::vector<VerdictRule> HardwareRules() {
  return {
      Row("device-lost", kHw, "sign", 0.95, {Fact::kDeviceLost}, {}, "{subject} lost {when}",
          kCatalog),
      Row("fault-just-before", kHw, "sign", 0.90, {Fact::kHardwareJustBefore}, {},
          "{subject} failed {when} ({what})", kCatalog),
      Row("fault-same-second", kHw, "sign", 0.80, {Fact::kHardwareSameSecond}, {},
          "{subject} failed {when} ({what})", kCatalog),
      Row("fault-at-start", kHw, "sign", 0.80, {Fact::kHardwareAtStart}, {},
          "{subject} was bad when it started ({what})", kCatalog),
      Row("fault-earlier", kHw, "sign", 0.60, {Fact::kHardwareEarlier}, {},
          "{subject} failed {when} ({what})", kCatalog),
      Row("fault-just-after", kHw, "sign", 0.50, {Fact::kHardwareJustAfter}, {},
          "{subject} failed {when}, maybe seen late ({what})", kOrder),
      Row("fault-unowned", kHw, "sign", 0.50, {Fact::kUnownedFault}, {},
          "{subject} was Unhealthy {when}, its driver does not say whose fault it is ({what})",
          kOrder),
      Row("fault-long-before", kHw, "sign", 0.30, {Fact::kHardwareLong}, {},
          "{subject} was bad for long ({what})", kOrder),
      Row("fault-over", kHw, "sign", 0.25, {Fact::kHardwareOver}, {},
          "{subject} had failed {when}, and recovered ({what})", kOrder),
      Row("fault-later", kHw, "sign", 0.15, {Fact::kHardwareLater}, {},
          "{subject} failed {when} ({what})", kOrder),
      Row("device-strained", kHw, "strain", 0.15, {Fact::kDeviceStrained}, {},
          "{subject} was not well ({what})", kCatalog),
      Row("says-device-error", kHw, "message", 0.60, {Fact::kSaysDeviceError, Fact::kHardwareNear},
          {}, "it says \"{what}\"", kCuda),
      Row("siblings-fell", kHw, "siblings", 0.50, {Fact::kSiblingsFell, Fact::kHardwareNear}, {},
          "{subject} on the same device crashed with it", kCompare),
      Row("peers-unharmed", kHw, "peers", 0.55, {Fact::kPeersUnharmed, Fact::kHardwareNear}, {},
          "{subject} did not crash first", kCompare),
      Row("bus-error-on-fault", kHw, "ending", 0.30, {Fact::kBusError, Fact::kHardwareNear}, {},
          "{what}: memory behind an address was gone", kSignals),
      Row("evicted-for-fault", kHw, "pod", 0.60, {Fact::kEvictedForDevice, Fact::kHardwareNear}, {},
          "it was taken away because of a device taint", "KEP-5055"),
  };
}

// An ending of the program's own says little while a device, a driver or the node is in trouble.
VerdictRule OwnEnding(std::string_view name, double weight, Fact ending) {
  return Row(name, kApp, "ending", weight, {ending},
             {Fact::kDeviceTrouble, Fact::kAskedToGo, Fact::kReboot, Fact::kShutdown},
             "{subject} ended by {what}", kSignals);
}

std::vector<VerdictRule> ApplicationRules() {
  return {
      Row("out-of-memory", kApp, "ending", 0.90, {Fact::kOom}, {Fact::kMemoryPressure},
          "{subject} exceeded its own memory limit", kKubelet),
      Row("bad-command", kApp, "ending", 0.85, {Fact::kExitCommand}, {},
          "{subject} has no command that can be run ({what})", kKubelet),
      Row("program-fault", kApp, "sign", 0.85, {Fact::kProgramFault}, {},
          "the program's own fault {when} ({what})", kCatalog),
      Row("says-program-error", kApp, "message", 0.70, {Fact::kSaysProgramError}, {},
          "it says \"{what}\"", kCuda),
      Row("devices-well", kApp, "devices", 0.45, {Fact::kDevicesWell, Fact::kOwnEnding},
          {Fact::kDeviceTrouble, Fact::kAskedToGo, Fact::kReboot, Fact::kShutdown},
          "{subject} Healthy throughout", kOrder),
      Row("peers-fell-first", kApp, "peers", 0.60, {Fact::kPeersFellFirst}, {},
          "{subject} ended the same way, not later", kCompare),
      // A program that hangs on a dead device runs on, too, until its watchdog ends it.
      Row("siblings-go-on", kApp, "siblings", 0.40, {Fact::kSiblingsGoOn},
          {Fact::kDeviceLost, Fact::kDeviceDown}, "{subject} on the same device goes on", kCompare),
      Row("ends-repeatedly", kApp, "history", 0.40, {Fact::kEndsRepeatedly, Fact::kDevicesWell}, {},
          "it was restarted {what} times before, on a healthy device", kOrder),
      Row("ends-at-once", kApp, "duration", 0.30, {Fact::kEndedAtOnce, Fact::kDevicesWell}, {},
          "{subject} ended within 10 s of its start", kOrder),
      Row("past-deadline", kApp, "pod", 0.90, {Fact::kPastDeadline}, {},
          "the Pod ran past its own activeDeadlineSeconds", kDisruption),
      OwnEnding("arithmetic", 0.60, Fact::kArithmetic),
      OwnEnding("segfault", 0.50, Fact::kSegfault),
      OwnEnding("bad-instruction", 0.40, Fact::kBadInstruction),
      OwnEnding("ordinary-exit", 0.35, Fact::kExitOrdinary),
      OwnEnding("abort", 0.30, Fact::kAbort),
      OwnEnding("bus-error", 0.15, Fact::kBusError),
  };
}

std::vector<VerdictRule> PlatformRules() {
  return {
      Row("evicted", kPlat, "pod", 0.95, {Fact::kEvicted}, {},
          "the node took the Pod down for want of a resource ({what})", kDisruption),
      Row("asked-to-go", kPlat, "pod", 0.95, {Fact::kAskedToGo}, {},
          "the Pod was asked to go ({what})", kDisruption),
      Row("evicted-for-device", kPlat, "pod", 0.70, {Fact::kEvictedForDevice},
          {Fact::kHardwareNear}, "the Pod was taken away because of a device taint", "KEP-5055"),
      Row("reboot", kPlat, "node", 0.90, {Fact::kReboot}, {}, "the node was started anew {when}",
          kNode),
      Row("shutdown", kPlat, "node", 0.90, {Fact::kShutdown}, {}, "the node was shut down {when}",
          kNode),
      Row("memory-killed", kPlat, "memory", 0.85, {Fact::kOom, Fact::kMemoryPressure}, {},
          "{subject} was killed while the whole node was short of memory", kNode),
      Row("memory-pressure", kPlat, "memory", 0.70, {Fact::kMemoryPressure, Fact::kKilled}, {},
          "the node was short of memory {when}", kNode),
      Row("disk-pressure", kPlat, "disk", 0.30, {Fact::kDiskPressure}, {},
          "the node was short of disk {when}", kNode),
      Row("driver-fault", kPlat, "sign", 0.85, {Fact::kDriverFault}, {},
          "driver or firmware of {subject} failed {when} ({what})", kCatalog),
      Row("platform-fault", kPlat, "sign", 0.85, {Fact::kPlatformFault}, {},
          "what {subject} stands on failed {when} ({what})", kCatalog),
      Row("driver-mismatch", kPlat, "mismatch", 0.90, {Fact::kDriverMismatch}, {},
          "driver and library do not fit together ({what})", kCuda),
      Row("start-error", kPlat, "ending", 0.80, {Fact::kStartError}, {Fact::kSaysProgramError},
          "{subject} could not be started by the runtime", kKubelet),
      Row("status-unknown", kPlat, "ending", 0.70, {Fact::kStatusUnknown}, {},
          "nobody saw how {subject} ended", kKubelet),
      Row("terminated", kPlat, "ending", 0.40, {Fact::kTerminated}, {Fact::kEvictedForDevice},
          "{subject} was ended by {what}", kSignals),
      Row("killed", kPlat, "ending", 0.20, {Fact::kKilled}, {Fact::kHardwareNear},
          "{subject} was killed by {what}", kSignals),
      Row("others-fell", kPlat, "others", 0.70, {Fact::kOthersFellAlike}, {},
          "{subject} of other workloads, on other devices, ended the same way with it", kCompare),
  };
}

std::vector<VerdictRule> AllRules() {
  std::vector<VerdictRule> rules = HardwareRules();
  for (const auto& part : {ApplicationRules(), PlatformRules()}) {
    rules.insert(rules.end(), part.begin(), part.end());
  }
  return rules;
}

}  // namespace

const std::vector<VerdictRule>& VerdictRules() {
  static const std::vector<VerdictRule> kRules = AllRules();
  return kRules;
}

}  // namespace galen
