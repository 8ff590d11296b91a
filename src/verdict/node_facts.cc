// Tested by crash_facts_test.cc: what happened to the node is a part of a crash's facts.
#include "verdict/crash_scene.h"

namespace galen {
namespace {

// A node that goes down takes its containers along before its new boot time; it is up again some
// minutes after. What comes later than this after an end did not cause it.
constexpr Duration kAfterTheEnd = std::chrono::minutes(2);

Fact FactOf(NodeEvent::Kind kind) {
  switch (kind) {
    case NodeEvent::Kind::kReboot:
      return Fact::kReboot;
    case NodeEvent::Kind::kShutdown:
      return Fact::kShutdown;
    case NodeEvent::Kind::kMemoryPressure:
      return Fact::kMemoryPressure;
    case NodeEvent::Kind::kDiskPressure:
      return Fact::kDiskPressure;
  }
  GALEN_UNREACHABLE();
}

bool CountsEvent(const CrashScene& scene, const NodeEvent& event) {
  const Duration after = event.time - *scene.moment;
  if (after > kAfterTheEnd || -after > kCrashWindow) return false;
  // A run that began later has nothing to do with it.
  return scene.end == nullptr || !scene.end->started || event.time >= *scene.end->started;
}

}  // namespace

void ReadNodeFacts(const CrashScene& scene, CrashFacts& facts) {
  for (const NodeEvent& event : scene.evidence.node_events) {
    if (!CountsEvent(scene, event)) continue;
    Note(facts, FactOf(event.kind),
         {.when = WhenText(event.time, *scene.moment), .what = event.text});
  }
}

}  // namespace galen
