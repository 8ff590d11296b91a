// What holds of every verdict, over evidence made by chance. A failure names its seed.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "base/test_rounds.h"
#include "model/fake_crash.h"
#include "verdict/judge.h"

namespace galen {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kSeeds = Rounds(20'000, 2'000);

template <typename T, std::size_t kSize>
const T& OneOf(Random& random, const T (&choices)[kSize]) {
  return choices[random.Below(kSize)];
}

// Around the end, mostly close to it.
Duration SomeTime(Random& random) {
  static constexpr Duration kSpans[] = {2s, 10s, 90s, 400s, 30h};
  const Duration span = OneOf(random, kSpans);
  const double fraction = random.Chance(0.7) ? -random.Fraction() : random.Fraction();
  return std::chrono::duration_cast<Duration>(fraction * span);
}

DeviceHealth SomeFinding(Random& random, const DeviceId& id) {
  static constexpr FaultOwner kOwners[] = {FaultOwner::kNobody,      FaultOwner::kHardware,
                                           FaultOwner::kHardware,    FaultOwner::kDriver,
                                           FaultOwner::kApplication, FaultOwner::kPlatform};
  static const char* const kCodes[] = {"XidGpuLost",      "EccUncorrectable", "EccContained",
                                       "TemperatureHigh", "RecoveryReset",    "XidProgramEnded",
                                       "XidPageFault",    "DriverMismatch",   ""};
  DeviceHealth finding;
  finding.id = id;
  finding.state = OneOf(random, kHealthStates);
  finding.cause.code = OneOf(random, kCodes);
  finding.cause.owner = OneOf(random, kOwners);
  finding.since = FakeCrash::kEnd + SomeTime(random);
  return finding;
}

DeviceTimeline SomeDevice(Random& random, std::size_t number) {
  DeviceTimeline device;
  device.identity.id = {"gpu.example.com", "node-7", "gpu-" + std::to_string(number)};
  const std::uint64_t count = random.Below(5);
  for (std::uint64_t i = 0; i < count; ++i) {
    device.findings.push_back(SomeFinding(random, device.identity.id));
  }
  std::sort(device.findings.begin(), device.findings.end(),
            [](const auto& a, const auto& b) { return a.since < b.since; });
  if (random.Chance(0.2)) device.containers = {"other"};
  return device;
}

ContainerEnd SomeEnd(Random& random, std::string container) {
  static constexpr int kCodes[] = {0, 1, 3, 126, 127, 128, 134, 135, 137, 139, 143, 255};
  static const char* const kReasons[] = {"OOMKilled", "StartError", "Unknown"};
  static const char* const kMessages[] = {"uncorrectable ECC error", "ModuleNotFoundError",
                                          "CUDA error: unknown error",
                                          "Driver/library version mismatch"};
  ContainerEnd end{.container = std::move(container), .exit_code = OneOf(random, kCodes)};
  if (random.Chance(0.2)) end.reason = OneOf(random, kReasons);
  if (random.Chance(0.3)) end.message = OneOf(random, kMessages);
  if (random.Chance(0.95)) end.finished = FakeCrash::kEnd + std::chrono::seconds(random.Below(3));
  if (random.Chance(0.8)) end.started = FakeCrash::kEnd - std::chrono::seconds(random.Below(9000));
  end.restarts = static_cast<int>(random.Below(6));
  return end;
}

Neighbour SomeNeighbour(Random& random) {
  Neighbour neighbour;
  neighbour.same_device = random.Chance(0.4);
  neighbour.same_workload = random.Chance(0.5);
  if (random.Chance(0.7)) neighbour.devices = OneOf(random, kHealthStates);
  if (!random.Chance(0.5)) return neighbour;
  neighbour.end = SomeEnd(random, "main");
  neighbour.end->finished = FakeCrash::kEnd + SomeTime(random);
  return neighbour;
}

CrashEvidence SomeEvidence(std::uint64_t seed) {
  static const char* const kPodReasons[] = {"Evicted", "Preempting",
                                            "DeletionByDeviceTaintManager"};
  Random random(seed);
  CrashEvidence evidence;
  evidence.containers.push_back(SomeEnd(random, "train"));
  if (random.Chance(0.3)) evidence.containers.push_back(SomeEnd(random, "proxy"));
  const std::uint64_t devices = random.Below(4), neighbours = random.Below(4);
  for (std::uint64_t i = 0; i < devices; ++i) evidence.devices.push_back(SomeDevice(random, i));
  for (std::uint64_t i = 0; i < neighbours; ++i) {
    evidence.neighbours.push_back(SomeNeighbour(random));
  }
  if (random.Chance(0.1)) {
    evidence.node_events.push_back({.kind = static_cast<NodeEvent::Kind>(random.Below(4)),
                                    .time = FakeCrash::kEnd + SomeTime(random)});
  }
  if (random.Chance(0.1)) evidence.pod_reason = OneOf(random, kPodReasons);
  if (random.Chance(0.1)) evidence.deleted = FakeCrash::kEnd + SomeTime(random);
  if (random.Chance(0.05)) evidence.driver_mismatch.emplace();
  return evidence;
}

bool IsHardwareSign(const DeviceHealth& finding) {
  return finding.cause.owner == FaultOwner::kHardware && finding.state >= HealthState::kDegraded;
}

double InHardware(const CrashEvidence& evidence) {
  const Verdict verdict = Judge(evidence);
  return verdict.kind == VerdictKind::kHardware ? verdict.confidence : 0;
}

// Each evidence that has one sign of the hardware less.
std::vector<CrashEvidence> WithOneSignLess(const CrashEvidence& evidence) {
  std::vector<CrashEvidence> all;
  for (std::size_t d = 0; d < evidence.devices.size(); ++d) {
    for (std::size_t f = 0; f < evidence.devices[d].findings.size(); ++f) {
      if (!IsHardwareSign(evidence.devices[d].findings[f])) continue;
      all.push_back(evidence);
      auto& findings = all.back().devices[d].findings;
      findings.erase(findings.begin() + static_cast<std::ptrdiff_t>(f));
    }
  }
  return all;
}

TEST(EveryVerdict, IsBoundedAndHoldsTogether) {
  std::size_t named = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const CrashEvidence evidence = SomeEvidence(seed);
    const Verdict verdict = Judge(evidence);
    ASSERT_EQ(verdict, Judge(evidence)) << "seed " << seed;
    ASSERT_GE(verdict.confidence, 0) << "seed " << seed;
    ASSERT_LE(verdict.confidence, 1) << "seed " << seed;
    const bool open = verdict.kind == VerdictKind::kUndetermined;
    ASSERT_EQ(open, verdict.confidence == 0) << "seed " << seed;
    ASSERT_EQ(open, verdict.supporting.empty()) << "seed " << seed;
    named += !open;
  }
  EXPECT_GT(named, kSeeds / 10) << "chance must reach verdicts, or this tests nothing";
}

