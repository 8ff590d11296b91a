#include "agent/health/health_merger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/agent_metrics.h"
#include "agent/health/fake_change_log.h"
#include "base/loop/fake_loop.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kVendor = "gpu.vendor.example";

DeviceId Theirs(const std::string& device) { return {kVendor, "node-1", device}; }
DeviceId Seen(const std::string& device) { return {kVendor, "probe", device}; }

DeviceHealth Lost(const DeviceId& id) {
  return {.id = id,
          .state = HealthState::kUnhealthy,
          .cause = {.code = "XidGpuLost", .message = "XID 79: GPU has fallen off the bus"}};
}
DeviceHealth Well(const DeviceId& id) { return {.id = id, .state = HealthState::kHealthy}; }

// A vendor's gpu-0 and gpu-1, which the health source calls a and b.
class HealthMergerTest : public ::testing::Test {
 protected:
  HealthMergerTest()
      : log_(
            LogLevel::kInfo, [this] { return loop_.WallNow(); },
            [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }) {
    metric::Declare(metrics_);
    keeper_.emplace(
        HealthKeeper::Edges{loop_, log_, metrics_, journal_}, std::vector<TimeoutRule>{},
        [this](const std::vector<HealthChange>& changes) { changes_ += changes.size(); });
    merger_.emplace(
        HealthMerger::Edges{loop_, log_, *keeper_}, std::vector<TimeoutRule>{},
        [this](const std::string&) { return offered_; },
        [this](const std::string&) { return awaited_; });
  }

  void DriverReports(std::vector<DeviceHealth> devices) {
    DecodedReport report{.report = {.driver = kVendor, .devices = std::move(devices)}};
    merger_->drivers().OnReport(report, loop_.Now());
    loop_.RunUntilIdle();
  }
  enum class Part { kWhole, kFirst, kLast };
  void SourceReports(std::vector<DeviceHealth> devices, Part part = Part::kWhole) {
    DecodedReport report{.report = {.driver = kVendor, .devices = std::move(devices)}};
    report.continues = part == Part::kLast;
    report.more = part == Part::kFirst;
    for (const DeviceHealth& health : report.report.devices) {
      report.facts[health.id] = {.serial = "16", .uuid = "GPU-" + health.id.device};
    }
    merger_->sources().OnReport(report, loop_.Now());
    loop_.RunUntilIdle();
  }
  // "Unhealthy: XID 79: …" of the vendor's device, as everybody sees it.
  std::string Says(const std::string& device) {
    const DeviceHealth health = keeper_->HealthOf(Theirs(device));
    return std::string(ToString(health.state)) + ": " + health.cause.message;
  }

  FakeLoop loop_;
  std::vector<std::string> lines_;
  Log log_;
  Metrics metrics_;
  FakeChangeLog journal_;
  std::map<DeviceId, HardwareIds> offered_ = {{Theirs("gpu-0"), {.uuid = "GPU-a"}},
                                              {Theirs("gpu-1"), {.uuid = "GPU-b"}}};
  bool awaited_ = false;  // a health source
  std::size_t changes_ = 0;
  std::optional<HealthKeeper> keeper_;
  std::optional<HealthMerger> merger_;
};

TEST_F(HealthMergerTest, ADriverWithoutASourcePassesThrough) {
  DriverReports({Well(Theirs("gpu-0"))});
  EXPECT_EQ(Says("gpu-0"), "Healthy: ");
  EXPECT_THAT(journal_.drivers, ElementsAre("+" + kVendor));
  merger_->drivers().OnDriverSilent(
      kVendor, {.code = std::string(cause_code::kDriverGone), .message = "it died"});
  EXPECT_THAT(journal_.drivers, ElementsAre("+" + kVendor, "-" + kVendor + ": it died"));
  loop_.RunUntilIdle();
  EXPECT_EQ(Says("gpu-0"), "Unknown: it died");
}

TEST_F(HealthMergerTest, TheSourcesFindingIsThatOfTheDriversDeviceAndSaysWhoSawIt) {
  SourceReports({Lost(Seen("a")), Well(Seen("b"))});
  EXPECT_EQ(Says("gpu-0"),
            "Unhealthy: XID 79: GPU has fallen off the bus (seen by Galen's probes)");
  EXPECT_EQ(Says("gpu-1"), "Healthy: ");
  EXPECT_EQ(keeper_->cache().entries().size(), 2u) << "none by the source's own names";
  EXPECT_EQ(keeper_->cache().Find(Theirs("gpu-0"))->facts.serial, "16");
}

