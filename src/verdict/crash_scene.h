// What all who derive facts from evidence share: which Pod's end is judged, when it was, which
// devices count, and how times are written. Internal to this room; the evidence is borrowed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/crash_evidence.h"
#include "verdict/crash_facts.h"

namespace galen {

struct CrashScene {
  const CrashEvidence& evidence;
  const ContainerEnd* end;              // nullptr: none ended badly
  std::optional<WallTime> moment;       // of the end; of the deletion when none ended badly
  std::vector<DeviceTimeline> devices;  // that the ended container sees, findings by time

  // The first instant that is surely after the end: `moment` has whole seconds.
  WallTime After() const { return *moment + kEndPrecision; }
};
CrashScene SceneOf(const CrashEvidence& evidence);

// "2.7 s before the crash", "within the second of the crash", "3.0 s after the crash", "4m10s
// before the crash". `moment` has whole seconds, so what came less than one second later counts as
// within it.
std::string WhenText(WallTime time, WallTime moment);

// Adds the fact; the texts of its first occurrence are kept.
void Note(CrashFacts& facts, Fact fact, FactText text = {});

// Each adds what holds of its part. REQUIRES: scene.moment for those of devices and neighbours.
void ReadDeviceFacts(const CrashScene& scene, CrashFacts& facts);
void ReadEndingFacts(const CrashScene& scene, CrashFacts& facts);
void ReadNeighbourFacts(const CrashScene& scene, CrashFacts& facts);
void ReadNodeFacts(const CrashScene& scene, CrashFacts& facts);

// When the first hardware sign came that counts as near (Fact::kHardwareNear); nullopt: none did.
// Asked to see whether something else came before it.
std::optional<WallTime> FirstNearSign(const CrashScene& scene);

}  // namespace galen
