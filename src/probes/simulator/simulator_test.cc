#include "probes/simulator/simulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/loop/fake_loop.h"
#include "probes/rule_file/rule_reader.h"
#include "probes/rules/rule_engine.h"

namespace galen::probes {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const RuleTable& SimulatorTable() {
  static const RuleTable table = *ParseRules(kGpuRules, "gpu");
  return table;
}

class GpuSimulatorTest : public ::testing::Test {
 protected:
  const Sign Observed(std::string_view device, std::string_view name) {
    const std::vector<Sign> signs = *simulator_.Observe();
    for (const Sign& sign : signs) {
      if (sign.device == device && sign.name == name) return sign;
    }
    ADD_FAILURE() << "no sign " << name << " of " << device;
    return {};
  }
  std::string Refusal(std::string_view device, std::string_view sign, std::string_view value) {
    const auto signs = simulator_.Inject(device, sign, value);
    EXPECT_FALSE(signs.ok());
    return signs.ok() ? "" : signs.status().message();
  }

  FakeLoop loop_;
  GpuSimulator simulator_{loop_, Random(7), SimulatorTable(), 8};
};

TEST_F(GpuSimulatorTest, EveryGpuHasAnIdentityOfItsOwn) {
  std::set<std::string> names, serials, uuids, addresses;
  for (const SimulatedGpu& gpu : simulator_.devices()) {
    names.insert(gpu.name);
    serials.insert(gpu.serial);
    uuids.insert(gpu.uuid);
    addresses.insert(gpu.pci_address);
    EXPECT_EQ(gpu.model, "H200");
  }
  for (const auto& all : {names, serials, uuids, addresses}) EXPECT_THAT(all, SizeIs(8));
  EXPECT_EQ(simulator_.devices()[0].name, "gpu-0");
  EXPECT_EQ(simulator_.devices()[0].pci_address, "0000:ff:1f.0");
}

TEST_F(GpuSimulatorTest, TheSameSeedGivesTheSameGpusAndReadings) {
  GpuSimulator again(loop_, Random(7), SimulatorTable(), 8);
  EXPECT_EQ(again.devices(), simulator_.devices());
  EXPECT_EQ(*again.Observe(), *simulator_.Observe());
  GpuSimulator other(loop_, Random(8), SimulatorTable(), 8);
  EXPECT_NE(other.devices(), simulator_.devices());
}

TEST_F(GpuSimulatorTest, WhatItWasToldToShowHasItsUnit) {
  const auto shown = simulator_.Inject("gpu-3", "temperature", "91");
  ASSERT_TRUE(shown.ok());
  std::vector<std::string> raw;
  const auto observed = simulator_.Observe();
  for (const Sign& sign : *observed) {
    if (!sign.raw.empty()) raw.push_back(sign.raw);
  }
  EXPECT_EQ(raw, std::vector<std::string>{"simulator: temperature 91 °C"});
}

TEST_F(GpuSimulatorTest, ManyGpusStillHaveAddressesOfTheirOwn) {
  GpuSimulator many(loop_, Random(7), SimulatorTable(), GpuSimulator::kCountMax);
  std::set<std::string> addresses;
  for (const SimulatedGpu& gpu : many.devices()) addresses.insert(gpu.pci_address);
  EXPECT_THAT(addresses, SizeIs(GpuSimulator::kCountMax));
}

TEST_F(GpuSimulatorTest, UntouchedGpusAreHealthyByTheTableForAsLongAsYouLike) {
  RuleEngine engine(SimulatorTable(), {.driver = "d", .pool = "p"});
  std::vector<std::string> names;
  for (const SimulatedGpu& gpu : simulator_.devices()) names.push_back(gpu.name);
  engine.SetDevices(names, {loop_.Now(), loop_.WallNow()});
  for (int i = 0; i < 500; ++i) {
    engine.Evaluate(*simulator_.Observe(), {loop_.Now(), loop_.WallNow()});
    loop_.Advance(1s);
  }
  for (const DeviceHealth& health : engine.Snapshot()) {
    EXPECT_EQ(health.state, HealthState::kHealthy) << health.cause.message;
  }
}

TEST_F(GpuSimulatorTest, ShowsAnInjectedReadingUntilItIsResetAndOnlyOnThatGpu) {
  loop_.Advance(3s);
  const auto shown = simulator_.Inject("gpu-3", "pcie-width", "8");
  ASSERT_TRUE(shown.ok());
  ASSERT_THAT(*shown, SizeIs(1));
  EXPECT_EQ(shown->front().time, loop_.WallNow());
  EXPECT_EQ(Observed("gpu-3", "pcie-width").value, (std::variant<double, std::string>(8.0)));
  EXPECT_EQ(Observed("gpu-3", "pcie-width").expected, 16);
  EXPECT_EQ(Observed("gpu-4", "pcie-width").value, (std::variant<double, std::string>(16.0)));
  ASSERT_TRUE(simulator_.Inject("gpu-3", "reset", "").ok());
  EXPECT_EQ(Observed("gpu-3", "pcie-width").value, (std::variant<double, std::string>(16.0)));
}

TEST_F(GpuSimulatorTest, AnInjectedEventHappensOnce) {
  const auto shown = simulator_.Inject("gpu-0", "xid", "79");
  ASSERT_TRUE(shown.ok());
  ASSERT_THAT(*shown, SizeIs(1));
  EXPECT_EQ(NumberOf(shown->front()), 79);
  EXPECT_EQ(shown->front().raw, "simulator: xid 79");
  const std::vector<Sign> signs = *simulator_.Observe();
  for (const Sign& sign : signs) EXPECT_NE(sign.name, "xid");
}

TEST_F(GpuSimulatorTest, ResetTellsWhatWasResetSoThatKeptFindingsEnd) {
  const auto host = simulator_.Inject("gpu-0", "reset", "");
  ASSERT_TRUE(host.ok());
  EXPECT_EQ(ValueText(host->back()), "host");
  EXPECT_EQ(ValueText(simulator_.Inject("gpu-0", "reset", "gpu")->back()), "gpu");
  EXPECT_THAT(Refusal("gpu-0", "reset", "world"), HasSubstr("gpu or host"));
}

TEST_F(GpuSimulatorTest, AHiddenSignIsAReadErrorUntilItIsShownAgain) {
  ASSERT_TRUE(simulator_.Inject("gpu-0", "unreadable", "temperature").ok());
  EXPECT_NE(Observed("gpu-0", "temperature").error, "");
  EXPECT_EQ(Observed("gpu-1", "temperature").error, "");
  ASSERT_TRUE(simulator_.Inject("gpu-0", "temperature", "50").ok());
  EXPECT_EQ(Observed("gpu-0", "temperature").error, "");
}

TEST_F(GpuSimulatorTest, RefusesWhatThereIsNotAndSaysWhatThereIs) {
  EXPECT_THAT(Refusal("gpu-9", "xid", "79"), HasSubstr("gpu-0 to gpu-7"));
  EXPECT_THAT(Refusal("gpu-0", "smell", "1"), HasSubstr("temperature, "));
  EXPECT_THAT(Refusal("gpu-0", "temperature", "hot"), HasSubstr("'hot' is not a number"));
  EXPECT_THAT(Refusal("gpu-0", "temperature", "nan"), HasSubstr("not a number"));
  EXPECT_THAT(Refusal("gpu-0", "temperature", "-400"), HasSubstr("from -40 to 150"));
  EXPECT_THAT(Refusal("gpu-0", "xid", "abc"), HasSubstr("'abc' is not a number"));
  EXPECT_THAT(Refusal("gpu-0", "xid", "9999"), HasSubstr("a whole number from 1 to 999"));
  EXPECT_THAT(Refusal("gpu-0", "xid", ""), HasSubstr("empty"));
  EXPECT_THAT(Refusal("gpu-0", "xid", std::string(1000, '9')), HasSubstr("64 bytes"));
  EXPECT_THAT(Refusal("gpu-0", "unreadable", "xid"), HasSubstr("that is read"));
}

}  // namespace
}  // namespace galen::probes
