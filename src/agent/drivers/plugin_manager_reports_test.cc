// How long reports, floods and reports of parts are read; the rest is in plugin_manager_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/agent_metrics.h"
#include "agent/drivers/fake_plugin.h"
#include "agent/drivers/plugin_manager.h"
#include "base/loop/fake_loop.h"
#include "base/random.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The devices of the reports that are handed on, in order: "gpu-0 Healthy".
class RecordedReports final : public HealthSink {
 public:
  std::size_t OnReport(const DecodedReport& report, Time) override {
    most_devices = std::max(most_devices, report.report.devices.size());
    ends += report.more ? 0 : 1;
    for (const DeviceHealth& health : report.report.devices) {
      calls.push_back(health.id.device + " " + std::string(ToString(health.state)));
    }
    return report.report.devices.size();
  }
  bool HasRoom() const override { return has_room; }
  void OnDriverConnected(const std::string& driver) override { calls.push_back("+" + driver); }
  void Forget(const DeviceId&, const std::string&) override {}
  void OnDriverSilent(const std::string& driver, const Cause&) override {
    calls.push_back("-" + driver);
  }
  std::vector<std::string> Take() { return std::exchange(calls, {}); }

  std::vector<std::string> calls;
  std::size_t most_devices = 0;  // in one call
  std::size_t ends = 0;          // of reports
  bool has_room = true;
};

class PluginManagerReportsTest : public ::testing::Test {
 protected:
  PluginManagerReportsTest() : dialer_(network_.MakeDialer(weather_)) {
    metric::Declare(metrics_);
    PluginManager::Options options;
    options.rules.real_path = [this](const std::string& path) { return directory_.RealPath(path); };
    options.rules.kubelet_root = "/var/lib/kubelet";
    manager_.emplace(PluginManager::Edges{loop_, random_, NullLog(), metrics_, *dialer_, sink_},
                     std::move(options));
    watcher_.emplace(loop_, NullLog(), directory_, *manager_);
    watcher_->Start();
  }

  FakePlugin& Add(FakePlugin::Options options = {}) {
    plugins_.push_back(
        std::make_unique<FakePlugin>(loop_, network_, directory_, std::move(options)));
    plugins_.back()->Report({{.device = "gpu-0"}});
    plugins_.back()->Start();
    return *plugins_.back();
  }
  static FakePlugin::Options Second() {
    FakePlugin::Options options;
    options.socket = "/var/lib/kubelet/plugins_registry/gpu.example.com-2-reg.sock";
    options.endpoint = "/var/lib/kubelet/plugins/gpu.example.com/dra-2.sock";
    return options;
  }
  static std::vector<FakeReport> Devices(int count) {
    std::vector<FakeReport> devices;
    for (int i = 0; i < count; ++i) devices.push_back({.device = "d" + std::to_string(i)});
    return devices;
  }

  FakeLoop loop_;
  Random random_{1};
  Metrics metrics_;
  net::LinkWeather weather_;
  net::FakeNetwork network_{loop_, random_};
  FakeSocketDirectory directory_;
  std::vector<std::unique_ptr<FakePlugin>> plugins_;
  std::unique_ptr<net::Dialer> dialer_;
  RecordedReports sink_;
  std::optional<PluginManager> manager_;
  std::optional<PluginWatcher> watcher_;
};

TEST_F(PluginManagerReportsTest, AnOldInstanceThatReportsInPartsStepsInWithAllOfThem) {
  FakePlugin& old_instance = Add();
  old_instance.ReportFirst({{{.device = "nic-0", .health = 2}}, {{.device = "nic-1"}}});
  loop_.Advance(10ms);
  FakePlugin& new_instance = Add(Second());
  loop_.Advance(10ms);
  sink_.Take();
  new_instance.Kill();
  loop_.Advance(10ms);
  EXPECT_THAT(sink_.Take(),
              ElementsAre("+gpu.example.com", "nic-0 Unhealthy", "nic-1 Healthy", "gpu-0 Healthy"));
}

TEST_F(PluginManagerReportsTest, PartsOfAReportDoNotTakeEachOthersPlaceInAFlood) {
  FakePlugin& plugin = Add();
  loop_.Advance(10ms);
  for (int i = 0; i < 20'000; ++i) plugin.Report({{.device = "gpu-0", .health = 1 + i % 2}});
  for (const char* device : {"gpu-1", "gpu-2", "gpu-3"}) plugin.Report({{.device = device}});
  loop_.Advance(60s);
  const std::vector<std::string> calls = sink_.Take();
  for (const char* device : {"gpu-1", "gpu-2", "gpu-3"}) {
    EXPECT_THAT(calls, Contains(std::string(device) + " Healthy"));
  }
}

TEST_F(PluginManagerReportsTest, ALongReportIsTakenInPartsAndOthersInBetween) {
  FakePlugin& large = Add();
  FakePlugin::Options other = Second();
  other.driver = "nic.example.com";
  FakePlugin& small = Add(other);
  loop_.Advance(10ms);
  sink_.Take();
  large.Report(Devices(4'000));
  small.Report({{.device = "eth-0"}});
  loop_.Advance(1s);
  const std::vector<std::string> calls = sink_.Take();
  ASSERT_THAT(calls, SizeIs(4'001));
  EXPECT_LE(sink_.most_devices, PluginManager::kDevicesPerStep);
  EXPECT_NE(calls.back(), "eth-0 Healthy");
  EXPECT_THAT(calls, Contains("d3999 Healthy"));
}

TEST_F(PluginManagerReportsTest, ALongReportWaitsForWhatComesOfTheOneBefore) {
  FakePlugin& plugin = Add();
  loop_.Advance(10ms);
  sink_.Take();
  sink_.has_room = false;
  plugin.Report(Devices(1'000));
  loop_.Advance(1s);
  EXPECT_THAT(sink_.Take(), IsEmpty());
  sink_.ends = 0;
  sink_.has_room = true;
  loop_.Advance(1s);
  EXPECT_THAT(sink_.Take(), SizeIs(1'000));
  EXPECT_EQ(sink_.ends, 1u) << "only the last part ends the report";
}

TEST_F(PluginManagerReportsTest, ALongReportOfAnInstanceThatStepsInAgainIsReadOnce) {
  FakePlugin& old_instance = Add();
  loop_.Advance(10ms);
  sink_.has_room = false;
  old_instance.Report(Devices(1'000));
  loop_.Advance(10ms);
  FakePlugin& new_instance = Add(Second());
  loop_.Advance(10ms);
  new_instance.Kill();
  loop_.Advance(10ms);
  sink_.Take();
  sink_.has_room = true;
  loop_.Advance(1s);
  EXPECT_THAT(sink_.Take(), SizeIs(1'000));
}

TEST_F(PluginManagerReportsTest, ALongReportOfAnInstanceThatGoesIsForgotten) {
  FakePlugin& plugin = Add();
  loop_.Advance(10ms);
  sink_.has_room = false;
  plugin.Report(Devices(1'000));
  loop_.Advance(1s);
  plugin.Stop();
  loop_.Advance(1s);
  sink_.Take();
  sink_.has_room = true;
  loop_.Advance(1s);
  EXPECT_THAT(sink_.Take(), IsEmpty());
}

}  // namespace
}  // namespace galen::agent
