// Tested by crash_facts_test.cc: what neighbours show about a crash is a part of its facts.
#include <fmt/core.h>

#include "verdict/crash_scene.h"

namespace galen {
namespace {

// Ends that have a common cause lie at most this far apart.
constexpr Duration kTogether = std::chrono::seconds(5);

// A bad end of a known time; nullptr: none.
const ContainerEnd* BadEndOf(const Neighbour& neighbour) {
  const bool bad = neighbour.end && EndedBadly(*neighbour.end) && neighbour.end->finished;
  return bad ? &*neighbour.end : nullptr;
}

bool FellTogether(const CrashScene& scene, const Neighbour& neighbour) {
  const ContainerEnd* end = BadEndOf(neighbour);
  if (end == nullptr) return false;
  const Duration apart = *end->finished - *scene.moment;
  return apart <= kTogether && -apart <= kTogether;
}

bool EndedAlike(const CrashScene& scene, const Neighbour& neighbour) {
  const ContainerEnd* end = BadEndOf(neighbour);
  return end != nullptr && scene.end != nullptr && end->exit_code == scene.end->exit_code;
}

// Another rank of the job, whose own devices are known to be well.
bool IsPeer(const Neighbour& neighbour) {
  return neighbour.same_workload && !neighbour.same_device &&
         neighbour.devices == HealthState::kHealthy;
}

// Whether the neighbour ended the same way before the judged container or in the same second, and
// before the hardware showed anything: a rank that waits in vain for one with a dead device ends
// badly, too.
bool FellFirst(const CrashScene& scene, const Neighbour& neighbour,
               const std::optional<WallTime>& first_sign) {
  const ContainerEnd* end = BadEndOf(neighbour);
  return EndedAlike(scene, neighbour) && *end->finished < scene.After() &&
         *scene.moment - *end->finished <= kCrashWindow &&
         (!first_sign || *end->finished + kEndPrecision <= *first_sign);
}

bool EndedBadlyBefore(const CrashScene& scene, const Neighbour& neighbour) {
  const ContainerEnd* end = BadEndOf(neighbour);
  return end != nullptr && *end->finished < *scene.moment;
}

struct Counts {
  std::size_t siblings_fell = 0, siblings_go_on = 0;
  std::size_t peers = 0, peers_fell_first = 0, peers_fell_before = 0;
  std::size_t others_fell = 0;
};

Counts Count(const CrashScene& scene) {
  const std::optional<WallTime> first_sign = FirstNearSign(scene);
  Counts counts;
  for (const Neighbour& neighbour : scene.evidence.neighbours) {
    const bool together = FellTogether(scene, neighbour);
    if (neighbour.same_device) {
      counts.siblings_fell += together;
      counts.siblings_go_on += !neighbour.end;
    } else if (IsPeer(neighbour)) {
      ++counts.peers;
      counts.peers_fell_first += FellFirst(scene, neighbour, first_sign);
      counts.peers_fell_before += EndedBadlyBefore(scene, neighbour);
    } else if (!neighbour.same_workload) {
      // By chance others end at any time, but hardly in the same way.
      counts.others_fell += together && EndedAlike(scene, neighbour);
    }
  }
  return counts;
}

// "1 sibling rank on a healthy device", "7 sibling ranks on healthy devices".
std::string Ranks(std::size_t count) {
  return count == 1 ? "1 sibling rank on a healthy device"
                    : fmt::format("{} sibling ranks on healthy devices", count);
}

std::string Containers(std::size_t count) {
  return count == 1 ? "1 other container" : fmt::format("{} other containers", count);
}

}  // namespace

void ReadNeighbourFacts(const CrashScene& scene, CrashFacts& facts) {
  const Counts counts = Count(scene);
  if (counts.siblings_fell > 0) {
    Note(facts, Fact::kSiblingsFell, {.subject = Containers(counts.siblings_fell)});
  }
  // A sibling that fell says that the device may be bad; those that go on may just not use it.
  if (counts.siblings_go_on > 0 && counts.siblings_fell == 0) {
    Note(facts, Fact::kSiblingsGoOn, {.subject = Containers(counts.siblings_go_on)});
  }
  if (counts.peers > 0 && counts.peers_fell_before == 0 && counts.peers_fell_first == 0) {
    Note(facts, Fact::kPeersUnharmed, {.subject = Ranks(counts.peers)});
  }
  if (counts.peers_fell_first > 0) {
    Note(facts, Fact::kPeersFellFirst, {.subject = Ranks(counts.peers_fell_first)});
  }
  if (counts.others_fell >= 2) {
    Note(facts, Fact::kOthersFellAlike, {.subject = Containers(counts.others_fell)});
  }
}

}  // namespace galen
