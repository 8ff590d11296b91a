#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/rule_file/rule_reader.h"
#include "probes/rules/rule_engine.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;

const RuleTable& Table(std::string_view text) {
  static const RuleTable gpu = [] {
    StatusOr<RuleTable> table = ParseRules(kGpuRules, "gpu");
    EXPECT_TRUE(table.ok()) << table.status().message();
    return table.ok() ? *table : RuleTable();
  }();
  static const RuleTable nic = [] {
    StatusOr<RuleTable> table = ParseRules(kNicRules, "nic");
    EXPECT_TRUE(table.ok()) << table.status().message();
    return table.ok() ? *table : RuleTable();
  }();
  return text == kGpuRules ? gpu : nic;
}

Sign MakeSign(std::string name, double value, std::optional<double> expected = std::nullopt) {
  Sign sign;
  sign.device = "d";
  sign.name = std::move(name);
  sign.value = value;
  sign.expected = expected;
  return sign;
}

// What the table says of one value that lasts for a minute, on a device that is read otherwise.
struct Verdict {
  DeviceHealth health;
  std::vector<SignRecord> records;
};

Verdict Judge(const RuleTable& table, const Sign& sign, std::vector<Sign> beside = {}) {
  RuleEngine engine(table, {.driver = "gpu.example.com", .pool = "node-7"});
  engine.SetDevices({"d"}, {});
  beside.push_back(MakeSign(&table == &Table(kGpuRules) ? "power" : "present", 1));
  const bool event = table.FindSign(sign.name)->kind == SignKind::kEvent;
  Verdict verdict;
  for (int second = 0; second <= 60; ++second) {
    std::vector<Sign> signs = beside;
    if (!event || second == 0) signs.push_back(sign);
    const Instant at{Time(std::chrono::seconds(second)), WallTime(std::chrono::seconds(second))};
    for (Sign& each : signs) each.time = at.wall;
    Evaluation evaluation = engine.Evaluate(signs, at);
    for (SignRecord& record : evaluation.records) verdict.records.push_back(std::move(record));
  }
  verdict.health = engine.Snapshot().front();
  return verdict;
}

Verdict JudgeGpu(const std::string& name, double value,
                 std::optional<double> expected = std::nullopt) {
  return Judge(Table(kGpuRules), MakeSign(name, value, expected),
               {MakeSign("utilization", name == "utilization" ? value : 90)});
}

TEST(BuiltinRules, BothTablesHold) {
  EXPECT_GE(Table(kGpuRules).rules.size(), 80u);
  EXPECT_GT(Table(kNicRules).rules.size(), 5u);
}

// The catalog of XIDs ends at 172; every number up to it has a row that names it.
TEST(BuiltinRules, EveryXidOfTheCatalogHasARowOfItsOwn) {
  for (int xid = 1; xid <= 172; ++xid) {
    const Verdict verdict = JudgeGpu("xid", xid);
    ASSERT_EQ(verdict.records.size(), 1u) << "XID " << xid;
    EXPECT_NE(verdict.records[0].rule, "xid-other") << "XID " << xid;
    EXPECT_EQ(verdict.records[0].cause.message.find(std::to_string(xid)), 4u)
        << verdict.records[0].cause.message;
  }
}

TEST(BuiltinRules, FaultsOfProgramsLeaveTheGpuHealthyAndAreKeptAsRecords) {
  for (const int xid : {13, 31, 43, 45, 68, 109, 8, 11, 25, 32, 69, 80, 137}) {
    const Verdict verdict = JudgeGpu("xid", xid);
    EXPECT_EQ(verdict.health.state, HealthState::kHealthy) << "XID " << xid;
    ASSERT_EQ(verdict.records.size(), 1u);
    EXPECT_EQ(verdict.records[0].cause.owner, FaultOwner::kApplication) << "XID " << xid;
    EXPECT_FALSE(Table(kGpuRules).FindRule(verdict.records[0].rule)->because.empty());
  }
}

TEST(BuiltinRules, XidsThatNeedAResetOrSupportMakeTheGpuUnhealthy) {
  for (const int xid : {46,  48,  54,  62,  64,  74,  78,  79,  95,  110, 119, 120, 136, 140, 142,
                        143, 144, 149, 150, 151, 155, 156, 158, 159, 166, 167, 169, 171, 172}) {
    EXPECT_EQ(JudgeGpu("xid", xid).health.state, HealthState::kUnhealthy) << "XID " << xid;
  }
}

