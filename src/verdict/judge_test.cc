#include "verdict/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/fake_crash.h"

namespace galen {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Crash = FakeCrash;

TEST(VerdictKind, ReadsWhatItWritesAndTakesTheRestForOpen) {
  for (const VerdictKind kind : kVerdictKinds) EXPECT_EQ(ParseVerdictKind(ToString(kind)), kind);
  EXPECT_EQ(ParseVerdictKind("hardware"), VerdictKind::kUndetermined);
  EXPECT_EQ(ParseVerdictKind(""), VerdictKind::kUndetermined);
}

TEST(Judge, SaysWhatSpokeForItsKindAndWhatAgainst) {
  const Verdict verdict = Judge(
      Crash().Signal(SIGABRT).Lost(-2696ms).Peers(7).Node(NodeEvent::Kind::kDiskPressure, -1s));
  // (1 - 0.05 * 0.45) * (1 - 0.3)
  EXPECT_EQ(verdict.kind, VerdictKind::kUndetermined) << "what is left is too little";
  EXPECT_EQ(verdict.opposing.size(), 3u);
  const Verdict clear = Judge(Crash().Signal(SIGABRT).Lost(-2696ms).Peers(7));
  EXPECT_EQ(clear.kind, VerdictKind::kHardware);
  EXPECT_NEAR(clear.confidence, 1 - 0.05 * 0.45, 1e-9);
  ASSERT_EQ(clear.supporting.size(), 2u);
  EXPECT_EQ(clear.supporting[0].rule, "device-lost") << "the strongest first";
  EXPECT_EQ(clear.supporting[0].supports, VerdictKind::kHardware);
  EXPECT_TRUE(clear.opposing.empty());
}

TEST(Judge, CountsOfOneGroupOnlyTheStrongest) {
  const Verdict verdict = Judge(Crash().Exit(1).Ecc(-2min).Lost(-1s));
  ASSERT_EQ(verdict.supporting.size(), 1u);
  EXPECT_EQ(verdict.supporting[0].rule, "device-lost");
  EXPECT_DOUBLE_EQ(verdict.confidence, 0.95);
}

TEST(Judge, LeavesOpenWhatNothingSupports) {
  EXPECT_EQ(Judge(CrashEvidence()), Verdict());
  EXPECT_EQ(Judge(Crash().Exit(0)), Verdict());
}

TEST(Summary, IsOneLineForAPerson) {
  EXPECT_EQ(Summary(Judge(Crash().Signal(SIGABRT).Lost(-2696ms).Peers(7))),
            "hardware (0.98): device lost 2.7 s before the crash; 7 sibling ranks on healthy "
            "devices did not crash first");
  EXPECT_EQ(Summary(Judge(Crash().Signal(SIGSEGV))),
            "application (0.72): container train ended by exit 139 (SIGSEGV); its device was "
            "Healthy throughout");
  EXPECT_EQ(Summary(Verdict()), "undetermined: nothing shows why it ended");
}

TEST(Summary, OfAnOpenVerdictSaysWhatSupportsWhat) {
  EXPECT_EQ(Summary(Judge(Crash().Exit(137).Reason("OOMKilled").Ecc(-10s))),
            "undetermined: for hardware: device failed 10.0 s before the crash (XID 48: "
            "uncorrectable memory error); for application: container train exceeded its own "
            "memory limit");
}

TEST(Summary, NamesTheDeviceWhereThereAreSeveral) {
  EXPECT_THAT(Summary(Judge(Crash().Exit(1).AddDevice("gpu-4").Lost(-3s))),
              StartsWith("hardware (0.95): gpu-4 lost 3.0 s before the crash"));
}

TEST(Summary, SaysTheStrongestEvidenceAgainst) {
  EXPECT_THAT(Summary(Judge(Crash().Exit(1).Narrow(-1h).Says("ModuleNotFoundError: apex"))),
              HasSubstr("; but for hardware: device was not well (PCIe link x8"));
}

TEST(Summary, StaysShortWhateverTheMessages) {
  const Verdict verdict =
      Judge(Crash().Exit(1).Bad(-1s, "X", std::string(5000, 'x')).Says(std::string(5000, 'y')));
  EXPECT_LT(Summary(verdict).size(), 700u);
}

}  // namespace
}  // namespace galen
