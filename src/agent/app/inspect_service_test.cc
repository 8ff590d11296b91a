#include "agent/app/inspect_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/app/fake_agent_node.h"
#include "agent/app/fake_endings.h"
#include "api_sim/objects/fake_objects.h"
#include "kube/request.h"
#include "protos/galen/inspect/v1/inspect.pb.h"
#include "rpc/typed.h"

namespace galen::agent {
namespace {

namespace wire = galen::inspect::v1;
using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kService = "/galen.inspect.v1.Inspect/";

// Keeps the lists of one watch: "gpu-0 Healthy" of each first device.
class Watcher final : public rpc::StreamSink {
 public:
  void OnMessage(std::string_view bytes) override {
    const auto list = rpc::Decode<wire::ListDevicesResponse>(bytes);
    lists.push_back(list->devices(0).device() + " " + list->devices(0).state());
  }
  void OnEnd(const Status& status) override { end = status; }
  std::vector<std::string> lists;
  std::optional<Status> end;
};

class InspectServiceTest : public ::testing::Test {
 protected:
  InspectServiceTest() {
    driver_ = &node_.AddDriver({"gpu-0"});
    node_.AddPod("trainer-0");
    node_.StartAgent();
    node_.Pass();
    node_.network.Listen("unix:/agent.sock", node_.app->inspect());
    dialling_ = node_.dialer->Dial({.target = "unix:/agent.sock"},
                                   [this](StatusOr<std::unique_ptr<net::Connection>> connection) {
                                     connection_ = std::move(connection).value();
                                   });
    node_.Pass(10ms);
    channel_.emplace(node_.cluster.loop(), *connection_);
  }
  ~InspectServiceTest() override { channel_.reset(); }

  template <typename Response, typename Request>
  StatusOr<Response> Ask(const std::string& method, const Request& request) {
    std::optional<StatusOr<Response>> answer;
    const auto call = rpc::Unary<Response>(*channel_, kService + method, request, 1s,
                                           [&](StatusOr<Response> r) { answer = std::move(r); });
    node_.Pass(10ms);
    return *std::move(answer);
  }

  // What `galen why` asks.
  StatusOr<wire::ExplainResponse> Explain(const std::string& pod, const std::string& ns = "") {
    wire::ExplainRequest request;
    request.set_namespace_(ns);
    request.set_pod(pod);
    return Ask<wire::ExplainResponse>("Explain", request);
  }