TEST(BuiltinRules, AnXidThatNobodyKnowsIsTakenSeriously) {
  const Verdict verdict = JudgeGpu("xid", 999);
  EXPECT_EQ(verdict.health.state, HealthState::kUnhealthy);
  EXPECT_EQ(verdict.health.cause.code, "XidUnlisted");
}

struct Row {
  std::string_view sign;
  double value;
  std::optional<double> expected;
  HealthState state;
  double share;
  std::string_view code;
  std::string_view message;
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.sign << " " << row.value; }

class GpuRow : public ::testing::TestWithParam<Row> {};

TEST_P(GpuRow, SaysWhatWasMeasuredAndWhatFollows) {
  const Row& row = GetParam();
  const DeviceHealth health = JudgeGpu(std::string(row.sign), row.value, row.expected).health;
  EXPECT_EQ(health.state, row.state);
  EXPECT_DOUBLE_EQ(health.share, row.share);
  EXPECT_EQ(health.cause.code, row.code);
  EXPECT_EQ(health.cause.message, row.message);
}

constexpr HealthState kGood = HealthState::kHealthy;
constexpr HealthState kLess = HealthState::kDegraded;
constexpr HealthState kBad = HealthState::kUnhealthy;

INSTANTIATE_TEST_SUITE_P(
    All, GpuRow,
    ::testing::Values(
        Row{"temperature", 85, {}, kGood, 1, "", ""},
        Row{"temperature",
            91,
            {},
            kBad,
            1,
            "TemperatureHigh",
            "GPU temperature 91 °C exceeds 85 °C"},
        Row{"memory-temperature",
            96,
            {},
            kBad,
            1,
            "MemoryTemperatureHigh",
            "GPU memory temperature 96 °C exceeds 95 °C"},
        Row{"thermal-slowdown",
            1,
            {},
            kLess,
            0.5,
            "ThermalSlowdown",
            "GPU slows itself down from heat: half its clock or less"},
        Row{"power-brake",
            1,
            {},
            kLess,
            0.5,
            "PowerBrake",
            "Power brake: the power supply holds the GPU at half its clock or less"},
        Row{"ecc-uncorrectable", 0, {}, kGood, 1, "", ""},
        Row{"ecc-uncorrectable",
            2,
            {},
            kBad,
            1,
            "EccUncorrectable",
            "Uncorrectable memory errors since the last reset: 2"},
        Row{"row-remap-failed",
            1,
            {},
            kBad,
            1,
            "RowRemapFailed",
            "A broken memory row could not be replaced: no spare row is left"},
        Row{"row-remap-pending",
            1,
            {},
            kLess,
            1,
            "RowRemapPending",
            "A broken memory row waits for a GPU reset to be replaced"},
        Row{"temperature-margin", 1, {}, kGood, 1, "", ""},
        Row{"temperature-margin",
            0,
            {},
            kLess,
            0.5,
            "TemperatureHigh",
            "GPU is as hot as the limit at which it slows itself down, or hotter"},
        Row{"shutdown-margin", 3, {}, kGood, 1, "", ""},
        Row{"shutdown-margin",
            2,
            {},
            kBad,
            1,
            "TemperatureHigh",
            "GPU is 2 °C below the limit at which it shuts itself down"},
        Row{"software-slowdown",
            1,
            {},
            kLess,
            1,
            "ThermalSlowdown",
            "The driver lowers the GPU's clock because of heat"},
        Row{"page-retirement-pending",
            1,
            {},
            kLess,
            1,
            "PageRetirementPending",
            "A broken memory page waits for a GPU reset to be retired"},
        Row{"inforom-broken",
            1,
            {},
            kLess,
            1,
            "InforomBroken",
            "The checksum of the GPU's InfoROM is wrong: its record of errors cannot be trusted"},
        Row{"active-check", 0, {}, kGood, 1, "", ""},
        Row{"active-check", 1, {}, kBad, 1, "ActiveCheckFailed", "Active check: "},
        Row{"fabric-ready", 1, {}, kGood, 1, "", ""},
        Row{"fabric-ready",
            0,
            {},
            kBad,
            1,
            "FabricNotReady",
            "The NVLink fabric is not ready for this GPU: CUDA cannot start on it"},
        Row{"nvml", 1, {}, kGood, 1, "", ""}, Row{"nvml-events", 1, {}, kGood, 1, "", ""},
        Row{"pcie-width", 16, 16, kGood, 1, "", ""},
        Row{"pcie-width", 8, 16, kLess, 0.5, "PcieWidthReduced",
            "PCIe link x8, expected x16: half the bandwidth"},
        Row{"pcie-width", 4, 16, kLess, 0.25, "PcieWidthReduced",
            "PCIe link x4, expected x16: a quarter of the bandwidth"},
        Row{"pcie-width", 0, 16, kBad, 1, "PcieWidthReduced",
            "PCIe link x0, expected x16: none of the bandwidth"},
        Row{"pcie-speed", 16, 32, kLess, 0.5, "PcieSpeedReduced",
            "PCIe link at 16 GT/s, expected 32 GT/s: half the bandwidth"},
        Row{"nvlinks-up", 18, 18, kGood, 1, "", ""},
        Row{"nvlinks-up", 16, 18, kLess, 0.889, "NvlinkDown",
            "NVLink: 16 of 18 links are up, 89 % of the bandwidth"},
        Row{"nvlinks-up", 0, 18, kBad, 1, "NvlinkDown",
            "NVLink: 0 of 18 links are up, none of the bandwidth"},
        Row{"xid", 79, {}, kBad, 1, "XidGpuLost", "XID 79: GPU has fallen off the bus"},
        Row{"xid",
            94,
            {},
            kLess,
            1,
            "EccContained",
            "XID 94: memory error that was contained to one program"},
        Row{"xid-nonfatal", 145, {}, kGood, 1, "", ""},
        Row{"nvlink-hardware",
            74,
            {},
            kBad,
            1,
            "XidNvlinkError",
            "XID 74: NVLink error, a part of the GPU is broken or needs a reset"},
        Row{"nvlink-link",
            149,
            {},
            kBad,
            1,
            "XidNvlinkLink",
            "XID 149: NVLink error, look at the link's contacts, cables and other end"},
        Row{"nvlink-program", 145, {}, kGood, 1, "", ""},
        Row{"nvlink-ignored", 74, {}, kGood, 1, "", ""},
        Row{"sxid",
            23004,
            {},
            kBad,
            1,
            "NvswitchFatal",
            "NVSwitch SXID 23004: fatal fault, the links of all GPUs need a restart"},
        Row{"sxid",
            20034,
            {},
            kLess,
            1,
            "NvswitchFault",
            "NVSwitch SXID 20034: fault of a port that may stop its link"},
        Row{"sxid", 11012, {}, kGood, 1, "", ""}, Row{"sxid", 28006, {}, kGood, 1, "", ""},
        Row{"gpu-lost", 1, {}, kBad, 1, "XidGpuLost", "GPU has fallen off the bus"},
        Row{"recovery-action", 0, {}, kGood, 1, "", ""},
        Row{"recovery-action", 1, {}, kBad, 1, "RecoveryReset", "GPU asks for a reset"},
        Row{"recovery-action",
            2,
            {},
            kBad,
            1,
            "RecoveryReboot",
            "GPU asks for a reboot of its machine"},
        Row{"aer-corrected", 1, {}, kGood, 1, "", ""},
        Row{"aer-nonfatal",
            1,
            {},
            kBad,
            1,
            "PcieErrorUncorrected",
            "PCIe error that was not corrected, the link stayed up"},
        Row{"aer-fatal", 1, {}, kBad, 1, "PcieErrorFatal", "PCIe error that took the link down"},
        Row{"machine-check", 1, {}, kGood, 1, "", ""}));