TEST(EveryVerdict, IsHardwareOnlyWithASignOfIts) {
  std::size_t hardware = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    CrashEvidence evidence = SomeEvidence(seed);
    hardware += InHardware(evidence) > 0;
    for (DeviceTimeline& device : evidence.devices) {
      std::erase_if(device.findings, IsHardwareSign);
    }
    ASSERT_NE(Judge(evidence).kind, VerdictKind::kHardware) << "seed " << seed;
  }
  EXPECT_GT(hardware, kSeeds / 100) << "chance must reach verdicts of hardware";
}

TEST(EveryVerdict, IsNoSurerOfHardwareWithLessEvidenceOfIt) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const CrashEvidence evidence = SomeEvidence(seed);
    const double before = InHardware(evidence);
    for (const CrashEvidence& less : WithOneSignLess(evidence)) {
      ASSERT_LE(InHardware(less), before + 1e-12) << "seed " << seed;
    }
  }
}

// Silence proves nothing: a device of which nothing is known is as good as one that is not there.
TEST(EveryVerdict, IsTheSameWithADeviceOfWhichNothingIsKnown) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    CrashEvidence evidence = SomeEvidence(seed);
    const double before = InHardware(evidence);
    Random random(seed);
    DeviceTimeline silent = SomeDevice(random, 9);
    for (DeviceHealth& finding : silent.findings) finding.state = HealthState::kUnknown;
    evidence.devices.push_back(silent);
    // It may well remove the evidence that all devices were well, which supports the application.
    const VerdictKind kind = Judge(evidence).kind;
    ASSERT_TRUE(kind != VerdictKind::kHardware || before > 0) << "seed " << seed;
  }
}

TEST(EveryVerdict, IsNoSurerOfHardwareWithAProgramsOwnFault) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    CrashEvidence evidence = SomeEvidence(seed);
    if (evidence.containers[0].finished != FakeCrash::kEnd) continue;
    const double before = InHardware(evidence);
    evidence.devices.push_back(FakeCrash().PageFault(-2s).evidence().devices[0]);
    ASSERT_LE(InHardware(evidence), before + 1e-12) << "seed " << seed;
  }
}

}  // namespace
}  // namespace galen
