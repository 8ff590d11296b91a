#include "agent/drivers/source_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/agent_metrics.h"
#include "agent/drivers/fake_plugin.h"
#include "agent/drivers/plugin_watcher.h"
#include "base/loop/fake_loop.h"
#include "base/random.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NoSink final : public HealthSink {
 public:
  std::size_t OnReport(const DecodedReport&, Time) override { return 0; }
  void OnDriverConnected(const std::string&) override {}
  void OnDriverSilent(const std::string&, const Cause&) override {}
  void Forget(const DeviceId&, const std::string&) override {}
};

// One side of an agent: its directory of sockets, and who is found there.
struct FoundPlugins {
  FoundPlugins(FakeLoop& loop, Random& random, Log& log, Metrics& metrics, net::Dialer& dialer,
               PluginRules rules)
      : manager({loop, random, log, metrics, dialer, sink}, {.rules = WithPaths(std::move(rules))}),
        watcher(loop, log, directory, manager) {
    watcher.Start();
  }
  PluginRules WithPaths(PluginRules rules) {
    rules.real_path = [this](const std::string& path) { return directory.RealPath(path); };
    return rules;
  }
  NoSink sink;
  FakeSocketDirectory directory;
  PluginManager manager;
  PluginWatcher watcher;
};

class SourceNamesTest : public ::testing::Test {
 protected:
  SourceNamesTest() {
    metric::Declare(metrics_);
    drivers_.manager.OnDriversChanged([this] { names_.OnChanged(); });
    sources_.manager.OnDriversChanged([this] { names_.OnChanged(); });
  }
  void AddSource(const std::string& driver) {
    source_.emplace(loop_, network_, sources_.directory,
                    FakePlugin::Options{.driver = driver,
                                        .socket = "/run/galen/health/source.sock",
                                        .endpoint = "/run/galen/health/data.sock",
                                        .type = "galen.dev/HealthSource",
                                        .versions = {"v1.DRAResourceHealth"}});
    source_->Report({{.device = "gpu-0", .health = 1}});
    source_->Start();
  }
  void AddDriver() {
    driver_.emplace(loop_, network_, drivers_.directory, FakePlugin::Options{});
    driver_->Start();
  }

  FakeLoop loop_;
  Random random_{1};
  std::vector<std::string> lines_;
  Log log_{LogLevel::kWarning, [this] { return loop_.WallNow(); },
           [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }};
  Metrics metrics_;
  net::LinkWeather weather_;
  net::FakeNetwork network_{loop_, random_};
  std::unique_ptr<net::Dialer> dialer_ = network_.MakeDialer(weather_);
  FoundPlugins drivers_{loop_,    random_,  log_,
                        metrics_, *dialer_, {.kubelet_root = "/var/lib/kubelet"}};
  FoundPlugins sources_{loop_,    random_,
                        log_,     metrics_,
                        *dialer_, {.kubelet_root = "/run/galen/health", .health_sources = true}};
  SourceNames names_{loop_, log_, drivers_.manager, sources_.manager};
  std::optional<FakePlugin> driver_, source_;
};

TEST_F(SourceNamesTest, ASourceForADriverThatIsNotThereIsSaidOnceWithThoseThatAre) {
  AddDriver();
  AddSource("gpu.exmaple.com");
  loop_.Advance(SourceNames::kDriverWithin - 1s);
  EXPECT_THAT(lines_, IsEmpty()) << "it may be starting";
  EXPECT_EQ(names_.TroubleOf("gpu.exmaple.com"), "");
  loop_.Advance(5min);
  EXPECT_THAT(lines_,
              ElementsAre(AllOf(HasSubstr("health source is for a driver that is not on this node"),
                                HasSubstr("driver=gpu.exmaple.com registered=gpu.example.com"))));
  EXPECT_EQ(names_.TroubleOf("gpu.exmaple.com"),
            "no driver of this name is registered on this node; registered: gpu.example.com");
}

TEST_F(SourceNamesTest, ADriverThatComesLaterEndsIt) {
  AddSource("gpu.example.com");
  loop_.Advance(2min);
  EXPECT_EQ(lines_.size(), 1u);
  AddDriver();
  loop_.Advance(5s);
  EXPECT_EQ(names_.TroubleOf("gpu.example.com"), "");
}

TEST_F(SourceNamesTest, ASourceThatFlapsIsSaidOnceAndItsTroubleStays) {
  AddSource("gpu.exmaple.com");
  for (int i = 0; i < 8; ++i) {
    // Its time is over while it is gone for the first time.
    loop_.Advance(40s);
    source_->Stop();
    loop_.Advance(40s);
    EXPECT_EQ(names_.TroubleOf("gpu.exmaple.com").empty(), i == 0) << i;
    source_->Start();
  }
  EXPECT_EQ(lines_.size(), 1u);
  source_->Stop();
  loop_.Advance(SourceNames::kComesBackWithin + 1min);
  EXPECT_EQ(names_.TroubleOf("gpu.exmaple.com"), "") << "it went for good";
}

TEST_F(SourceNamesTest, OneThatWentBeforeItsTimeIsNotSaid) {
  AddSource("gpu.exmaple.com");
  loop_.Advance(20s);
  source_->Stop();
  loop_.Advance(10min);
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(SourceNamesTest, OfADevicePluginsResourceNoDriverIsExpected) {
  AddSource("vendor.example/gpu");
  loop_.Advance(5min);
  EXPECT_THAT(lines_, IsEmpty());
}

}  // namespace
}  // namespace galen::agent