TEST_F(HealthMergerTest, OfTwoThatKnowTheWorseCountsAndTheSentenceNamesBoth) {
  SourceReports({Lost(Seen("a")), Well(Seen("b"))});
  DriverReports({Well(Theirs("gpu-0")), Lost(Theirs("gpu-1"))});
  EXPECT_EQ(Says("gpu-0"),
            "Unhealthy: XID 79: GPU has fallen off the bus (seen by Galen's probes; "
            "the driver reports Healthy)");
  EXPECT_EQ(Says("gpu-1"),
            "Unhealthy: XID 79: GPU has fallen off the bus (reported by the driver; "
            "Galen's probes report Healthy)");
}

TEST_F(HealthMergerTest, UnknownNeverCountsMoreThanWhatIsKnown) {
  SourceReports({{.id = Seen("a"), .cause = {.code = "Unreadable", .message = "no answer"}}});
  EXPECT_EQ(Says("gpu-0"), "Unknown: no answer");
  DriverReports({Well(Theirs("gpu-0"))});
  EXPECT_EQ(Says("gpu-0"), "Healthy: ");
  DriverReports({{.id = Theirs("gpu-0"), .cause = {.code = "Reported", .message = "starting"}}});
  SourceReports({Well(Seen("a"))});
  EXPECT_EQ(Says("gpu-0"), "Healthy: ");
}

TEST_F(HealthMergerTest, EachSideBecomesStaleByItself) {
  SourceReports({Lost(Seen("a"))});
  DriverReports({Well(Theirs("gpu-0"))});
  loop_.Advance(20s);
  DriverReports({Well(Theirs("gpu-0"))});
  loop_.Advance(11s);
  EXPECT_EQ(Says("gpu-0"), "Healthy: ") << "the source has been silent for 31 s, the driver for 11";
  loop_.Advance(20s);
  EXPECT_THAT(Says("gpu-0"), HasSubstr("Unknown: no report for 30 s"));
}

TEST_F(HealthMergerTest, ADriverThatGoesLeavesWhatTheSourceKnows) {
  SourceReports({Lost(Seen("a"))});
  DriverReports({Well(Theirs("gpu-0"))});
  merger_->drivers().OnDriverSilent(
      kVendor, {.code = std::string(cause_code::kDriverGone), .message = "it died"});
  loop_.RunUntilIdle();
  EXPECT_EQ(Says("gpu-0"),
            "Unhealthy: XID 79: GPU has fallen off the bus (seen by Galen's probes)");
  const std::vector<std::string> drivers = journal_.drivers;
  SourceReports({Well(Seen("a"))});
  EXPECT_EQ(journal_.drivers, drivers) << "a source's report is no sign of its driver";
}

TEST_F(HealthMergerTest, ASourceThatGoesLeavesWhatTheDriverReportsOrAReason) {
  DriverReports({Well(Theirs("gpu-0"))});
  SourceReports({Lost(Seen("a")), Well(Seen("b"))});
  merger_->sources().OnDriverSilent(
      kVendor, {.code = std::string(cause_code::kDriverGone), .message = "source is gone"});
  loop_.RunUntilIdle();
  EXPECT_EQ(Says("gpu-0"), "Healthy: ");
  EXPECT_EQ(Says("gpu-1"), "Unknown: source is gone");
}

TEST_F(HealthMergerTest, WhatTheDriverReportedBeforeTheSourceCameStaysUntilItsDeadline) {
  DriverReports({Lost(Theirs("gpu-0"))});
  SourceReports({Well(Seen("a"))});
  EXPECT_THAT(Says("gpu-0"), HasSubstr("reported by the driver"));
  loop_.Advance(20s);
  SourceReports({Well(Seen("a"))});
  loop_.Advance(11s);
  EXPECT_EQ(Says("gpu-0"), "Healthy: ");
}

TEST_F(HealthMergerTest, ADeviceThatGetsAnotherNameTakesItsHealthAlong) {
  SourceReports({Lost(Seen("a"))});
  offered_ = {{Theirs("gpu-7"), {.uuid = "GPU-a"}}};
  merger_->OnSlicesChanged();
  loop_.RunUntilIdle();
  EXPECT_THAT(Says("gpu-7"), HasSubstr("Unhealthy: XID 79"));
  EXPECT_THAT(Says("gpu-0"), HasSubstr("Unknown: "));
}

// As when `galen-driver pci` is replaced by `galen-driver nvidia`.
TEST_F(HealthMergerTest, TheSuccessorOfASourceMayNameTheSameHardwareOtherwise) {
  SourceReports({Well(Seen("a"))});
  merger_->sources().OnDriverConnected(kVendor);
  DecodedReport other{.report = {.driver = kVendor, .devices = {Lost(Seen("card"))}}};
  other.facts[Seen("card")] = {.uuid = "GPU-a"};
  merger_->sources().OnReport(other, loop_.Now());
  loop_.RunUntilIdle();
  EXPECT_THAT(Says("gpu-0"), HasSubstr("Unhealthy: XID 79"));
  EXPECT_EQ(merger_->WhyNotMatched(Theirs("gpu-0")), "");
}