// Nobody repairs a GPU for it: the verdict and the agent know the code and both versions by it.
TEST(BuiltinRules, AModuleOfAnotherVersionThanItsLibraryIsUnknownAndTheDriversFault) {
  Sign sign{.device = "d", .name = "kernel-module", .value = "570.124", .expected_text = "570.133"};
  const DeviceHealth health = Judge(Table(kGpuRules), sign).health;
  EXPECT_EQ(health.state, HealthState::kUnknown);
  EXPECT_EQ(health.cause.code, "DriverMismatch");
  EXPECT_EQ(health.cause.owner, FaultOwner::kDriver);
  EXPECT_EQ(health.cause.value, "570.124");
  EXPECT_EQ(health.cause.threshold, "570.133");
  EXPECT_EQ(health.cause.message,
            "The driver's kernel module is 570.124, its library 570.133: programs that start "
            "cannot use the GPU until both are of one version");
  // Versions that are no numbers are compared, too, and not taken for what cannot be read.
  sign.value = "570.124.06";
  sign.expected_text = "570.124.06";
  EXPECT_EQ(Judge(Table(kGpuRules), sign).health.state, HealthState::kHealthy);
}

TEST(BuiltinRules, AKnownFaultOutranksAMismatch) {
  const Sign mismatch{
      .device = "d", .name = "kernel-module", .value = "1.2", .expected_text = "1.3"};
  EXPECT_EQ(Judge(Table(kGpuRules), MakeSign("xid", 79), {mismatch}).health.cause.code,
            "XidGpuLost");
}

