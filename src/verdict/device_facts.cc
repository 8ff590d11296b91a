// Tested by crash_facts_test.cc: what devices show about a crash is a part of its facts.
#include <fmt/core.h>

#include <algorithm>

#include "verdict/crash_scene.h"

namespace galen {
namespace {

// A program dies of a lost device in milliseconds, of a silent one when its watchdog ends it.
constexpr Duration kJustBefore = std::chrono::minutes(1);
// Probes look every few seconds; what is reported with the time of the look is that late.
constexpr Duration kJustAfter = std::chrono::seconds(5);
// A fault pulls others behind it: a lost GPU fails its programs, and the driver complains.
constexpr Duration kEchoAfter = std::chrono::minutes(1);

// The meaning of a code for a running program, where state and owner do not show it. Everything
// else is in the probes' own rules (src/probes/rules), which name the owner.
enum class Gravity { kByState, kLost, kEndsProgram, kStrains, kEcho };
struct CodeRow {
  std::string_view code;
  Gravity gravity;
  std::string_view because;
};
constexpr CodeRow kCodes[] = {
    {"XidGpuLost", Gravity::kLost, "no program can use a GPU that left the bus"},
    {"InterfaceGone", Gravity::kLost, "the interface is no more"},
    {"EccContained", Gravity::kEndsProgram, "XID 94: Degraded, and one program was ended by it"},
    {"TemperatureHigh", Gravity::kStrains, "Unhealthy as a precaution; it computes on"},
    {"MemoryTemperatureHigh", Gravity::kStrains, "Unhealthy as a precaution; it computes on"},
    {"RecoveryReset", Gravity::kStrains, "says what to do, not why: XID 109 of a program asks too"},
    {"RecoveryReboot", Gravity::kStrains, "says what to do, not why"},
    {"RecoveryDrain", Gravity::kStrains, "says what to do, not why"},
    {"XidProgramEnded", Gravity::kEcho, "XID 45 follows each program that ended"},
};

Gravity GravityOf(const DeviceHealth& finding) {
  for (const CodeRow& row : kCodes) {
    if (row.code == finding.cause.code) return row.gravity;
  }
  return Gravity::kByState;
}

// Degraded or Unhealthy, and known to be the hardware's.
bool IsHardwareFault(const DeviceHealth& finding) {
  return finding.cause.owner == FaultOwner::kHardware && finding.state >= HealthState::kDegraded;
}

bool IsHardwareSign(const DeviceHealth& finding) {
  if (!IsHardwareFault(finding)) return false;
  const Gravity gravity = GravityOf(finding);
  if (gravity == Gravity::kStrains || gravity == Gravity::kEcho) return false;
  return finding.state == HealthState::kUnhealthy || gravity == Gravity::kEndsProgram;
}

// Only Healthy ends a fault: Unknown means that nobody knows, and another fault hides it at most.
bool LastsUntil(const DeviceTimeline& device, std::size_t index, WallTime time) {
  return std::none_of(device.findings.begin() + static_cast<std::ptrdiff_t>(index) + 1,
                      device.findings.end(), [&](const DeviceHealth& later) {
                        return later.state == HealthState::kHealthy && later.since < time;
                      });
}

std::string NameOf(const CrashScene& scene, const DeviceTimeline& device) {
  return scene.evidence.devices.size() == 1 ? "device" : device.identity.id.device;
}

FactText FactTextOf(const CrashScene& scene, const DeviceTimeline& device,
                    const DeviceHealth& finding) {
  const Cause& cause = finding.cause;
  return {.subject = NameOf(scene, device),
          .when = WhenText(finding.since, *scene.moment),
          .what = cause.message.empty() ? cause.code : cause.message};
}

// A hardware sign that lies before the end; true when it is near.
bool NoteSignBefore(const CrashScene& scene, const DeviceTimeline& device, std::size_t index,
                    CrashFacts& facts) {
  const DeviceHealth& sign = device.findings[index];
  const FactText text = FactTextOf(scene, device, sign);
  const Duration lead = *scene.moment - sign.since;
  const bool lasts = LastsUntil(device, index, *scene.moment);
  const bool at_start =
      lasts && scene.end != nullptr && scene.end->started && sign.since <= *scene.end->started;
  // What was mended before this run began cannot have ended it.
  const bool mended_before =
      scene.end != nullptr && scene.end->started && !LastsUntil(device, index, *scene.end->started);
  const bool same_second = lead < Duration::zero();
  const bool just_before = !same_second && lead <= kJustBefore && !mended_before;
  const bool earlier = lasts && lead > kJustBefore && lead <= kCrashWindow;
  if (same_second) Note(facts, Fact::kHardwareSameSecond, text);
  if (just_before) Note(facts, Fact::kHardwareJustBefore, text);
  if (at_start) Note(facts, Fact::kHardwareAtStart, text);
  if (earlier) Note(facts, Fact::kHardwareEarlier, text);
  const bool near = same_second || just_before || at_start || earlier;
  if (near && lasts && GravityOf(sign) == Gravity::kLost) Note(facts, Fact::kDeviceLost, text);
  const bool down = near && !same_second && lasts && sign.state == HealthState::kUnhealthy;
  if (down) Note(facts, Fact::kDeviceDown, text);
  if (!near && lasts) Note(facts, Fact::kHardwareLong, text);
  if (!near && !lasts && lead <= kCrashWindow) Note(facts, Fact::kHardwareOver, text);
  return near;
}

// True when the sign is near.
bool NoteSign(const CrashScene& scene, const DeviceTimeline& device, std::size_t index,
              CrashFacts& facts) {
  const DeviceHealth& sign = device.findings[index];
  if (sign.since < scene.After()) return NoteSignBefore(scene, device, index, facts);
  const FactText text = FactTextOf(scene, device, sign);
  const Duration late = sign.since - *scene.moment;
  if (late > kCrashWindow) return false;
  const bool just_after = late <= kJustAfter;
  Note(facts, just_after ? Fact::kHardwareJustAfter : Fact::kHardwareLater, text);
  return just_after;
}

// The times of all near hardware signs, with their facts.
std::vector<WallTime> NoteSigns(const CrashScene& scene, CrashFacts& facts) {
  std::vector<WallTime> near;
  for (const DeviceTimeline& device : scene.devices) {
    for (std::size_t i = 0; i < device.findings.size(); ++i) {
      const DeviceHealth& finding = device.findings[i];
      if (IsHardwareSign(finding)) {
        if (!NoteSign(scene, device, i, facts)) continue;
        Note(facts, Fact::kHardwareNear, FactTextOf(scene, device, finding));
        near.push_back(finding.since);
      } else if (IsHardwareFault(finding) && finding.since < scene.After() &&
                 LastsUntil(device, i, *scene.moment)) {
        Note(facts, Fact::kDeviceStrained, FactTextOf(scene, device, finding));
      }
    }
  }
  return near;
}

// Whose fault it is that the device is Unhealthy, where it is not the hardware's or the program's.
std::optional<Fact> OthersFault(const CrashScene& scene, const DeviceTimeline& device,
                                std::size_t index) {
  const DeviceHealth& finding = device.findings[index];
  if (finding.state != HealthState::kUnhealthy || finding.since >= scene.After()) {
    return std::nullopt;
  }
  const Duration lead = *scene.moment - finding.since;
  const bool recent = lead <= kJustBefore;
  const bool lasts = lead <= kCrashWindow && LastsUntil(device, index, *scene.moment);
  if (!recent && !lasts) return std::nullopt;
  switch (finding.cause.owner) {
    case FaultOwner::kDriver:
      return Fact::kDriverFault;
    case FaultOwner::kPlatform:
      return Fact::kPlatformFault;
    case FaultOwner::kNobody:
      return Fact::kUnownedFault;
    case FaultOwner::kHardware:
    case FaultOwner::kApplication:
      return std::nullopt;
  }
  GALEN_UNREACHABLE();
}

bool IsProgramFault(const CrashScene& scene, const DeviceHealth& finding) {
  return finding.cause.owner == FaultOwner::kApplication && GravityOf(finding) != Gravity::kEcho &&
         *scene.moment - finding.since <= kJustBefore &&
         finding.since - *scene.moment <= kJustAfter;
}

// What a driver reports about itself. The code alone would do, but a sign of the hardware is never
// a mismatch of the driver.
bool IsMismatch(const CrashScene& scene, const DeviceHealth& finding) {
  return finding.cause.code == "DriverMismatch" && finding.since < scene.After() &&
         finding.cause.owner != FaultOwner::kHardware;
}

// Signs of others than the hardware, unless they may be its echo.
void NoteOthers(const CrashScene& scene, const std::vector<WallTime>& near, CrashFacts& facts) {
  for (const DeviceTimeline& device : scene.devices) {
    for (std::size_t i = 0; i < device.findings.size(); ++i) {
      const DeviceHealth& finding = device.findings[i];
      const bool echo = std::any_of(near.begin(), near.end(), [&](WallTime sign) {
        return sign < finding.since && finding.since - sign <= kEchoAfter;
      });
      if (echo) continue;
      if (IsProgramFault(scene, finding)) {
        Note(facts, Fact::kProgramFault, FactTextOf(scene, device, finding));
      }
      if (const std::optional<Fact> fault = OthersFault(scene, device, i)) {
        Note(facts, *fault, FactTextOf(scene, device, finding));
      }
      if (IsMismatch(scene, finding)) {
        Note(facts, Fact::kDriverMismatch, {.what = finding.cause.message});
      }
    }
  }
}

// Known Healthy all the time around the end, as far as the run reaches back. A note of the hardware
// (a row that was remapped) is not a fault, and no proof of health either.
bool IsWell(const CrashScene& scene, const DeviceTimeline& device) {
  WallTime from = *scene.moment - kJustBefore;
  const WallTime to = *scene.moment + kJustAfter;
  // The device's health before the run began does not matter: the driver may just have started.
  if (scene.end != nullptr && scene.end->started) from = std::max(from, *scene.end->started);
  const std::vector<DeviceHealth>& findings = device.findings;
  if (findings.empty() || findings.front().since > *scene.moment) return false;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const bool over = i + 1 < findings.size() && findings[i + 1].since <= from;
    if (over || findings[i].since > to) continue;
    const bool noted = findings[i].cause.owner == FaultOwner::kHardware;
    if (findings[i].state != HealthState::kHealthy || noted) return false;
  }
  return true;
}

}  // namespace

void ReadDeviceFacts(const CrashScene& scene, CrashFacts& facts) {
  const std::vector<WallTime> near = NoteSigns(scene, facts);
  NoteOthers(scene, near, facts);
  const std::vector<DeviceTimeline>& devices = scene.devices;
  const bool well = !devices.empty() &&
                    std::all_of(devices.begin(), devices.end(), [&](const DeviceTimeline& device) {
                      return IsWell(scene, device);
                    });
  if (!well) return;
  const std::string subject =
      devices.size() == 1 ? "its device was" : fmt::format("its {} devices were", devices.size());
  Note(facts, Fact::kDevicesWell, {.subject = subject});
}

std::optional<WallTime> FirstNearSign(const CrashScene& scene) {
  CrashFacts ignored;
  const std::vector<WallTime> near = NoteSigns(scene, ignored);
  if (near.empty()) return std::nullopt;
  return *std::min_element(near.begin(), near.end());
}

}  // namespace galen