TEST_F(HealthMergerTest, ADeviceThatItsSourceReportsNoMoreIsItsNoMore) {
  SourceReports({Well(Seen("a")), Lost(Seen("b"))});
  SourceReports({Well(Seen("a"))});
  EXPECT_THAT(Says("gpu-1"), HasSubstr("Unhealthy: "));
  SourceReports({Well(Seen("a"))});
  EXPECT_THAT(Says("gpu-1"), HasSubstr("Unknown: "));
}

TEST_F(HealthMergerTest, ALongReportOfASuccessorLosesNoneOfItsDevicesBetweenItsParts) {
  SourceReports({Well(Seen("a")), Lost(Seen("b"))});
  const std::size_t before = changes_;
  for (int successor = 0; successor < 2; ++successor) {
    merger_->sources().OnDriverConnected(kVendor);
    SourceReports({Well(Seen("a"))}, Part::kFirst);
    EXPECT_THAT(Says("gpu-1"), HasSubstr("Unhealthy: "));
    SourceReports({Lost(Seen("b"))}, Part::kLast);
  }
  EXPECT_EQ(changes_, before);
}

TEST_F(HealthMergerTest, ADeviceThatNoPartOfASuccessorsReportHasIsItsNoMore) {
  SourceReports({Well(Seen("a")), Lost(Seen("b"))});
  merger_->sources().OnDriverConnected(kVendor);
  SourceReports({Well(Seen("a"))}, Part::kFirst);
  SourceReports({Well(Seen("c"))}, Part::kLast);
  EXPECT_THAT(Says("gpu-1"), HasSubstr("Unknown: "));
}

TEST_F(HealthMergerTest, ADeviceThatLeavesItsDriversSlicesKeepsWhatTheProbesSee) {
  SourceReports({Lost(Seen("a")), Well(Seen("b"))});
  offered_ = {{Theirs("gpu-1"), {.uuid = "GPU-b"}}};
  merger_->OnSlicesChanged();
  loop_.RunUntilIdle();
  EXPECT_THAT(Says("gpu-0"), HasSubstr("Unhealthy: XID 79"));
  offered_.clear();
  merger_->OnSlicesChanged();
  SourceReports({Well(Seen("a")), Lost(Seen("b"))});
  EXPECT_EQ(Says("gpu-0"), "Healthy: ");
  EXPECT_THAT(Says("gpu-1"), HasSubstr("Unhealthy: XID 79"));
  keeper_->Forget(Theirs("gpu-1"), "it has left");
  merger_->OnForgotten(Theirs("gpu-1"));
  SourceReports({Well(Seen("a")), Lost(Seen("b"))});
  EXPECT_EQ(keeper_->cache().Find(Theirs("gpu-1")), nullptr);
}

TEST_F(HealthMergerTest, APartThatIsOfferedNoMoreKeepsWhatTheProbesSeeBesideOtherPartsOfItsDevice) {
  offered_ = {{Theirs("gpu-0::0"), {.parent_uuid = "GPU-a"}},
              {Theirs("gpu-0::1"), {.parent_uuid = "GPU-a"}}};
  SourceReports({Lost(Seen("a"))});
  offered_.erase(Theirs("gpu-0::0"));
  merger_->OnSlicesChanged();
  loop_.RunUntilIdle();
  EXPECT_THAT(Says("gpu-0::0"), HasSubstr("Unhealthy: XID 79"));
  EXPECT_THAT(Says("gpu-0::1"), HasSubstr("Unhealthy: XID 79"));
}

TEST_F(HealthMergerTest, ADeviceThatIsOfferedAsOtherHardwareLosesWhatTheProbesSee) {
  SourceReports({Lost(Seen("a"))});
  offered_[Theirs("gpu-0")] = {.uuid = "GPU-new"};
  merger_->OnSlicesChanged();
  loop_.RunUntilIdle();
  EXPECT_THAT(Says("gpu-0"), HasSubstr("Unknown: "));
}

TEST_F(HealthMergerTest, WhatCannotBeMatchedIsLoggedOnceAndSaysWhy) {
  offered_[Theirs("gpu-1")] = {.uuid = "GPU-a"};
  SourceReports({Lost(Seen("a"))});
  SourceReports({Well(Seen("a")), Well(Seen("c"))});
  EXPECT_EQ(keeper_->cache().Find(Theirs("gpu-0")), nullptr);
  EXPECT_THAT(merger_->WhyNotMatched(Theirs("gpu-0")), HasSubstr("UUID GPU-a belongs to two"));
  EXPECT_EQ(std::ranges::count_if(lines_,
                                  [](const std::string& line) {
                                    return line.find("cannot be matched") != std::string::npos;
                                  }),
            2)
      << "each of the two once";
  offered_[Theirs("gpu-1")] = {.uuid = "GPU-b"};
  merger_->OnSlicesChanged();
  loop_.RunUntilIdle();
  EXPECT_EQ(Says("gpu-0"), "Healthy: ");
  EXPECT_EQ(merger_->WhyNotMatched(Theirs("gpu-0")), "");
}