TEST(BuiltinRules, ARecoveryThatWasNeverAskedForIsNoEventAtADriversStart) {
  RuleEngine engine(Table(kGpuRules), {.driver = "gpu.example.com", .pool = "node-7"});
  engine.SetDevices({"d"}, {});
  Sign none = MakeSign("recovery-action", 0);
  none.maybe_old = true;
  EXPECT_TRUE(engine.Evaluate({none}, {}).records.empty());
  // An earlier process has found that it was asked for.
  const Evaluation asked = engine.Evaluate({MakeSign("recovery-action", 1)}, {});
  EXPECT_EQ(asked.records.size(), 1u);
  EXPECT_EQ(engine.Evaluate({none}, {}).records.size(), 1u);
  EXPECT_TRUE(engine.Findings("d").empty());
}

TEST(BuiltinRules, AnIdleGpuMayLowerItsLinksSpeedAndStaysHealthy) {
  const Verdict idle =
      Judge(Table(kGpuRules), MakeSign("pcie-speed", 2.5, 32), {MakeSign("utilization", 0)});
  EXPECT_EQ(idle.health.state, HealthState::kHealthy);
}

TEST(BuiltinRules, ALinkWithoutSignalIsUnhealthyAndOneTakenDownOnPurposeSaysSo) {
  const RuleTable& table = Table(kNicRules);
  const DeviceHealth down = Judge(table, MakeSign("carrier", 0), {MakeSign("admin-up", 1)}).health;
  EXPECT_EQ(down.state, HealthState::kUnhealthy);
  EXPECT_EQ(down.cause.message, "Network link is down: no carrier");
  const DeviceHealth off = Judge(table, MakeSign("admin-up", 0), {MakeSign("carrier", 0)}).health;
  EXPECT_EQ(off.cause.code, "InterfaceOff");
  const DeviceHealth gone = Judge(table, MakeSign("present", 0)).health;
  EXPECT_EQ(gone.cause.code, "InterfaceGone");
}

TEST(BuiltinRules, SentencesStayWithinTheirBoundAndWithoutShouting) {
  for (const std::string_view text : {kGpuRules, kNicRules}) {
    for (const Rule& rule : Table(text).rules) {
      EXPECT_LE(rule.sentence.size() + rule.text.size(), kCauseMessageBytesMax) << rule.id;
      EXPECT_EQ(rule.sentence.find('!'), std::string::npos) << rule.id;
      EXPECT_EQ(rule.text.find('!'), std::string::npos) << rule.id;
    }
  }
}

// What extends one of them counts on it.
TEST(BuiltInRules, AreAllFreeOfFaults) {
  const std::string names = BuiltInRuleNames();
  EXPECT_EQ(
      names,
      "amd, amdgpu, dcgm, fpga, gpu, hwmon, intel, memory, mlx5, nic, nvme, nvme-smart, pci, rdma");
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find(", ", at), names.size());
    const std::string name = names.substr(at, end - at);
    const StatusOr<RuleTable> table = ParseRules(BuiltInRules(name), name);
    EXPECT_TRUE(table.ok()) << table.status().message();
    at = end + 2;
  }
  EXPECT_EQ(BuiltInRules("other"), "");
}

}  // namespace
}  // namespace galen::probes
