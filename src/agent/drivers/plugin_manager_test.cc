#include "agent/drivers/plugin_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/agent_metrics.h"
#include "agent/drivers/fake_plugin.h"
#include "base/loop/fake_loop.h"
#include "base/random.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The calls of the manager, in short: "report gpu-0 Healthy", "silent DriverGone".
class RecordedCalls final : public HealthSink {
 public:
  std::size_t OnReport(const DecodedReport& report, Time) override {
    for (const DeviceHealth& health : report.report.devices) {
      calls.push_back(health.id.device + " " + std::string(ToString(health.state)));
    }
    return report.report.devices.size();
  }
  void OnDriverConnected(const std::string& driver) override { calls.push_back("+" + driver); }
  void Forget(const DeviceId&, const std::string&) override {}
  void OnDriverSilent(const std::string& driver, const Cause& why) override {
    calls.push_back("-" + driver + " " + why.code);
    last_sentence = why.message;
  }
  std::vector<std::string> Take() { return std::exchange(calls, {}); }
  std::vector<std::string> calls;
  std::string last_sentence;
};

class PluginManagerTest : public ::testing::Test {
 protected:
  PluginManagerTest() : dialer_(network_.MakeDialer(weather_)) {
    metric::Declare(metrics_);
    Make({});
  }

  void Make(PluginManager::Options options) {
    options.rules.real_path = [this](const std::string& path) { return directory_.RealPath(path); };
    if (options.rules.kubelet_root.empty()) options.rules.kubelet_root = "/var/lib/kubelet";
    manager_.emplace(PluginManager::Edges{loop_, random_, log_, metrics_, *dialer_, sink_},
                     std::move(options));
    watcher_.emplace(loop_, log_, directory_, *manager_);
    watcher_->Start();
  }

  FakePlugin& Add(FakePlugin::Options options = {}, int health = 1) {
    plugins_.push_back(
        std::make_unique<FakePlugin>(loop_, network_, directory_, std::move(options)));
    plugins_.back()->Report({{.device = "gpu-0", .health = health}});
    plugins_.back()->Start();
    return *plugins_.back();
  }
  static FakePlugin::Options Second() {
    FakePlugin::Options options;
    options.socket = "/var/lib/kubelet/plugins_registry/gpu.example.com-2-reg.sock";
    options.endpoint = "/var/lib/kubelet/plugins/gpu.example.com/dra-2.sock";
    return options;
  }

  FakeLoop loop_;
  Random random_{1};
  std::vector<std::string> lines_;
  Log log_{LogLevel::kWarning, [this] { return loop_.WallNow(); },
           [this](LogLevel, std::string_view line) { lines_.emplace_back(line); }};
  Metrics metrics_;
  net::LinkWeather weather_;
  net::FakeNetwork network_{loop_, random_};
  FakeSocketDirectory directory_;
  std::vector<std::unique_ptr<FakePlugin>> plugins_;
  std::unique_ptr<net::Dialer> dialer_;
  RecordedCalls sink_;
  std::optional<PluginManager> manager_;
  std::optional<PluginWatcher> watcher_;
};

TEST_F(PluginManagerTest, HearsADriverThatRegisters) {
  Add();
  loop_.Advance(10ms);
  EXPECT_THAT(sink_.Take(), ElementsAre("+gpu.example.com", "gpu-0 Healthy"));
  const std::vector<DriverInfo> drivers = manager_->drivers();
  ASSERT_THAT(drivers, SizeIs(1));
  EXPECT_TRUE(drivers[0].authority);
  EXPECT_EQ(drivers[0].health, HealthService::kV1);
  EXPECT_EQ(drivers[0].reports, 1u);
}

TEST_F(PluginManagerTest, AnObserverNeverNotifies) {
  FakePlugin& plugin = Add();
  loop_.Advance(10s);
  EXPECT_EQ(plugin.notified(), "");
}

TEST_F(PluginManagerTest, AManagerNotifiesThePluginHowItEnded) {
  Make({.notify = true});
  FakePlugin& good = Add();
  FakePlugin::Options elsewhere = Second();
  elsewhere.endpoint = "/run/dra.sock";
  FakePlugin& bad = Add(elsewhere);
  FakePlugin::Options other = Second();
  other.socket = "/var/lib/kubelet/plugins_registry/csi.sock";
  other.type = "CSIPlugin";
  FakePlugin& csi = Add(other);
  loop_.Advance(100ms);
  EXPECT_EQ(good.notified(), "registered");
  EXPECT_THAT(bad.notified(), HasSubstr("not inside"));
  EXPECT_THAT(csi.notified(), HasSubstr("CSIPlugin"));
}

