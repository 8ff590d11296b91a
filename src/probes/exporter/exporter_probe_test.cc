#include "probes/exporter/exporter_probe.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "base/files/fake_disk_queue.h"
#include "base/loop/fake_loop.h"
#include "probes/rule_file/rule_reader.h"
#include "probes/rules/rule_engine.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kExporterRules = R"(
exporters:
- {name: dcgm, url: "http://127.0.0.1:9400/metrics", labels: {pci: "{pci}"}, every: 10s, patience: 1m}
signs:
- {name: present, kind: reading}
- {name: remap, kind: reading, exporter: dcgm, metric: REMAP_FAILURE}
- {name: ecc, kind: counter, exporter: dcgm, metric: ECC, optional: true}
- {name: doubt, kind: reading, exporter: dcgm, metric: DOUBT, optional: true}
- {name: xid, kind: event, exporter: dcgm, metric: XID}
- {name: reset, kind: event}
rules:
- {id: remap, sign: remap, when: == 1, state: Unhealthy, code: RemapFailed, owner: Hardware,
   sentence: Row remapping failed}
- {id: doubt, sign: doubt, when: == 1, state: Unhealthy, code: Doubted, owner: Hardware,
   sentence: Doubted, enter_for: 25s}
- {id: lost, sign: xid, when: in 79, state: Unhealthy, code: Lost, owner: Hardware, until: reset,
   sentence: "XID {value}: lost"}
- {id: device-back, sign: reset, when: == device, state: Healthy, code: Reset, owner: Platform,
   sentence: reset, clears: [reset, reboot]}
)";

constexpr std::string_view kWell =
    "REMAP_FAILURE{pci=\"00000000:4B:00.0\"} 0\nXID{pci=\"00000000:4B:00.0\"} 0\n";

class ExporterSink final : public SignSink {
 public:
  explicit ExporterSink(std::function<void(const std::vector<Sign>&)> take)
      : take_(std::move(take)) {}
  void OnSigns(std::vector<Sign> signs) override { take_(signs); }

 private:
  std::function<void(const std::vector<Sign>&)> take_;
};

// One device and its engine, beside an exporter whose page a test writes.
class ExporterProbeTest : public ::testing::Test {
 protected:
  ExporterProbeTest() {
    probe_.Start(sink_);
    probe_.SetDevices({{"gpu-0", {{"device", "gpu-0"}, {"pci", "0000:4b:00.0"}}}});
    engine_.SetDevices({"gpu-0"}, {loop_.Now(), loop_.WallNow()});
  }
  void Judge(std::vector<Sign> signs) {
    signs.push_back({.device = "gpu-0", .name = "present", .value = 1.0, .time = loop_.WallNow()});
    engine_.Evaluate(signs, {loop_.Now(), loop_.WallNow()});
  }
  // The device's health once that much time has gone by in looks of 2 s.
  DeviceHealth HealthAfter(Duration time) {
    for (Duration waited{}; waited <= time; waited += 2s) {
      Judge(*probe_.Observe());
      loop_.Advance(2s);
    }
    return engine_.Snapshot().front();
  }

  FakeLoop loop_;
  Metrics metrics_;
  const RuleTable rules_ = *ParseRules(kExporterRules, "r");
  StatusOr<std::string> page_ = std::string(kWell);
  int fetches_ = 0;
  RuleEngine engine_{rules_, {.awaits_checks = true}};
  ExporterSink sink_{[this](const std::vector<Sign>& signs) { Judge(signs); }};
  ExporterProbe probe_{{loop_, NullLog(), metrics_, rules_,
                        [] { return std::make_unique<FakeDiskQueue>(); },
                        [this](const ExporterAddress& address, Duration timeout) {
                          EXPECT_EQ(address.port, 9400);
                          EXPECT_EQ(timeout, 5s);
                          ++fetches_;
                          return page_;
                        }}};
};

TEST_F(ExporterProbeTest, AValueOfThePageIsAFindingAndEndsWithIt) {
  EXPECT_EQ(HealthAfter(0s).state, HealthState::kHealthy);
  page_ = std::string("REMAP_FAILURE{pci=\"0:4b:00.0\"} 1\nXID{pci=\"0:4b:00.0\"} 0\n");
  const DeviceHealth bad = HealthAfter(10s);
  EXPECT_EQ(bad.state, HealthState::kUnhealthy);
  EXPECT_EQ(bad.cause.message, "Row remapping failed");
  EXPECT_EQ(engine_.RawSign("gpu-0"), "exporter dcgm: REMAP_FAILURE 1");
  page_ = std::string(kWell);
  EXPECT_EQ(HealthAfter(10s).state, HealthState::kHealthy);
}