TEST_F(HealthMergerTest, ReportsThatOnlyRepeatChangeNothing) {
  SourceReports({Lost(Seen("a"))});
  DriverReports({Well(Theirs("gpu-0"))});
  const std::size_t before = changes_;
  for (int i = 0; i < 10; ++i) {
    loop_.Advance(10s);
    SourceReports({Lost(Seen("a"))});
    DriverReports({Well(Theirs("gpu-0"))});
    merger_->OnSlicesChanged();
  }
  EXPECT_EQ(changes_, before);
}

// Its driver has no health, so what the agent knew is a source's, which connects a moment later.
TEST_F(HealthMergerTest, ARestartAloneDoesNotMakeADeviceUnknownThatASourceReported) {
  journal_.devices = {Lost(Theirs("gpu-0"))};
  keeper_->Restore();
  merger_->drivers().OnDriverSilent(
      kVendor, {.code = std::string(cause_code::kNotReported), .message = "no health"});
  loop_.RunUntilIdle();
  EXPECT_THAT(Says("gpu-0"), HasSubstr("Unhealthy: "));
  loop_.Advance(31s);
  EXPECT_THAT(Says("gpu-0"), HasSubstr("Unknown: "));
}

TEST_F(HealthMergerTest, AFaultFromBeforeTheStartStandsUntilBothSidesHaveReported) {
  journal_.devices = {Lost(Theirs("gpu-0"))};
  keeper_->Restore();
  awaited_ = true;
  DriverReports({Well(Theirs("gpu-0"))});
  EXPECT_THAT(Says("gpu-0"), HasSubstr("Unhealthy: "));
  EXPECT_FALSE(merger_->HasSource(kVendor));
  SourceReports({Lost(Seen("a"))});
  EXPECT_THAT(Says("gpu-0"), HasSubstr("Unhealthy: "));
  SourceReports({Well(Seen("a"))});
  EXPECT_EQ(Says("gpu-0"), "Healthy: ");
}

TEST_F(HealthMergerTest, AFaultFromBeforeTheStartStandsAlsoWhenTheSourceReportsFirst) {
  journal_.devices = {Lost(Theirs("gpu-0"))};
  keeper_->Restore();
  SourceReports({Well(Seen("a"))});
  EXPECT_THAT(Says("gpu-0"), HasSubstr("Unhealthy: "));
  DriverReports({Well(Theirs("gpu-0"))});
  EXPECT_EQ(Says("gpu-0"), "Healthy: ");
}

TEST_F(HealthMergerTest, AFaultFromBeforeTheStartStandsNoLongerThanASourceIsWaitedFor) {
  journal_.devices = {Lost(Theirs("gpu-0")), Lost(Theirs("gpu-1"))};
  keeper_->Restore();
  awaited_ = true;
  DriverReports({Well(Theirs("gpu-0"))});
  loop_.Advance(HealthMerger::kRestoredHold);
  EXPECT_EQ(Says("gpu-0"), "Healthy: ");
  EXPECT_THAT(Says("gpu-1"), HasSubstr("Unhealthy: ")) << "nobody has reported it, it has 30 s";
}

TEST_F(HealthMergerTest, WhatTheKubeletReportsInTheDriversPlaceHoldsUntilItForgetsTheDevice) {
  const DecodedReport kubelets{.report = {.driver = kVendor, .devices = {Lost(Theirs("gpu-0"))}},
                               .lasting = true};
  merger_->drivers().OnReport(kubelets, loop_.Now());
  for (int i = 0; i < 4; ++i) {
    SourceReports({Well(Seen("a"))});
    loop_.Advance(20s);
  }
  EXPECT_THAT(Says("gpu-0"), HasSubstr("reported by the driver"));
  merger_->drivers().Forget(Theirs("gpu-0"), "no Pod lists it");
  loop_.RunUntilIdle();
  EXPECT_EQ(Says("gpu-0"), "Healthy: ");
}

TEST(MergedHealth, ACauseCountsMoreThanNoneWhereBothAreAsBad) {
  DeviceHealth driver = Lost(Theirs("gpu-0"));
  const DeviceHealth source = Lost(Seen("a"));
  EXPECT_EQ(MergedHealth(&driver, &source).cause.message, driver.cause.message);
  driver.cause = {.code = std::string(cause_code::kReported), .message = "bad"};
  EXPECT_EQ(MergedHealth(&driver, &source).cause.code, "XidGpuLost");
}

}  // namespace
}  // namespace galen::agent