TEST_F(PluginManagerTest, APluginThatHangsHoldsUpNobodyAndIsAskedAgain) {
  FakePlugin& hanging = Add();
  hanging.HangGetInfo(true);
  FakePlugin::Options nic = Second();
  nic.driver = "nic.example.com";
  Add(nic);
  loop_.Advance(10ms);
  EXPECT_THAT(sink_.Take(), ElementsAre("+nic.example.com", "gpu-0 Healthy"));
  loop_.Advance(1min);
  EXPECT_GE(hanging.times_asked(), 5);
  EXPECT_LE(hanging.times_asked(), 12) << "with backoff";
  EXPECT_THAT(lines_, SizeIs(1)) << "logged once";
  hanging.HangGetInfo(false);
  loop_.Advance(3min);
  EXPECT_THAT(sink_.Take(), ElementsAre("+gpu.example.com", "gpu-0 Healthy"));
}

TEST_F(PluginManagerTest, ADriverThatDiesTakesItsDevicesAlongAtOnce) {
  FakePlugin& plugin = Add();
  loop_.Advance(10ms);
  sink_.Take();
  plugin.Kill();
  loop_.Advance(1ms);
  EXPECT_THAT(sink_.Take(), ElementsAre("-gpu.example.com DriverGone"));
  plugin.Start();
  loop_.Advance(600ms);
  EXPECT_THAT(sink_.Take(), ElementsAre("+gpu.example.com", "gpu-0 Healthy"));
}

TEST_F(PluginManagerTest, ADriverThatComesBackWithoutRegisteringIsFoundWithinHalfASecond) {
  FakePlugin& plugin = Add();
  loop_.Advance(10ms);
  plugin.Kill();
  loop_.Advance(1min);
  sink_.Take();
  directory_.GoDeaf();
  plugin.Start();
  loop_.Advance(501ms);
  EXPECT_THAT(sink_.Take(), ElementsAre("+gpu.example.com", "gpu-0 Healthy"));
}

TEST_F(PluginManagerTest, AStreamThatEndsTakesTheDevicesAlongAndIsOpenedAgainAtOnce) {
  FakePlugin& plugin = Add();
  loop_.Advance(10ms);
  sink_.Take();
  plugin.EndStreams(Internal("oops"));
  loop_.Advance(10ms);
  EXPECT_THAT(sink_.Take(), ElementsAre("-gpu.example.com DriverGone", "gpu-0 Healthy"));
  EXPECT_EQ(sink_.last_sentence, "driver gpu.example.com is gone: oops");
}

TEST_F(PluginManagerTest, AStreamThatEndsAgainAndAgainIsOpenedWithBackoff) {
  FakePlugin& plugin = Add();
  plugin.AnswerStreamsWith(Internal("not today"));
  loop_.Advance(1min);
  EXPECT_EQ(plugin.streams_opened(), 0);
  EXPECT_LT(manager_->drivers().at(0).reports, 1u);
  plugin.AnswerStreamsWith(std::nullopt);
  loop_.Advance(DriverLink::kBackoffShortLived.most);
  EXPECT_EQ(plugin.streams_opened(), 1);
}

TEST_F(PluginManagerTest, ADriverThatEndsEachStreamAfterOneMessageIsNotAskedInALoop) {
  FakePlugin& plugin = Add();
  plugin.EndStreamsAfterOneMessage(OkStatus());
  loop_.Advance(1min);
  EXPECT_GE(plugin.streams_opened(), 10);
  EXPECT_LE(plugin.streams_opened(), 30) << "every one makes its devices Unknown and well again";
}

TEST_F(PluginManagerTest, ADriverThatHangsUpAfterOneMessageIsNotDialledInALoop) {
  FakePlugin& plugin = Add();
  int connections = 0;
  for (int i = 0; i < 600; ++i) {
    loop_.Advance(100ms);
    if (plugin.streams() == 0) continue;
    ++connections;
    plugin.Kill();
    plugin.ListenAgain();
  }
  EXPECT_GE(connections, 10);
  EXPECT_LE(connections, 30);
}

TEST_F(PluginManagerTest, AStreamThatWasSoundForAWhileIsOpenedAgainAtOnce) {
  FakePlugin& plugin = Add();
  for (int i = 0; i < 5; ++i) {
    loop_.Advance(DriverLink::kSoundAfter);
    sink_.Take();
    plugin.EndStreams(Unavailable("restarting"));
    loop_.Advance(10ms);
    EXPECT_THAT(sink_.Take(), ElementsAre("-gpu.example.com DriverGone", "gpu-0 Healthy"));
  }
}