TEST_F(ExporterProbeTest, OneFetchIsForAllSignsAndAsOftenAsTheExporterSays) {
  HealthAfter(9s);
  EXPECT_EQ(fetches_, 1);
  HealthAfter(0s);
  EXPECT_EQ(fetches_, 2);
  EXPECT_EQ(
      metrics_.Value("galen_exporter_fetches_total", {{"exporter", "dcgm"}, {"result", "ok"}}), 2);
}

TEST_F(ExporterProbeTest, ADeviceIsUnknownUntilAPageCame) {
  page_ = Unavailable("connect: refused");
  const DeviceHealth health = HealthAfter(0s);
  EXPECT_EQ(health.state, HealthState::kUnknown);
  EXPECT_EQ(health.cause.code, cause_code::kNotProbed);
}

TEST_F(ExporterProbeTest, AnExporterThatGoesAwayIsUnknownOnlyAfterItsPatience) {
  HealthAfter(0s);
  page_ = Unavailable("connect: refused");
  EXPECT_EQ(HealthAfter(50s).state, HealthState::kHealthy);
  const DeviceHealth health = HealthAfter(20s);
  EXPECT_EQ(health.state, HealthState::kUnknown);
  EXPECT_THAT(health.cause.message,
              HasSubstr("exporter dcgm at http://127.0.0.1:9400/metrics: connect: refused"));
  page_ = std::string(kWell);
  EXPECT_EQ(HealthAfter(10s).state, HealthState::kHealthy);
}

TEST_F(ExporterProbeTest, OneBadPageOfAnExporterThatGoesAwayIsNotConfirmedByItself) {
  HealthAfter(0s);
  page_ = std::string(kWell) + "DOUBT{pci=\"0:4b:00.0\"} 1\n";
  HealthAfter(10s);
  page_ = Unavailable("connect: refused");
  for (int looks = 0; looks < 45; ++looks) {
    EXPECT_NE(HealthAfter(0s).state, HealthState::kUnhealthy) << looks;
  }
}

TEST_F(ExporterProbeTest, PagesOneAfterTheOtherConfirmWhatTheySay) {
  HealthAfter(0s);
  page_ = std::string(kWell) + "DOUBT{pci=\"0:4b:00.0\"} 1\n";
  EXPECT_EQ(HealthAfter(20s).state, HealthState::kHealthy);
  EXPECT_EQ(HealthAfter(20s).state, HealthState::kUnhealthy);
}

TEST_F(ExporterProbeTest, APageThatLiesIsUnknownAndNeverBad) {
  for (const char* value : {"NaN", "x", "+Inf"}) {
    HealthAfter(0s);
    page_ =
        fmt::format("REMAP_FAILURE{{pci=\"0:4b:00.0\"}} {}\nXID{{pci=\"0:4b:00.0\"}} 0\n", value);
    EXPECT_EQ(HealthAfter(80s).state, HealthState::kUnknown) << value;
    page_ = std::string(kWell);
    EXPECT_EQ(HealthAfter(10s).state, HealthState::kHealthy) << value;
  }
}

TEST_F(ExporterProbeTest, ANumberThatChangesIsAnEventAndOneThatWasThereBeforeIsNone) {
  page_ = std::string("REMAP_FAILURE{pci=\"0:4b:00.0\"} 0\nXID{pci=\"0:4b:00.0\"} 79\n");
  EXPECT_EQ(HealthAfter(20s).state, HealthState::kHealthy);
  page_ = std::string(kWell);
  HealthAfter(10s);
  page_ = std::string("REMAP_FAILURE{pci=\"0:4b:00.0\"} 0\nXID{pci=\"0:4b:00.0\"} 79\n");
  EXPECT_EQ(HealthAfter(10s).cause.message, "XID 79: lost");
  page_ = std::string(kWell);
  EXPECT_EQ(HealthAfter(10s).state, HealthState::kUnhealthy);
}

TEST_F(ExporterProbeTest, AnOptionalMetricThatWasShownIsMissed) {
  page_ = std::string(kWell) + "ECC{pci=\"0:4b:00.0\"} 0\n";
  EXPECT_EQ(HealthAfter(0s).state, HealthState::kHealthy);
  page_ = std::string(kWell);
  EXPECT_THAT(HealthAfter(80s).cause.message, HasSubstr("exporter dcgm shows no ECC any more"));
}

TEST_F(ExporterProbeTest, APageOfADeviceThatLeftIsDropped) {
  probe_.SetDevices({});
  EXPECT_THAT(*probe_.Observe(), IsEmpty());
}

}  // namespace
}  // namespace galen::probes
