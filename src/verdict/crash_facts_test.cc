#include "verdict/crash_facts.h"

#include <gtest/gtest.h>

#include <set>

#include "model/fake_crash.h"
#include "verdict/crash_scene.h"

namespace galen {
namespace {

using namespace std::chrono_literals;
using CrashOf = FakeCrash;

bool Holds(const CrashEvidence& evidence, Fact fact) { return ReadFacts(evidence).contains(fact); }

TEST(FactRows, HaveEachFactOnceWithANameOfItsOwn) {
  std::set<Fact> facts;
  std::set<std::string_view> names;
  for (const FactRow& row : FactRows()) {
    EXPECT_TRUE(facts.insert(row.fact).second) << row.name;
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.meaning.empty()) << row.name;
    EXPECT_EQ(ToString(row.fact), row.name);
  }
  EXPECT_EQ(facts.size(), static_cast<std::size_t>(Fact::kDiskPressure) + 1) << "the last";
}

TEST(WhenText, CountsFromTheSecondOfTheEnd) {
  const WallTime end = FakeCrash::kEnd;
  EXPECT_EQ(WhenText(end - 2696ms, end), "2.7 s before the crash");
  EXPECT_EQ(WhenText(end - 250s, end), "4m10s before the crash");
  EXPECT_EQ(WhenText(end + 999ms, end), "within the second of the crash");
  EXPECT_EQ(WhenText(end + 3s, end), "3.0 s after the crash");
}

TEST(DeviceFacts, GoByTheTimeOfTheSign) {
  EXPECT_TRUE(Holds(CrashOf().Exit(1).Ecc(-60s), Fact::kHardwareJustBefore));
  EXPECT_FALSE(Holds(CrashOf().Exit(1).Ecc(-61s), Fact::kHardwareJustBefore));
  EXPECT_TRUE(Holds(CrashOf().Exit(1).Ecc(-61s), Fact::kHardwareEarlier));
  EXPECT_TRUE(Holds(CrashOf().Exit(1).Ecc(-300s), Fact::kHardwareEarlier));
  EXPECT_TRUE(Holds(CrashOf().Exit(1).Ecc(-301s), Fact::kHardwareLong));
  EXPECT_TRUE(Holds(CrashOf().Exit(1).Ecc(999ms), Fact::kHardwareSameSecond));
  EXPECT_TRUE(Holds(CrashOf().Exit(1).Ecc(1s), Fact::kHardwareJustAfter));
  EXPECT_TRUE(Holds(CrashOf().Exit(1).Ecc(5s), Fact::kHardwareJustAfter));
  EXPECT_TRUE(Holds(CrashOf().Exit(1).Ecc(5001ms), Fact::kHardwareLater));
  const CrashFacts too_late = ReadFacts(CrashOf().Exit(1).Ecc(301s));
  EXPECT_FALSE(too_late.contains(Fact::kHardwareLater));
  EXPECT_TRUE(too_late.contains(Fact::kDevicesWell));
}

TEST(DeviceFacts, KnowAFaultThatWasOverFromOneThatLasts) {
  const CrashFacts over = ReadFacts(CrashOf().Exit(1).Ecc(-4min).Well(-2min));
  EXPECT_TRUE(over.contains(Fact::kHardwareOver));
  EXPECT_FALSE(over.contains(Fact::kHardwareNear));
  const CrashFacts silent = ReadFacts(CrashOf().Exit(1).Ecc(-4min).Silent(-2min));
  EXPECT_TRUE(silent.contains(Fact::kHardwareEarlier)) << "Unknown ends no fault";
  EXPECT_TRUE(Holds(CrashOf().Exit(1).Ecc(-4min).Hot(-2min), Fact::kHardwareEarlier))
      << "another fault hides it and does not end it";
  EXPECT_FALSE(Holds(CrashOf().Exit(1).Ecc(-20h).Well(-19h), Fact::kHardwareLong));
}

TEST(DeviceFacts, AFaultThatWasMendedBeforeTheRunBeganDidNotEndIt) {
  const CrashFacts before = ReadFacts(CrashOf().Exit(9).RanFor(2s).Ecc(-3500ms).Well(-3s));
  EXPECT_FALSE(before.contains(Fact::kHardwareJustBefore));
  EXPECT_FALSE(before.contains(Fact::kHardwareNear));
  EXPECT_TRUE(before.contains(Fact::kHardwareOver));
  EXPECT_TRUE(Holds(CrashOf().Exit(9).RanFor(4s).Ecc(-3500ms).Well(-3s), Fact::kHardwareJustBefore))
      << "the run had it";
}

TEST(DeviceFacts, KnowAContainerThatStartedOnABadDevice) {
  EXPECT_TRUE(Holds(CrashOf().Exit(1).RanFor(2s).Ecc(-20h), Fact::kHardwareAtStart));
  EXPECT_FALSE(Holds(CrashOf().Exit(1).RanFor(21h).Ecc(-20h), Fact::kHardwareAtStart));
  const CrashFacts unknown = ReadFacts(CrashOf().Exit(1).StartUnknown().Ecc(-20h));
  EXPECT_FALSE(unknown.contains(Fact::kHardwareAtStart)) << "nobody knows when it started";
  EXPECT_TRUE(unknown.contains(Fact::kHardwareLong));
}

TEST(DeviceFacts, DistinguishWhatEndsProgramsFromWhatStrains) {
  EXPECT_TRUE(Holds(CrashOf().Exit(1).Contained(-1s), Fact::kHardwareJustBefore));
  for (const CrashEvidence& strained :
       {CrashOf().Exit(1).Narrow(-1s).evidence(), CrashOf().Exit(1).Hot(-1s).evidence(),
        CrashOf().Exit(1).Bad(-1s, "RecoveryReset", "GPU asks for a reset").evidence()}) {
    const CrashFacts facts = ReadFacts(strained);
    EXPECT_TRUE(facts.contains(Fact::kDeviceStrained));
    EXPECT_FALSE(facts.contains(Fact::kHardwareNear));
    EXPECT_FALSE(facts.contains(Fact::kDevicesWell));
  }
}

TEST(DeviceFacts, OnlyAGoneDeviceIsLost) {
  EXPECT_TRUE(Holds(CrashOf().Exit(1).Lost(-4min), Fact::kDeviceLost));
  EXPECT_FALSE(Holds(CrashOf().Exit(1).Ecc(-4min), Fact::kDeviceLost));
  EXPECT_FALSE(Holds(CrashOf().Exit(1).Lost(-50s).Well(-10s), Fact::kDeviceLost)) << "it came back";
}

TEST(DeviceFacts, TakeAProgramsFaultAfterTheHardwaresForItsEcho) {
  EXPECT_TRUE(Holds(CrashOf().Exit(1).PageFault(-1s), Fact::kProgramFault));
  EXPECT_TRUE(Holds(CrashOf().Exit(1).PageFault(-2s).Ecc(-1s), Fact::kProgramFault))
      << "it was first";
  EXPECT_FALSE(Holds(CrashOf().Exit(1).Ecc(-2s).PageFault(-1s), Fact::kProgramFault));
  EXPECT_FALSE(Holds(CrashOf().Exit(1).ProgramEnded(-1s), Fact::kProgramFault))
      << "follows any end";
  EXPECT_FALSE(Holds(CrashOf().Exit(1).PageFault(-2min), Fact::kProgramFault));
}

TEST(DeviceFacts, NameWhoseFaultItIs) {
  EXPECT_TRUE(Holds(CrashOf().Exit(1).DriverFails(-1s), Fact::kDriverFault));
  EXPECT_FALSE(Holds(CrashOf().Exit(1).Ecc(-3s).DriverFails(-1s), Fact::kDriverFault));
  EXPECT_TRUE(Holds(
      CrashOf().Exit(1).Finds(-1s, HealthState::kUnhealthy, "X", FaultOwner::kPlatform, "cable"),
      Fact::kPlatformFault));
  EXPECT_TRUE(
      Holds(CrashOf().Exit(1).Finds(-1s, HealthState::kUnhealthy, "X", FaultOwner::kNobody, "bad"),
            Fact::kUnownedFault));
  EXPECT_FALSE(Holds(CrashOf().Exit(1).DriverFails(-10min), Fact::kDriverFault));
}

TEST(DeviceFacts, CallDevicesWellOnlyIfAllAreKnownToBe) {
  EXPECT_TRUE(Holds(CrashOf().Exit(1), Fact::kDevicesWell));
  EXPECT_TRUE(Holds(CrashOf().Exit(1).PageFault(-1s), Fact::kDevicesWell)) << "the device is";
  EXPECT_FALSE(Holds(CrashOf().Exit(1).NothingKnown(), Fact::kDevicesWell));
  EXPECT_FALSE(Holds(CrashOf().Exit(1).Silent(-10s), Fact::kDevicesWell));
  EXPECT_FALSE(Holds(CrashOf().Exit(1).Silent(3s), Fact::kDevicesWell));
  EXPECT_TRUE(Holds(CrashOf().Exit(1).Silent(-3min).Well(-2min), Fact::kDevicesWell))
      << "it is again";
  EXPECT_TRUE(Holds(CrashOf().Exit(1).RanFor(20s).Silent(-30s).Well(-25s), Fact::kDevicesWell))
      << "the run began later";
  EXPECT_FALSE(Holds(CrashOf().Exit(1).RanFor(27s).Silent(-30s).Well(-25s), Fact::kDevicesWell));
  EXPECT_FALSE(Holds(CrashOf().Exit(1).NoDevices(), Fact::kDevicesWell));
  EXPECT_FALSE(Holds(CrashOf().Exit(1).AddDevice("gpu-4").NothingKnown(), Fact::kDevicesWell));
  EXPECT_FALSE(Holds(CrashOf().Exit(1).Finds(-10s, HealthState::kHealthy, "XidRowRemapped",
                                             FaultOwner::kHardware, "XID 63: a memory row"),
                     Fact::kDevicesWell));
}

TEST(DeviceFacts, AreOfTheDevicesThatTheContainerSees) {
  EXPECT_FALSE(Holds(CrashOf().Exit(1).SeenBy("other").Ecc(-1s), Fact::kHardwareNear));
  EXPECT_TRUE(Holds(CrashOf().Exit(1).SeenBy("train").Ecc(-1s), Fact::kHardwareNear));
}

TEST(DeviceFacts, GoByTheTimeOfTheSignAndNotByWhenItWasHeard) {
  const CrashFacts facts = ReadFacts(CrashOf().Exit(1).Silent(-2s).Ecc(-4s));
  EXPECT_TRUE(facts.contains(Fact::kHardwareJustBefore));
  EXPECT_FALSE(Holds(CrashOf().Exit(1).Well(-2min).Ecc(-4min), Fact::kHardwareEarlier))
      << "it is over";
}

TEST(DeviceFacts, AreTheDriversWhenItSaysLaterHowADeviceWasThroughItsSilence) {
  EXPECT_FALSE(Holds(CrashOf().Exit(1).Silent(-10s), Fact::kDevicesWell));
  EXPECT_TRUE(Holds(CrashOf().Exit(1).Silent(-10s).Well(-20h), Fact::kDevicesWell));
  EXPECT_FALSE(Holds(CrashOf().Exit(1).Silent(-10s).Well(-5s), Fact::kDevicesWell))
      << "since then only";
}

TEST(DeviceFacts, NeedATimeOfTheEnd) {
  CrashEvidence evidence = CrashOf().Exit(1).Ecc(-1s);
  evidence.containers[0].finished.reset();
  EXPECT_FALSE(Holds(evidence, Fact::kHardwareNear));
  EXPECT_TRUE(Holds(evidence, Fact::kExitOrdinary)) << "what needs none holds";
}

TEST(EndingFacts, GoByReasonThenSignalThenCode) {
  EXPECT_TRUE(Holds(CrashOf().Signal(SIGSEGV), Fact::kSegfault));
  EXPECT_TRUE(Holds(CrashOf().Signal(SIGKILL), Fact::kKilled));
  EXPECT_FALSE(Holds(CrashOf().Signal(SIGKILL), Fact::kOwnEnding));
  const CrashFacts oom = ReadFacts(CrashOf().Signal(SIGKILL).Reason("OOMKilled"));
  EXPECT_TRUE(oom.contains(Fact::kOom));
  EXPECT_FALSE(oom.contains(Fact::kKilled)) << "the signal is only how";
  EXPECT_TRUE(Holds(CrashOf().Exit(127), Fact::kExitCommand));
  EXPECT_TRUE(Holds(CrashOf().Exit(125), Fact::kExitOrdinary));
  EXPECT_FALSE(Holds(CrashOf().Exit(255), Fact::kOwnEnding));
  EXPECT_TRUE(Holds(CrashOf().Exit(1).RanFor(10s), Fact::kEndedAtOnce));
  EXPECT_FALSE(Holds(CrashOf().Exit(1).RanFor(11s), Fact::kEndedAtOnce));
  EXPECT_TRUE(Holds(CrashOf().Exit(1).Restarted(3), Fact::kEndsRepeatedly));
  EXPECT_FALSE(Holds(CrashOf().Exit(1).Restarted(2), Fact::kEndsRepeatedly));
}

TEST(EndingFacts, ReadTheMessageFromTheParticularToTheGeneral) {
  const auto says = [](const std::string& text) { return ReadFacts(CrashOf().Exit(1).Says(text)); };
  const std::string traceback = "Traceback (most recent call last):\n  File \"t.py\"\n";
  EXPECT_TRUE(says(traceback + "KeyError: 'lr'").contains(Fact::kSaysProgramError));
  const CrashFacts ecc = says(traceback + "CUDA error: uncorrectable ECC error encountered");
  EXPECT_TRUE(ecc.contains(Fact::kSaysDeviceError));
  EXPECT_FALSE(ecc.contains(Fact::kSaysProgramError)) << "the traceback only shows where";
  EXPECT_EQ(ecc.at(Fact::kSaysDeviceError).what, "CUDA error: uncorrectable ECC error encountered");
  const CrashFacts either = says(traceback + "CUDA error: unspecified launch failure");
  EXPECT_FALSE(either.contains(Fact::kSaysProgramError));
  EXPECT_FALSE(either.contains(Fact::kSaysDeviceError));
  EXPECT_TRUE(says("Driver/library version mismatch").contains(Fact::kDriverMismatch));
  EXPECT_FALSE(says("protobuf version mismatch").contains(Fact::kDriverMismatch));
}

TEST(EndingFacts, SayOfAMismatchWhatIsKnown) {
  CrashEvidence evidence = CrashOf().Exit(1).Mismatch();
  EXPECT_EQ(ReadFacts(evidence).at(Fact::kDriverMismatch).what, "kernel 575.57, library 570.86");
  evidence.driver_mismatch->kernel_version = "";
  EXPECT_EQ(ReadFacts(evidence).at(Fact::kDriverMismatch).what, "library 570.86");
  evidence.driver_mismatch->library_version = "";
  EXPECT_EQ(ReadFacts(evidence).at(Fact::kDriverMismatch).what,
            "reported by driver gpu.example.com");
}

TEST(EndingFacts, KnowAPodThatWasAskedToGo) {
  EXPECT_TRUE(Holds(CrashOf().Exit(1).Deleted(-1s), Fact::kAskedToGo));
  EXPECT_FALSE(Holds(CrashOf().Exit(1).Deleted(1s), Fact::kAskedToGo)) << "it had crashed by then";
  EXPECT_TRUE(Holds(CrashOf().Exit(143).PodReason("PreemptionByScheduler"), Fact::kAskedToGo));
  const CrashFacts taint =
      ReadFacts(CrashOf().Exit(143).PodReason("DeletionByDeviceTaintManager").Deleted(-1s));
  EXPECT_TRUE(taint.contains(Fact::kEvictedForDevice));
  EXPECT_FALSE(taint.contains(Fact::kAskedToGo));
  EXPECT_FALSE(Holds(CrashOf().Exit(1).PodReason("SomethingNew"), Fact::kAskedToGo));
}

TEST(NeighbourFacts, DistinguishSiblingsPeersAndStrangers) {
  EXPECT_TRUE(Holds(CrashOf().Exit(1).Siblings(1, 1, -5s), Fact::kSiblingsFell));
  EXPECT_FALSE(Holds(CrashOf().Exit(1).Siblings(1, 1, -6s), Fact::kSiblingsFell));
  EXPECT_TRUE(Holds(CrashOf().Exit(1).Siblings(2), Fact::kSiblingsGoOn));
  EXPECT_FALSE(Holds(CrashOf().Exit(1).Siblings(1).Siblings(1, 1, 0s), Fact::kSiblingsGoOn));
  EXPECT_TRUE(Holds(CrashOf().Exit(137).Strangers(2, 137, 1s), Fact::kOthersFellAlike));
  EXPECT_FALSE(Holds(CrashOf().Exit(137).Strangers(1, 137, 1s), Fact::kOthersFellAlike));
  EXPECT_FALSE(Holds(CrashOf().Exit(1).Strangers(2, 137, 1s), Fact::kOthersFellAlike))
      << "by chance";
}

TEST(NeighbourFacts, AskWhichOfTheRanksWasFirst) {
  const CrashFacts unharmed = ReadFacts(CrashOf().Exit(1).Peers(7));
  EXPECT_EQ(unharmed.at(Fact::kPeersUnharmed).subject, "7 sibling ranks on healthy devices");
  EXPECT_TRUE(Holds(CrashOf().Exit(1).Peers(7, 1, 20s), Fact::kPeersUnharmed)) << "they fell later";
  EXPECT_FALSE(Holds(CrashOf().Exit(1).Peers(7).Peers(1, 9, -20s), Fact::kPeersUnharmed));
  EXPECT_TRUE(Holds(CrashOf().Exit(3).Peers(1, 3, 0s), Fact::kPeersFellFirst));
  EXPECT_FALSE(Holds(CrashOf().Exit(3).Peers(1, 4, 0s), Fact::kPeersFellFirst)) << "another way";
  EXPECT_FALSE(Holds(CrashOf().Exit(3).Peers(1, 3, -1s).Ecc(-30s), Fact::kPeersFellFirst))
      << "it may have waited in vain for this one";
  EXPECT_TRUE(Holds(CrashOf().Exit(3).Peers(1, 3, -5s).Ecc(-1s), Fact::kPeersFellFirst));
}

TEST(NodeFacts, CountFromFiveMinutesBeforeToTwoAfterAndWithinTheRun) {
  using Kind = NodeEvent::Kind;
  EXPECT_TRUE(Holds(CrashOf().Exit(1).Node(Kind::kReboot, -5min), Fact::kReboot));
  EXPECT_FALSE(Holds(CrashOf().Exit(1).Node(Kind::kReboot, -5min - 1s), Fact::kReboot));
  EXPECT_TRUE(Holds(CrashOf().Exit(1).Node(Kind::kReboot, 2min), Fact::kReboot));
  EXPECT_FALSE(Holds(CrashOf().Exit(1).Node(Kind::kReboot, 3min), Fact::kReboot));
  EXPECT_FALSE(Holds(CrashOf().Exit(1).RanFor(30s).Node(Kind::kReboot, -1min), Fact::kReboot))
      << "the run began after it";
}

}  // namespace
}  // namespace galen