TEST_F(PluginManagerTest, ADriverWithoutHealthIsLeftInPeace) {
  FakePlugin::Options options;
  options.versions = {"v1.DRAPlugin"};
  FakePlugin& plugin = Add(options);
  loop_.Advance(1h);
  EXPECT_THAT(sink_.Take(), ElementsAre("+gpu.example.com", "-gpu.example.com NotReported"));
  EXPECT_EQ(plugin.streams_opened(), 0);
  EXPECT_THAT(lines_, IsEmpty());
  EXPECT_EQ(manager_->WhyNotReported("gpu.example.com"),
            "driver gpu.example.com reports no health");
}

TEST_F(PluginManagerTest, ADriverThatAnswersUnimplementedIsNotAskedAgainUntilItRegistersAgain) {
  FakePlugin& plugin = Add();
  plugin.AnswerStreamsWith(Unimplemented("no health here"));
  loop_.Advance(1h);
  EXPECT_THAT(sink_.Take(), ElementsAre("+gpu.example.com", "-gpu.example.com NotReported"));
  EXPECT_THAT(lines_, IsEmpty()) << "quietly";
  plugin.AnswerStreamsWith(std::nullopt);
  loop_.Advance(1h);
  EXPECT_EQ(plugin.streams_opened(), 0);
  plugin.RegisterAgain();
  loop_.Advance(1s);
  EXPECT_EQ(plugin.streams_opened(), 1);
}

TEST_F(PluginManagerTest, AnOldInstanceHasNoSayWhileANewerIsConnected) {
  FakePlugin& old_instance = Add();
  loop_.Advance(10ms);
  FakePlugin& new_instance = Add(Second());
  loop_.Advance(10ms);
  sink_.Take();
  old_instance.Report({{.device = "gpu-0", .health = 2}});
  loop_.Advance(10ms);
  EXPECT_THAT(sink_.Take(), IsEmpty()) << "its report";
  old_instance.EndStreams(OkStatus());
  loop_.Advance(10ms);
  old_instance.Stop();
  loop_.Advance(1s);
  EXPECT_THAT(sink_.Take(), IsEmpty()) << "its end";
  new_instance.Report({{.device = "gpu-0", .health = 2}});
  loop_.Advance(10ms);
  EXPECT_THAT(sink_.Take(), ElementsAre("gpu-0 Unhealthy"));
}

TEST_F(PluginManagerTest, AnOldInstanceStepsInAgainWhenTheNewerFails) {
  FakePlugin& old_instance = Add();
  loop_.Advance(10ms);
  FakePlugin& new_instance = Add(Second());
  loop_.Advance(10ms);
  old_instance.Report({{.device = "gpu-0", .health = 2}});
  loop_.Advance(10ms);
  sink_.Take();
  new_instance.Kill();
  loop_.Advance(10ms);
  EXPECT_THAT(sink_.Take(), ElementsAre("+gpu.example.com", "gpu-0 Unhealthy"))
      << "with what it said last, and no gap between";
}

TEST_F(PluginManagerTest, RegisteringAgainDoesNotMakeDevicesUnknown) {
  FakePlugin& plugin = Add();
  loop_.Advance(10ms);
  sink_.Take();
  plugin.RegisterAgain();
  loop_.Advance(1s);
  for (const std::string& call : sink_.Take()) EXPECT_THAT(call, ::testing::Not(HasSubstr("Gone")));
  EXPECT_THAT(manager_->drivers(), SizeIs(1));
  EXPECT_EQ(plugin.streams(), 1u);
}

TEST_F(PluginManagerTest, ARegistrationSocketThatGoesTakesTheDriverAlong) {
  Add();
  loop_.Advance(10ms);
  sink_.Take();
  directory_.Remove("/var/lib/kubelet/plugins_registry/gpu.example.com-reg.sock");
  loop_.Advance(10ms);
  EXPECT_THAT(sink_.Take(), ElementsAre("-gpu.example.com DriverGone"));
  EXPECT_THAT(manager_->drivers(), IsEmpty());
}

TEST_F(PluginManagerTest, OneEndpointIsRegisteredOnce) {
  Make({.notify = true});
  Add();
  loop_.Advance(10ms);
  FakePlugin::Options twin = Second();
  FakePlugin twin_plugin(loop_, network_, directory_, [&] {
    twin.endpoint = FakePlugin::Options().endpoint;
    return twin;
  }());
  rpc::Dispatcher unused(loop_);
  network_.StopListening("unix:" + twin.endpoint);
  twin_plugin.Start();
  loop_.Advance(100ms);
  EXPECT_THAT(twin_plugin.notified(), HasSubstr("already registered"));
}

