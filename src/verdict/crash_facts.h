// The facts that a verdict's rules are about, read off the evidence: each either holds or does not,
// and what is not known does not hold. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/crash_evidence.h"

namespace galen {

// What must be so for each is in its row (FactRows), which docs/guide/verdict.md shows as well.
// There a hardware sign is a finding of a device that the ended container sees, of
// FaultOwner::kHardware, that ends programs: Unhealthy, or Degraded by a fault that is known to
// kill its program. "Lasts": no Healthy finding came after it. What may be the echo of a hardware
// sign is not a fault of a program, driver or platform.
enum class Fact {
  // About its devices.
  kDeviceLost,
  kDeviceDown,
  kHardwareJustBefore,
  kHardwareSameSecond,
  kHardwareAtStart,
  kHardwareEarlier,
  kHardwareLong,
  kHardwareOver,
  kHardwareJustAfter,
  kHardwareLater,
  kHardwareNear,
  kDeviceStrained,
  kProgramFault,
  kDriverFault,
  kPlatformFault,
  kUnownedFault,
  kDeviceTrouble,
  kDevicesWell,

  // About how it ended.
  kOwnEnding,
  kExitOrdinary,
  kExitCommand,
  kSegfault,
  kAbort,
  kArithmetic,
  kBadInstruction,
  kBusError,
  kKilled,
  kTerminated,
  kOom,
  kStartError,
  kStatusUnknown,
  kEndedAtOnce,
  kEndsRepeatedly,
  kSaysDeviceError,
  kSaysProgramError,
  kDriverMismatch,

  // About its neighbours, the Pod and the node.
  kSiblingsFell,
  kSiblingsGoOn,
  kPeersUnharmed,
  kPeersFellFirst,
  kOthersFellAlike,
  kEvicted,
  kEvictedForDevice,
  kAskedToGo,
  kPastDeadline,
  kReboot,
  kShutdown,
  kMemoryPressure,
  kDiskPressure,
};

// One row for each fact, in the order of the enum: its name in the guide and what must be so.
struct FactRow {
  Fact fact;
  std::string_view name;     // "hardware just before"
  std::string_view meaning;  // for the guide
};
const std::vector<FactRow>& FactRows();
std::string_view ToString(Fact fact);  // the row's name

// The texts of a fact for a rule's sentence; "" where it has nothing to say.
struct FactText {
  std::string subject;  // "device", or "gpu-3" of several; "container train"
  std::string when;     // "2.7 s before the crash"
  std::string what;     // "XID 79: GPU has fallen off the bus"
};

// The facts that hold, each with its text.
using CrashFacts = std::map<Fact, FactText>;

// Never fails. Only devices that the container of FirstBadEnd sees count. Without a time of the end
// nothing that depends on it holds.
CrashFacts ReadFacts(const CrashEvidence& evidence);

}  // namespace galen
