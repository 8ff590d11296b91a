// A whole examination of drivers that a test writes: a good one, and one broken in each way.
#include "conformance/examination.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/cluster_access.h"
#include "conformance/fake_observations.h"
#include "conformance/fake_scene.h"
#include "conformance/probes.h"

namespace galen::conformance {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Script = FakeDriver::Script;

std::vector<std::string> FailuresOf(Script script) {
  FakeScene scene;
  scene.Publish();
  scene.Start(std::move(script));
  return Failures(scene.Run());
}

TEST(Examination, AGoodDriverFailsNothingAndIsLeftAsItWas) {
  FakeScene scene;
  scene.Publish();
  FakeDriver& driver = scene.Start();
  const Observations seen = scene.Run();
  EXPECT_THAT(Failures(seen), IsEmpty());
  // It is listened to until it has repeated itself: two reports are too few to judge messages.
  EXPECT_THAT(IdsOf(seen, Level::kUnknown),
              ElementsAre("health.announced", "health.message-rests"));
  EXPECT_EQ(driver.most_subscribers(), 2 + HealthProbe::kCrowd);
  scene.loop.Advance(1s);
  EXPECT_EQ(driver.subscribers(), 0u);
  EXPECT_THAT(driver.prepared(), IsEmpty());
  EXPECT_THAT((*scene.Do(kube::List(kube::kResourceClaims, "", {})))["items"].items(), IsEmpty());
  EXPECT_THAT(*scene.files.List("/cdi"), IsEmpty());
  EXPECT_THAT(driver.notified(), ElementsAre(true, false, true));
}

TEST(Examination, TakesNoLongerThanTheTimeoutsAskFor) {
  FakeScene scene;
  scene.Publish();
  scene.Start({.repeat_every = 15s});
  const Time start = scene.loop.Now();
  scene.Run();
  EXPECT_LE(scene.loop.Now() - start, 17s);
}

TEST(Examination, WithoutAClusterSaysSoAndNeverPassesWhatNeedsOne) {
  FakeScene scene;
  scene.Start();
  scene.edges.api = nullptr;
  const Observations seen = scene.Run();
  EXPECT_THAT(Failures(seen), IsEmpty());
  const std::vector<std::string> passed = IdsOf(seen, Level::kGood);
  for (const char* id :
       {"claims.prepare", "claims.unprepare", "slices.published", "cdi.ids-exist"}) {
    const CheckResult result = ResultOf(seen, id);
    EXPECT_EQ(result.level, Level::kUnknown) << id;
    EXPECT_THAT(result.seen, HasSubstr("no cluster given")) << id;
  }
  EXPECT_THAT(passed, Contains("claims.unprepare-unknown"));
  EXPECT_THAT(passed, Contains("claims.error-per-claim"));
}

TEST(Examination, ReadOnlyNotifiesPreparesAndCrowdsNothing) {
  FakeScene scene;
  scene.Publish();
  FakeDriver& driver = scene.Start();
  ExaminationOptions options = scene.Options();
  options.read_only = true;
  const Observations seen = Examine(scene.edges, options);
  EXPECT_THAT(Failures(seen), IsEmpty());
  EXPECT_THAT(driver.notified(), IsEmpty());
  EXPECT_LE(driver.most_subscribers(), 2);
  EXPECT_THAT(seen.claims.empty_prepare, IsEmpty());
  EXPECT_THAT((*scene.Do(kube::List(kube::kResourceClaims, "", {})))["items"].items(), IsEmpty());
  EXPECT_EQ(ResultOf(seen, "health.resend").level, Level::kGood);
}

TEST(Examination, WithEveryDeviceHeldPreparesNone) {
  FakeScene scene;
  scene.Publish();
  scene.Start();
  ClusterAccess cluster(scene.edges, "gpu.example.com", "t");
  ASSERT_TRUE(cluster.MakeClaim(TestAllocation{"device", "node-7", "gpu-0"}).ok());
  ASSERT_TRUE(cluster.MakeClaim(TestAllocation{"device", "node-7", "gpu-1"}).ok());
  const Observations seen = scene.Run();
  EXPECT_THAT(ResultOf(seen, "claims.prepare").seen, HasSubstr("held by a claim"));
}

// One way in which a driver is broken, and all that an examination says of it.
struct Broken {
  std::string what;
  Script script;
  std::vector<std::string> failures;
};

void ExpectFailures(const std::vector<Broken>& table) {
  for (const Broken& broken : table) {
    EXPECT_EQ(FailuresOf(broken.script), broken.failures) << broken.what;
  }
}

Script WithInfo(const std::function<void(Info&)>& change) {
  Script script;
  change(script.info);
  return script;
}

TEST(Examination, NamesWhatIsWrongWithARegistration) {
  ExpectFailures({
      {"another type", WithInfo([](Info& i) { i.type = "CSIPlugin"; }), {"registration.type"}},
      {"only an old version",
       WithInfo([](Info& i) {
         i.versions = {"v1alpha4.DRAPlugin", "v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"};
       }),
       {"registration.versions"}},
      {"an endpoint elsewhere",
       WithInfo([](Info& i) { i.endpoint = "/tmp/dra.sock"; }),
       {"registration.endpoint-inside"}},
      {"another answer each time",
       {.on_get_info =
            [](int number) {
              Info info = Script().info;
              info.versions.push_back("v" + std::to_string(number + 2) + ".More");
              return StatusOr<Info>(info);
            }},
       {"registration.repeatable", "registration.unknown-field", "registration.parallel"}},
      {"a refusal of unknown fields",
       {.refuses_unknown_fields = true},
       {"registration.unknown-field", "health.unknown-field", "claims.unknown-field"}},
      {"no answer to the outcome",
       {.notified = Unimplemented("no such method")},
       {"registration.notified", "registration.survives-refusal"}},
      {"an end after a refusal", {.ends_when_refused = true}, {"registration.survives-refusal"}},
  });
}

TEST(Examination, ADriverThatHangsIsReportedInOneFailure) {
  FakeScene scene;
  scene.Start({.on_get_info = [](int) { return std::nullopt; }});
  const Observations seen = scene.Run();
  EXPECT_THAT(Failures(seen), ElementsAre("registration.get-info"));
  EXPECT_THAT(ResultOf(seen, "registration.get-info").seen, HasSubstr("no answer within 1 s"));
}

TEST(Examination, NobodyAtTheEndpointIsNamed) {
  FakeScene scene;
  scene.Publish();
  scene.Start();
  scene.network.StopListening("unix:" + scene.driver->script().info.endpoint);
  EXPECT_THAT(Failures(scene.Run()), Contains("registration.endpoint-listens"));
}

Script WithReports(std::function<void(DeviceHealthSeen&)> change) {
  Script script;
  script.on_report = [change](const std::string&, int, std::vector<DeviceHealthSeen>& devices) {
    change(devices[0]);
  };
  return script;
}

TEST(Examination, NamesWhatIsWrongWithReports) {
  ExpectFailures({
      {"a text that is no UTF-8",
       WithReports([](auto& d) { d.message = "fan \xff"; }),
       {"health.utf8"}},
      {"a long message",
       WithReports([](auto& d) { d.message = std::string(2000, 'x'); }),
       {"health.message-bytes"}},
      {"a state that is none", WithReports([](auto& d) { d.health = 7; }), {"health.states"}},
      {"a negative timeout",
       WithReports([](auto& d) { d.timeout_seconds = -5; }),
       {"health.timeouts"}},
      {"nanoseconds for seconds",
       WithReports([](auto& d) { d.updated_unix_seconds = 1'795'000'000'000'000'000; }),
       {"health.updated"}},
      {"a name that is none",
       WithReports([](auto& d) { d.device = "GPU 0"; }),
       {"health.names", "slices.health-known"}},
      {"a device twice",
       {.on_report = [](const auto&, int, auto& devices) { devices.push_back(devices[0]); }},
       {"health.no-duplicates"}},
      {"a report past 4 MiB",
       {.on_report = [](const auto&, int,
                        auto& devices) { devices[0].message = std::string(5 * 1024 * 1024, 'x'); }},
       {"health.message-bytes", "health.report-bytes"}},
      {"v1alpha1 without one device",
       {.on_report =
            [](const auto& version, int, auto& devices) {
              if (version == "v1alpha1") devices.pop_back();
            }},
       {"health.first-report-complete", "health.versions-alike"}},
  });
}

TEST(Examination, NamesADeviceThatIsReportedOnlyLater) {
  auto reports = std::make_shared<std::map<int, int>>();  // a stream's number to its reports
  EXPECT_EQ(FailuresOf({.on_report =
                            [reports](const auto&, int stream, auto& devices) {
                              if ((*reports)[stream]++ == 0) devices.pop_back();
                            }}),
            std::vector<std::string>({"health.first-report-complete"}));
}

TEST(Examination, NamesAMessageThatNeverRests) {
  auto number = std::make_shared<int>(0);
  Script script =
      WithReports([number](auto& d) { d.message = "look " + std::to_string(++*number); });
  script.repeat_every = 4s;
  for (DeviceHealthSeen& device : script.devices) device.timeout_seconds = 30;
  // The second device is reported once only, so that the examination waits for all of 30 s.
  script.on_report = [change = script.on_report, seen = std::make_shared<std::map<int, int>>()](
                         const std::string& version, int stream, auto& devices) {
    change(version, stream, devices);
    if ((*seen)[stream]++ > 0) devices.pop_back();
  };
  const std::vector<std::string> failures = FailuresOf(std::move(script));
  EXPECT_THAT(failures, Contains("health.message-rests"));
  EXPECT_THAT(failures, Contains("health.resend"));
}

TEST(Examination, NamesWhatIsWrongWithStreams) {
  ExpectFailures({
      {"no first report", {.first_report = false}, {"health.first-report"}},
      {"silence after the first report", {.repeat_every = 0s}, {"health.resend"}},
      {"a flood", {.repeat_every = 5ms}, {"health.rate"}},
      {"one subscriber only",
       {.subscribers_max = 1},
       {"health.stays-open", "health.many-subscribers", "health.shared-connection"}},
      {"nothing for anybody after a reader left",
       {.forgets_after_a_loss = true},
       {"health.unknown-field", "health.shared-connection", "health.after-cancel",
        "health.after-break"}},
      {"streams that end", {.ends_streams_after = 1s}, {"health.stays-open"}},
      {"an announced version that is not served",
       {.health_served = {"v1"}},
       {"health.served", "health.first-report", "health.versions-alike", "health.stays-open",
        "health.many-subscribers", "health.shared-connection"}},
      {"a served version that is not announced",
       WithInfo([](Info& i) { i.versions.pop_back(); }),
       {"health.announced"}},
  });
}

Script WithPrepare(std::function<Status(const std::string&, int, ClaimEntry&)> change) {
  Script script;
  script.on_prepare = std::move(change);
  return script;
}

Script WithUnprepare(std::function<Status(int, ClaimEntry&)> change) {
  Script script;
  script.on_unprepare = std::move(change);
  return script;
}

TEST(Examination, NamesWhatIsWrongWithPreparing) {
  ExpectFailures({
      {"another answer the second time",
       WithPrepare([](const auto&, int number, auto& entry) {
         if (number == 1 && !entry.devices.empty()) entry.devices[0].cdi_ids = {"a/b=c"};
         return OkStatus();
       }),
       {"claims.prepare-again"}},
      {"another answer in v1beta1",
       WithPrepare([](const auto& version, int, auto& entry) {
         if (version == "v1beta1") entry.devices.clear();
         return OkStatus();
       }),
       {"claims.versions-alike"}},
      {"an error for the whole call",
       WithPrepare([](const auto&, int, auto& entry) {
         return entry.error.empty() ? OkStatus() : Internal("{}", entry.error);
       }),
       {"claims.error-per-claim", "claims.mixed"}},
      {"another device",
       WithPrepare([](const auto&, int, auto& entry) {
         if (!entry.devices.empty()) entry.devices[0].device = "gpu-9";
         return OkStatus();
       }),
       {"claims.devices"}},
      {"a subrequest's name",
       WithPrepare([](const auto&, int, auto& entry) {
         if (!entry.devices.empty()) entry.devices[0].requests = {"device/large"};
         return OkStatus();
       }),
       {"claims.requests"}},
      {"an error always",
       WithPrepare([](const auto&, int, auto& entry) {
         entry.devices.clear();
         entry.error = "no bitstream";
         return OkStatus();
       }),
       {"claims.prepare"}},
      {"any UID", {.checks_uid = false}, {"claims.wrong-uid"}},
      {"no allocation", {.checks_allocation = false}, {"claims.not-allocated"}},
      {"empty answers",
       {.forgets_unasked_entries = true},
       {"claims.unprepare-unknown", "claims.error-per-claim", "claims.parallel", "claims.prepare",
        "claims.wrong-uid", "claims.not-allocated", "claims.unprepare", "claims.unprepare-again",
        "claims.unprepare-deleted"}},
      {"an offered version that is not served",
       {.dra_served = {"v1"}},
       {"claims.served", "claims.empty", "claims.versions-alike"}},
  });
}

TEST(Examination, NamesWhatIsWrongWithUnpreparing) {
  ExpectFailures({
      {"an error for what is not prepared",
       WithUnprepare([](int number, auto& entry) {
         if (number == 1) entry.error = "not prepared";
         return OkStatus();
       }),
       {"claims.unprepare-again"}},
      {"an error for the whole call",
       WithUnprepare([](int, auto&) { return Internal("busy"); }),
       {"claims.unprepare-unknown", "claims.parallel", "claims.unprepare", "claims.unprepare-again",
        "claims.unprepare-deleted"}},
      {"an error once the object is gone",
       WithUnprepare([](int number, auto& entry) {
         if (number == 2) entry.error = "claim not found";
         return OkStatus();
       }),
       {"claims.unprepare-deleted"}},
  });
}

TEST(Examination, ACallThatHangsIsWaitedForOnce) {
  FakeScene scene;
  scene.Publish();
  FakeDriver& driver = scene.Start();
  driver.script().hangs_in_prepare = true;
  const Time start = scene.loop.Now();
  const Observations seen = scene.Run();
  EXPECT_THAT(Failures(seen), ElementsAre("claims.empty"));
  EXPECT_THAT(ResultOf(seen, "claims.error-per-claim").seen, HasSubstr("was not answered"));
  EXPECT_LE(scene.loop.Now() - start, 100s);
}

TEST(Examination, NamesWhatIsWrongWithCdi) {
  const auto spec = [](const std::string& version, const std::string& kind,
                       const std::string& edits) {
    return [=](const std::string& uid, const std::string& device) {
      return R"({"cdiVersion": ")" + version + R"(", "kind": ")" + kind +
             R"(", "devices": [{"name": ")" + uid + "-" + device + R"(", "containerEdits": )" +
             edits + "}]}";
    };
  };
  const std::string good = R"({"env": ["A=1"]})";
  const std::string kind = "gpu.example.com/claim";
  ExpectFailures({
      {"no file",
       {.cdi_text = [](const auto&, const auto&) { return std::string(); }},
       {"cdi.ids-exist"}},
      {"half a file",
       {.cdi_text = [](const auto&, const auto&) { return R"({"kind": )"; }},
       {"cdi.ids-exist", "cdi.readable"}},
      {"an old version",
       {.cdi_text = spec("0.3.0", kind, R"({"deviceNodes": [
         {"path": "/dev/a", "hostPath": "/dev/b"}]})")},
       {"cdi.least-version"}},
      {"a version that is none", {.cdi_text = spec("latest", kind, good)}, {"cdi.version"}},
      {"no edits", {.cdi_text = spec("0.5.0", kind, "{}")}, {"cdi.contents"}},
      {"an id of another form", {.cdi_id = "{uid}-{device}"}, {"cdi.id-form", "cdi.ids-exist"}},
      {"a kind without a class",
       {.cdi_text = spec("0.5.0", "gpu.example.com", good),
        .cdi_id = "gpu.example.com={uid}-{device}"},
       {"cdi.id-form", "cdi.kind"}},
  });
}

}  // namespace
}  // namespace galen::conformance