TEST_F(PluginManagerTest, AnUnsubscribedDriverIsNotListenedTo) {
  Make({.unsubscribed = {"gpu.example.com"}});
  FakePlugin& plugin = Add();
  loop_.Advance(1s);
  EXPECT_EQ(plugin.streams_opened(), 0);
  EXPECT_THAT(sink_.Take(), ElementsAre("+gpu.example.com", "-gpu.example.com NotReported"));
  EXPECT_THAT(manager_->WhyNotReported("gpu.example.com"), HasSubstr("subscribe: never"));
  EXPECT_THAT(sink_.last_sentence, HasSubstr("subscribe: never"));
}

TEST_F(PluginManagerTest, ASocketThatFoundNoRoomIsIntroducedWhenThereIsSome) {
  const auto socket = [](std::size_t i) {
    return "/var/lib/kubelet/plugins_registry/a" + std::to_string(1000 + i) + ".sock";
  };
  for (std::size_t i = 0; i < PluginManager::kSocketsMax; ++i) directory_.Put(socket(i));
  FakePlugin& late = Add();
  loop_.Advance(1s);
  EXPECT_EQ(late.times_asked(), 0);
  directory_.Remove(socket(7));
  loop_.Advance(1s);
  EXPECT_EQ(late.times_asked(), 1);
  directory_.Put(socket(7));
  loop_.Advance(1s);
  EXPECT_THAT(lines_, Contains(HasSubstr("too many sockets")).Times(2)) << "each time";
}

TEST_F(PluginManagerTest, TheAgeOfADriversReportRunsOnWhileItIsAway) {
  FakePlugin& plugin = Add();
  loop_.Advance(10s);
  plugin.Report({{.device = "gpu-0"}});
  loop_.Advance(1s);
  EXPECT_EQ(manager_->ReportAges().at("gpu.example.com"), 1s);
  plugin.Kill();
  loop_.Advance(2min);
  EXPECT_EQ(manager_->ReportAges().at("gpu.example.com"), 2min + 1s);
  plugin.Stop();
  directory_.Remove("/var/lib/kubelet/plugins_registry/gpu.example.com-reg.sock");
  EXPECT_THAT(manager_->ReportAges(), IsEmpty()) << "it is uninstalled";
}

TEST_F(PluginManagerTest, ADriverThatNeverReportsHasAnAgeSinceItRegistered) {
  Add().AnswerStreamsWith(Internal("not today"));
  loop_.Advance(5min);
  EXPECT_GE(manager_->ReportAges().at("gpu.example.com"), 4min);
}

TEST_F(PluginManagerTest, FaultsInReportsAreLoggedOnceAndTheRestIsTaken) {
  FakePlugin& plugin = Add();
  loop_.Advance(10ms);
  sink_.Take();
  for (int i = 0; i < 10; ++i) plugin.Report({{.device = "GPU"}, {.device = "gpu-1"}});
  plugin.ReportBytes("\x0a\xff");
  loop_.Advance(10ms);
  EXPECT_THAT(sink_.Take(), SizeIs(10));
  EXPECT_THAT(lines_, SizeIs(2)) << "one for the faults, one for the nonsense";
  EXPECT_EQ(
      metrics_.Value("galen_reports_total", {{"driver", "gpu.example.com"}, {"result", "faulty"}}),
      10);
}

TEST_F(PluginManagerTest, CallsGoToTheAuthorityInItsOwnVersion) {
  FakePlugin::Options options;
  options.versions = {"v1beta1.DRAPlugin"};
  FakePlugin& plugin = Add(options);
  loop_.Advance(10ms);
  std::optional<StatusOr<std::string>> reply;
  manager_->CallDriver("gpu.example.com", NodeCall::kPrepare, "",
                       [&](StatusOr<std::string> r) { reply = std::move(r); });
  loop_.Advance(10ms);
  ASSERT_TRUE(reply && reply->ok());
  EXPECT_EQ(plugin.prepare_calls(), 1);
}

TEST_F(PluginManagerTest, CallsToADriverThatIsAwayOrDiesAreAnswered) {
  std::vector<Code> codes;
  const auto note = [&](const StatusOr<std::string>& r) { codes.push_back(r.status().code()); };
  manager_->CallDriver("gpu.example.com", NodeCall::kPrepare, "", note);
  FakePlugin& plugin = Add();
  loop_.Advance(10ms);
  weather_.stalled = true;
  manager_->CallDriver("gpu.example.com", NodeCall::kPrepare, "", note);
  loop_.Advance(10ms);
  weather_.stalled = false;
  plugin.Kill();
  loop_.Advance(1s);
  EXPECT_THAT(codes, ElementsAre(Code::kUnavailable, Code::kUnavailable));
}

}  // namespace
}  // namespace galen::agent