  AgentNode node_{Role::kObserver};
  FakePlugin* driver_;
  std::unique_ptr<net::Dialling> dialling_;
  std::unique_ptr<net::Connection> connection_;
  std::optional<rpc::Channel> channel_;
};

TEST_F(InspectServiceTest, ListsDevicesWithWhoHoldsThem) {
  const auto list = Ask<wire::ListDevicesResponse>("ListDevices", wire::ListDevicesRequest());
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->devices_size(), 1);
  const wire::Device& device = list->devices(0);
  EXPECT_EQ(device.device(), "gpu-0");
  EXPECT_EQ(device.state(), "Healthy");
  EXPECT_EQ(device.deadline_millis(), 30'000);
  EXPECT_EQ(device.deadline_source(), "default");
  EXPECT_GE(device.report_age_millis(), 0);
  ASSERT_EQ(device.holders_size(), 1);
  EXPECT_EQ(device.holders(0).pod(), "trainer-0");
  EXPECT_EQ(device.holders(0).container(), "main");
}

TEST_F(InspectServiceTest, SaysOfADeviceThatNobodyReportedWhatItsPodSays) {
  FakePlugin::Options nic;
  nic.driver = "nic.example.com";
  nic.socket = "/var/lib/kubelet/plugins_registry/nic.example.com-reg.sock";
  nic.endpoint = "/var/lib/kubelet/plugins/nic.example.com/dra.sock";
  nic.versions = {"v1.DRAPlugin"};
  node_.AddDriver({"nic-0"}, nic);
  node_.AddPod("ingest-0", "nic.example.com");
  node_.Pass(5s);
  const std::string why = "driver nic.example.com reports no health";
  EXPECT_THAT(node_.Annotation("ingest-0"), HasSubstr(why));
  const auto list = Ask<wire::ListDevicesResponse>("ListDevices", wire::ListDevicesRequest());
  ASSERT_EQ(list->devices_size(), 2);
  for (const wire::Device& device : list->devices()) {
    if (device.device() == "nic-0") {
      EXPECT_EQ(device.cause().message(), why);
    }
  }
}

TEST_F(InspectServiceTest, ListsDrivers) {
  const auto list = Ask<wire::ListDriversResponse>("ListDrivers", wire::ListDriversRequest());
  ASSERT_EQ(list->drivers_size(), 1);
  EXPECT_TRUE(list->drivers(0).connected());
  EXPECT_TRUE(list->drivers(0).authority());
  EXPECT_EQ(list->drivers(0).health(), "v1");
  EXPECT_EQ(list->drivers(0).service(), "v1.DRAPlugin");
}

TEST_F(InspectServiceTest, ShowsHowTheAgentIs) {
  const auto status = Ask<wire::GetStatusResponse>("GetStatus", wire::GetStatusRequest());
  EXPECT_EQ(status->node(), "node-1");
  EXPECT_EQ(status->role(), "observer");
  EXPECT_EQ(status->changes(), 1u);
  EXPECT_GE(status->journal_records(), 1u);
  EXPECT_THAT(status->troubles(), ElementsAre(HasSubstr("apply its CRD")));
}

TEST_F(InspectServiceTest, AWatcherGetsTheListAtOnceAndAfterEachChange) {
  Watcher watcher;
  const auto call = channel_->ServerStream(kService + "WatchDevices", "", watcher);
  node_.Pass(10ms);
  EXPECT_THAT(watcher.lists, ElementsAre("gpu-0 Healthy"));
  driver_->Report({{.device = "gpu-0", .health = 2}});
  node_.Pass(HeldChanges::kAnnotationCalm);
  EXPECT_THAT(watcher.lists, Contains("gpu-0 Unhealthy"));
  const std::size_t seen = watcher.lists.size();
  node_.Pass(10s);
  EXPECT_EQ(watcher.lists.size(), seen) << "nothing changed";
}

TEST_F(InspectServiceTest, ManyWatchersAreServedAndTooManyRefused) {
  std::vector<std::unique_ptr<Watcher>> watchers;
  std::vector<std::unique_ptr<rpc::Call>> calls;
  for (std::size_t i = 0; i <= InspectService::kWatchersMax; ++i) {
    watchers.push_back(std::make_unique<Watcher>());
    calls.push_back(channel_->ServerStream(kService + "WatchDevices", "", *watchers.back()));
  }
  node_.Pass(10ms);
  EXPECT_FALSE(watchers.front()->end);
  EXPECT_EQ(watchers.back()->end->code(), Code::kResourceExhausted);
  calls.erase(calls.begin());
  node_.Pass(10ms);
  Watcher late;
  const auto call = channel_->ServerStream(kService + "WatchDevices", "", late);
  node_.Pass(10ms);
  EXPECT_FALSE(late.end) << "one that left made room";
}

TEST_F(InspectServiceTest, ExplainsAPodByItsLineOfCauses) {
  driver_->Report({{.device = "gpu-0",
                    .health = 2,
                    .message = "XID 79",
                    .code = "XidGpuLost",
                    .sign = "kernel log: Xid 79"}});
  node_.Pass(2s);
  const auto line = Explain("trainer-0", "default");
  ASSERT_TRUE(line.ok()) << ToString(line.status());
  std::vector<std::string> kinds;
  for (const wire::Step& step : line->steps()) kinds.push_back(step.kind());
  const std::vector<std::string> tail(kinds.end() - 4, kinds.end());
  EXPECT_THAT(tail, ElementsAre("sign", "change", "kept", "published"));
  const wire::Step& change = line->steps(line->steps_size() - 3);
  EXPECT_EQ(change.message(), "XID 79");
  EXPECT_THAT(change.device(), HasSubstr("/gpu-0"));
  EXPECT_THAT(kinds, Not(Contains("agent-started"))) << "before there was a step";
  EXPECT_EQ(line->devices(0).state(), "Unhealthy");
  EXPECT_EQ(line->node(), "node-1");
  EXPECT_NE(line->pod_uid(), "");
}

TEST_F(InspectServiceTest, ExplainsAPodThatIsGone) {
  driver_->Report({{.device = "gpu-0", .health = 2, .code = "XidGpuLost"}});
  node_.Pass(2s);
  node_.cluster.Delete(kube::kPods, "trainer-0", "default", 0);
  node_.Pass(5s);
  const auto line = Explain("trainer-0", "default");
  ASSERT_TRUE(line.ok()) << ToString(line.status());
  EXPECT_EQ(line->devices(0).device(), "gpu-0");
  EXPECT_EQ(line->pod_uid(), "");
  EXPECT_EQ(Explain("never-there", "default").status().code(), Code::kNotFound);
}

TEST_F(InspectServiceTest, ShowsHowAPodEndedThatIsGoneFromTheApi) {
  driver_->Report({{.device = "gpu-0", .health = 2, .message = "XID 79: lost", .code = "XidLost"}});
  node_.Pass(2s);
  node_.cluster.Delete(kube::kPods, "trainer-0", "default", 0);
  node_.Pass(1min);
  ASSERT_TRUE(node_.cluster.Pod("trainer-0").is_null());
  const auto list =
      Ask<wire::ListPostMortemsResponse>("ListPostMortems", wire::ListPostMortemsRequest());
  EXPECT_EQ(list->node(), "node-1");
  ASSERT_EQ(list->post_mortems_size(), 1);
  const wire::PostMortem& record = list->post_mortems(0);
  EXPECT_EQ(record.namespace_() + "/" + record.pod(), "default/trainer-0");
  EXPECT_EQ(record.end(), "Deleted");
  EXPECT_TRUE(record.over());
  EXPECT_TRUE(record.exact());
  EXPECT_GT(record.ended_unix_nanos(), 0);
  ASSERT_EQ(record.devices_size(), 1);
  const wire::PostMortemDevice& device = record.devices(0);
  EXPECT_EQ(device.device(), "gpu-0");
  std::string findings;
  for (const wire::Finding& finding : device.findings()) {
    findings += finding.state() + " " + finding.cause().message() + "; ";
  }
  EXPECT_THAT(findings, HasSubstr("Unhealthy XID 79: lost; "));
  EXPECT_EQ(record.verdict().kind(), "Undetermined") << "nothing crashed";

  wire::ListPostMortemsRequest other;
  other.set_namespace_("train");
  EXPECT_EQ(Ask<wire::ListPostMortemsResponse>("ListPostMortems", other)->post_mortems_size(), 0);
  const auto answer = Explain("trainer-0");
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->namespace_(), "default") << "who asks did not know it";
  EXPECT_EQ(answer->pod_uid(), "");
  EXPECT_EQ(answer->devices_size(), 1);
  EXPECT_EQ(answer->post_mortems_size(), 1);
  std::string ended;
  for (const wire::Step& step : answer->steps()) {
    if (step.kind() == "ended") ended += step.text();
  }
  EXPECT_EQ(ended, "Deleted");
}

TEST_F(InspectServiceTest, OfAPodSaysItsPhaseAndWhetherItWasAskedToGo) {
  const auto before = Explain("trainer-0");
  ASSERT_TRUE(before.ok()) << "the only Pod of that name: " << ToString(before.status());
  EXPECT_EQ(before->namespace_(), "default");
  EXPECT_NE(before->phase(), "");
  EXPECT_EQ(before->asked_to_go_unix_nanos(), 0);
  node_.cluster.Delete(kube::kPods, "trainer-0", "default", 30);
  EXPECT_GT(Explain("trainer-0")->asked_to_go_unix_nanos(), 0);
}

// By now its device may be another Pod's.
TEST_F(InspectServiceTest, OfAPodThatIsGoneTheDeviceIsAsItWasThen) {
  const std::string claim =
      node_.cluster.Pod("trainer-0")["status"]["resourceClaimStatuses"][0]["resourceClaimName"]
          .AsString();
  node_.cluster.Delete(kube::kPods, "trainer-0", "default", 0);
  node_.Pass(1min);
  node_.AddPod("trainer-1");
  node_.Pass(5s);
  driver_->Report({{.device = "gpu-0", .health = 2, .message = "XID 79: lost", .code = "XidLost"}});
  node_.Pass(5s);
  const auto answer = Explain("trainer-0");
  ASSERT_TRUE(answer.ok()) << ToString(answer.status());
  ASSERT_EQ(answer->devices_size(), 1);
  EXPECT_EQ(answer->devices(0).state(), "Healthy");
  ASSERT_EQ(answer->devices(0).holders_size(), 1);
  EXPECT_EQ(answer->devices(0).holders(0).claim(), claim);
}

// Its Pod is deleted while its driver is away, and goes when the driver is back.
TEST_F(InspectServiceTest, OfAPodThatEndedDevicesStepsAndRecordSayTheSame) {
  driver_->Kill();
  node_.Pass(2s);
  Hold(node_, "trainer-0");
  node_.cluster.Delete(kube::kPods, "trainer-0", "default", 30);
  node_.Pass(1s);
  CrashContainer(node_, "trainer-0", 137, false);
  node_.Pass(1s);
  driver_->ListenAgain();
  node_.Pass(500ms);
  LetGo(node_, "trainer-0");
  node_.Pass(1min);
  driver_->Kill();
  node_.Pass(10min);
  driver_->ListenAgain();
  node_.Pass(1min);
  const auto answer = Explain("trainer-0", "default");
  ASSERT_TRUE(answer.ok()) << ToString(answer.status());
  ASSERT_EQ(answer->devices_size(), 1);
  EXPECT_EQ(answer->devices(0).state(), "Healthy");
  std::string drivers, states;
  for (const wire::Step& step : answer->steps()) {
    EXPECT_NE(step.kind(), "crash") << step.text();
    if (step.kind().starts_with("driver")) drivers += step.kind() + " ";
  }
  EXPECT_EQ(drivers, "driver-connected driver-lost driver-connected driver-lost ");
  for (const wire::Finding& finding : answer->post_mortems(0).devices(0).findings()) {
    states += finding.state() + " ";
  }
  EXPECT_THAT(states, testing::StartsWith("Healthy Unknown Healthy Unknown "));
}

// For some minutes it still takes late news of what its claims gave it, which is another's by now.
TEST_F(InspectServiceTest, OfAPodThatHasEndedStepsSayNothingOfWhatItsDeviceDidLater) {
  driver_->Report({Well("gpu-0")});
  Succeed(node_, "trainer-0");
  node_.Pass(5s);
  GiveBack(node_);
  node_.AddPod("trainer-1");
  node_.Pass(60s);
  driver_->Report({Lost("gpu-0")});
  node_.Pass(5s);
  EXPECT_THAT(Explain("trainer-1")->SerializeAsString(), HasSubstr("XID 79"));
  for (const Duration later : {0s, 360s}) {
    node_.Pass(later);
    const auto answer = Explain("trainer-0");
    EXPECT_EQ(answer->phase(), "Succeeded");
    for (const wire::Step& step : answer->steps()) {
      EXPECT_THAT(step.text(), Not(HasSubstr("XidGpuLost"))) << later / 1s << " s later";
    }
    EXPECT_EQ(answer->devices(0).state(), "Healthy");
  }
}

TEST_F(InspectServiceTest, OfAPodThatHasEndedStepsSayWhatItsDeviceDidUntilThen) {
  node_.api.SetDown(true);
  driver_->Report({Lost("gpu-0")});
  node_.Pass(1s);
  driver_->Report({Well("gpu-0")});
  node_.Pass(1s);
  CrashContainer(node_, "trainer-0", 134, true);
  node_.api.SetDown(false);
  node_.Pass(60s);
  const auto answer = Explain("trainer-0", "default");
  EXPECT_EQ(answer->phase(), "Failed");
  std::vector<std::string> changes;
  for (const wire::Step& step : answer->steps()) {
    if (step.kind() == "change") changes.push_back(step.text());
  }
  EXPECT_THAT(changes, ElementsAre("Unknown → Healthy", "Healthy → Unhealthy, XidGpuLost",
                                   "Unhealthy → Healthy"));
}

TEST_F(InspectServiceTest, ShowsNothingOfHowAnEarlierPodOfThatNameEnded) {
  driver_->Report({{.device = "gpu-0", .health = 2, .message = "XID 79: lost", .code = "XidLost"}});
  node_.Pass(2s);
  node_.cluster.Delete(kube::kPods, "trainer-0", "default", 0);
  node_.Pass(1min);
  driver_->Report({{.device = "gpu-0", .health = 1}});
  node_.AddPod("trainer-0");
  node_.Pass(5s);
  const auto answer = Explain("trainer-0", "default");
  ASSERT_TRUE(answer.ok()) << ToString(answer.status());
  EXPECT_NE(answer->pod_uid(), "");
  EXPECT_EQ(answer->post_mortems_size(), 0);
  for (const wire::Step& step : answer->steps()) EXPECT_NE(step.kind(), "ended") << step.text();
}

// One that would be chosen among several might be another than is meant.
TEST_F(InspectServiceTest, OfTwoPodsOfANameAsksForTheNamespace) {
  Json pod = api_sim::FakePod("trainer-0");
  pod["metadata"]["namespace"] = "other";
  node_.cluster.Create(kube::kNamespaces,
                       Json::MakeObject({{"metadata", Json::MakeObject({{"name", "other"}})}}));
  ASSERT_TRUE(node_.cluster.Do(kube::Create(kube::kPods, "other", pod)).ok());
  node_.Pass(5s);
  const auto answer = Explain("trainer-0");
  EXPECT_EQ(answer.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(answer.status().message(), HasSubstr("write NAMESPACE/POD"));
  EXPECT_TRUE(Explain("trainer-0", "default").ok());
}

// Somebody set its nodeName while its claim still waits for a device: that it holds none says
// little.
TEST_F(InspectServiceTest, APodWhoseClaimsGiveItNoDeviceSaysSo) {
  Json pod = api_sim::WithTemplate(api_sim::FakePod("early"), "gpu", "gpu.example.com");
  pod["spec"]["nodeName"] = "node-1";
  node_.CreatePod(pod);
  node_.Pass(5s);
  const auto answer = Explain("early", "default");
  ASSERT_TRUE(answer.ok()) << ToString(answer.status());
  ASSERT_GT(answer->notes_size(), 0);
  EXPECT_THAT(answer->notes(0), HasSubstr("Its claims give it no device"));
}

TEST_F(InspectServiceTest, AnAnswerThatMayBeShortSaysWhatHindersTheAgent) {
  const auto answer = Explain("trainer-0");
  ASSERT_TRUE(answer.ok());
  ASSERT_EQ(answer->notes_size(), 1);
  EXPECT_THAT(answer->notes(0), HasSubstr("The agent has a problem: NodeDeviceHealth: "));
}

// libprotobuf would write "String field … contains invalid UTF-8" as often as somebody sends one.
TEST_F(InspectServiceTest, ATextThatIsNoUtf8IsRefusedAndNothingIsWrittenToStandardError) {
  ::testing::internal::CaptureStderr();
  const auto answer = Explain("trainer-\xff");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(answer.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(answer.status().message(), HasSubstr("a text in it is not UTF-8"));
}

}  // namespace
}  // namespace galen::agent
