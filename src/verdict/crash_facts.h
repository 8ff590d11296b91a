// The facts that a verdict's rules are about, read off the evidence: each either holds or does not,
// and what is not known does not hold. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/crash_evidence.h"

namespace galen {

// A hardware sign is a finding of a device that the ended container sees, of FaultOwner::kHardware,
// that ends programs: Unhealthy, or Degraded by a fault that is known to kill its program. What
// merely slows or warns is kDeviceStrained. "Lasts": no Healthy finding came after it.
enum class Fact {
  kDeviceLost,          // a hardware sign that the device is gone, up to 5 min before, and it lasts
  kDeviceDown,          // one before the end, near, by which it is Unhealthy, and it lasts
  kHardwareJustBefore,  // a hardware sign up to 1 min before the end
  kHardwareSameSecond,  // one in the second of the end: nobody knows which came first
  kHardwareAtStart,     // one that was there when this run began, and lasts
  kHardwareEarlier,     // one from 5 min to 1 min before that lasts
  kHardwareLong,        // one from longer before that lasts; when the run began is not known,
                        // or before it
  kHardwareOver,        // one from 5 min to 1 min before that does not last
  kHardwareJustAfter,   // one up to 5 s after: drivers poll
  kHardwareLater,       // one from 5 s to 5 min after
  kHardwareNear,        // any of: just before, same second, at start, earlier, just after
  kDeviceStrained,      // a lasting fault of the hardware that by itself ends no program
  kProgramFault,   // a finding of FaultOwner::kApplication from 1 min before to 5 s after, with
                   // no hardware sign in the minute before it, of which it may be the echo
  kDriverFault,    // Unhealthy by FaultOwner::kDriver, up to 5 min before, no such echo
  kPlatformFault,  // the same by FaultOwner::kPlatform
  kUnownedFault,   // the same by a driver that does not say whose fault it is
  kDeviceTrouble,  // a near hardware sign, any of these three faults, or a driver mismatch
  kDevicesWell,    // each known Healthy from 1 min before, or the start, to 5 s after, no note

  kOwnEnding,       // it exited, or a fault of its own code ended it; not SIGKILL, not SIGTERM
  kExitOrdinary,    // exit 1 to 125
  kExitCommand,     // exit 126 or 127: the command cannot be run or does not exist
  kSegfault,        // SIGSEGV
  kAbort,           // SIGABRT
  kArithmetic,      // SIGFPE
  kBadInstruction,  // SIGILL
  kBusError,        // SIGBUS
  kKilled,          // SIGKILL, and not for its memory
  kTerminated,      // SIGTERM
  kOom,             // reason OOMKilled
  kStartError,      // the runtime could not start it
  kStatusUnknown,   // nobody saw how it ended
  kEndedAtOnce,     // within 10 s of its start
  kEndsRepeatedly,  // restarted at least 3 times before

  kSaysDeviceError,   // its termination message names a fault of the hardware
  kSaysProgramError,  // ... a fault of the program
  kDriverMismatch,    // it, a driver or the evidence names one

  kSiblingsFell,     // other containers on the same device ended badly within 5 s of the end
  kSiblingsGoOn,     // other containers on the same device run on
  kPeersUnharmed,    // ranks of the same workload, on Healthy devices: none ended badly before
  kPeersFellFirst,   // ... some ended with the same exit code before, and before any hardware sign
  kOthersFellAlike,  // two or more of other workloads and devices, same exit code, within 5 s

  kEvicted,           // the node took the Pod down for want of a resource
  kEvictedForDevice,  // the Pod was taken away because of a device taint
  kAskedToGo,         // preempted, drained, deleted or shut down before it ended
  kPastDeadline,      // its own activeDeadlineSeconds

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

// What a rule's sentence says of a fact in this case; "" where it has nothing to say.
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
