#include "cli/commands/post_mortem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/files/test_temporary_directory.h"
#include "cli/inspect/agent_link.h"
#include "net/endpoint/server.h"
#include "protos/galen/inspect/v1/inspect.pb.h"

namespace galen::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

namespace wire = galen::inspect::v1;

// The agent of node-1, which has one record, of a Pod in namespace train. Served by a thread of its
// own, for the command waits on its caller's.
class Agent {
 public:
  Agent() {
    rpc::AddUnary<wire::ListPostMortemsRequest, wire::ListPostMortemsResponse>(
        dispatcher_, "/galen.inspect.v1.Inspect/ListPostMortems",
        [](const wire::ListPostMortemsRequest& request, const rpc::Caller&, const auto& reply) {
          wire::ListPostMortemsResponse answer;
          answer.set_node("node-1");
          if (request.namespace_() != "other") {
            wire::PostMortem& record = *answer.add_post_mortems();
            record.set_namespace_("train");
            record.set_pod("trainer-0");
            record.set_node("node-1");
          }
          reply(answer);
        });
    thread_ = std::thread([this] { loop_->Run(); });
  }
  ~Agent() {
    loop_->Post([this] { loop_->Stop(); });
    thread_.join();
  }

  // What the command says beside its answer.
  std::vector<std::string> Notes(const std::string& ns, const std::string& output) const {
    Options options;
    options.agent_socket = socket_;
    options.ns = ns;
    options.output = output;
    const auto answer = PostMortems(options, "");
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return answer.ok() ? answer->notes : std::vector<std::string>();
  }

 private:
  TemporaryDirectory directory_;
  const std::string socket_ = directory_.Path("agent.sock");
  std::unique_ptr<EpollLoop> loop_ = std::move(*EpollLoop::Create());
  rpc::Dispatcher dispatcher_{*loop_};
  std::unique_ptr<net::Server> server_ = std::move(
      *net::Server::Start(*loop_, NullLog(), {.address = "unix:" + socket_}, dispatcher_));
  std::thread thread_;
};

constexpr WallTime kEnd(std::chrono::milliseconds(1'795'269'734'020));

history::PostMortem Record() {
  history::PostMortem record;
  record.pod = {{"train", "trainer-0"}, "uid-1"};
  record.node = "node-7";
  record.end = history::PodEnd::kFailed;
  record.over = true;
  record.first = record.ended = kEnd;
  record.containers = {{.container = "train",
                        .exit_code = 134,
                        .message = "Traceback:\nCUDA error 700",
                        .finished = kEnd}};
  history::PostMortemDevice device;
  device.identity = {{"gpu.example.com", "node-7", "gpu-3"}, "1653922005112", "H200"};
  device.claim = "trainer-0-gpu";
  device.findings.resize(2);
  device.findings[0].health.state = HealthState::kHealthy;
  device.findings[1].health.state = HealthState::kUnhealthy;
  device.findings[1].health.cause.code = "XidGpuLost";
  device.findings[1].health.cause.message = "XID 79: GPU has fallen off the bus";
  device.findings[1].health.since = kEnd - 2700ms;
  device.findings[1].received = kEnd + 2min;
  for (auto& finding : device.findings) finding.health.id = device.identity.id;
  record.devices = {device};
  record.verdict = {.kind = VerdictKind::kHardware,
                    .confidence = 0.98,
                    .supporting = {{"device-lost-before", VerdictKind::kHardware, 0.9,
                                    "gpu-3 lost 2.7 s before the crash"}},
                    .opposing = {}};
  return record;
}

// Where a node's agent answers, nobody else is asked: the list is not the cluster's.
TEST(PostMortems, OfANodesAgentSayWhoseTheyAre) {
  const Agent agent;
  using Notes = std::vector<std::string>;
  EXPECT_EQ(agent.Notes("", "table"), Notes{"of node-1 only; other nodes' agents know theirs"});
  EXPECT_EQ(agent.Notes("", "json"), Notes());
  for (const char* output : {"table", "json"}) {
    EXPECT_EQ(agent.Notes("other", output),
              Notes{"no Pod with devices has ended on node-1 in namespace other; other nodes' "
                    "agents know theirs"});
  }
}

TEST(PostMortemTable, HasARowForEachEndWithItsWorstDeviceAndVerdict) {
  const std::string text = PostMortemTable({ToShown(Record())}, false, kEnd + 38s).Text(false);
  EXPECT_THAT(text, HasSubstr("NAMESPACE  POD        ENDED  END     EXIT         DEVICE"));
  EXPECT_THAT(text, HasSubstr("train      trainer-0  38s    Failed  134 SIGABRT  gpu-3"));
  EXPECT_THAT(text, HasSubstr("Unhealthy  hardware (0.98)  XID 79: GPU has fallen off the bus"));
  EXPECT_THAT(text, Not(HasSubstr("uid-1")));
  const std::string wide = PostMortemTable({ToShown(Record())}, true, kEnd + 38s).Text(false);
  EXPECT_THAT(wide, HasSubstr("node-7"));
  EXPECT_THAT(wide, HasSubstr("uid-1"));
}

TEST(PostMortemTable, OfAPodWithoutACrashOrDevicesCellsAreEmpty) {
  history::PostMortem record = Record();
  record.containers.clear();
  record.devices.clear();
  record.verdict = {};
  EXPECT_THAT(PostMortemTable({ToShown(record)}, false, kEnd).Text(false),
              HasSubstr("undetermined"));
  record.end = history::PodEnd::kDeleted;
  EXPECT_EQ(ToShown(record).summary, "undetermined: nobody saw how its containers ended");
  record.containers = {{.container = "train", .exit_code = 0}};
  EXPECT_THAT(PostMortemTable({ToShown(record)}, false, kEnd).Text(false),
              HasSubstr("nothing crashed"));
}

// By then the device was another Pod's: the row is of this one.
TEST(PostMortemTable, AFaultAfterTheEndIsShownBesideHowTheDeviceWasThen) {
  history::PostMortem record = Record();
  record.devices[0].findings[1].health.since = kEnd + 13s;
  EXPECT_THAT(PostMortemTable({ToShown(record)}, false, kEnd + 38s).Text(false),
              HasSubstr("Healthy  hardware (0.98)  Unhealthy 13s after the end: XID 79"));
}

TEST(DrawPostMortem, ShowsTheWholeStoryAndWideItsEvidence) {
  Options options;
  const std::string text = DrawPostMortem(ToShown(Record()), options, kEnd + 1h);
  EXPECT_THAT(text, HasSubstr("train/trainer-0 on node-7: Failed, " + FormatRfc3339(kEnd, 3)));
  EXPECT_THAT(text, HasSubstr("  crash       container train, exit 134 (SIGABRT) at "));
  EXPECT_THAT(text, HasSubstr("\n              Traceback:\n              CUDA error 700\n"));
  EXPECT_THAT(text, HasSubstr("serial 1653922005112, claim trainer-0-gpu"));
  EXPECT_THAT(text, HasSubstr(": XID 79: GPU has fallen off the bus, reported 2m2s later"));
  EXPECT_THAT(text, HasSubstr("  verdict     hardware (0.98): gpu-3 lost 2.7 s before the crash"));
  EXPECT_THAT(text, Not(HasSubstr("device-lost-before")));
  options.output = "wide";
  EXPECT_THAT(DrawPostMortem(ToShown(Record()), options, kEnd),
              HasSubstr("for         0.90 device-lost-b"));
}

TEST(DrawPostMortem, AContainerOfADeletedPodDidNotCrash) {
  history::PostMortem record = Record();
  record.end = history::PodEnd::kDeleted;
  record.containers[0].finished = kEnd;
  record.asked = kEnd - 30s;
  const auto drawn = [&] { return DrawPostMortem(ToShown(record), Options(), kEnd + 1h); };
  EXPECT_THAT(drawn(), HasSubstr("  end         container train, exit 134 (SIGABRT) at "));
  record.asked = kEnd + 1s;
  EXPECT_THAT(drawn(), HasSubstr("  crash       container train, exit 134 (SIGABRT) at "));
}

TEST(DrawPostMortem, NoTextFromOutsideReachesTheTerminalAsItIs) {
  history::PostMortem record = Record();
  const std::string escape = "\x1b[2J";
  record.pod.key.name += escape;
  record.containers[0].container += escape;
  record.containers[0].message += escape;
  record.devices[0].identity.serial += escape;
  record.devices[0].findings[1].health.cause.message += escape;
  record.verdict.supporting[0].sentence += escape;
  Options options;
  options.output = "wide";
  EXPECT_THAT(DrawPostMortem(ToShown(record), options, kEnd), Not(HasSubstr("\x1b")));
  EXPECT_THAT(PostMortemTable({ToShown(record)}, true, kEnd).Text(false), Not(HasSubstr("\x1b")));
}

TEST(PostMortemJson, IsTheRecordWithTheVerdictsSummary) {
  const Json json = PostMortemJson({ToShown(Record())});
  ASSERT_THAT(json["items"].items(), SizeIs(1));
  const Json& item = json["items"][0];
  EXPECT_EQ(item["pod"]["name"].AsString(), "trainer-0");
  EXPECT_EQ(item["containers"][0]["exitCode"].AsInt(), 134);
  EXPECT_THAT(item["verdict"]["summary"].AsString(), HasSubstr("hardware (0.98)"));
  EXPECT_TRUE(PostMortemJson({})["items"].is_array()) << "a list of none is a list";
}

TEST(PostMortemFromProto, ReadsWhatTheAgentSends) {
  wire::PostMortem wire;
  wire.set_namespace_("train");
  wire.set_pod("trainer-0");
  wire.set_uid("uid-1");
  wire.set_number(2);
  wire.set_end("Evicted");
  wire.set_exact(true);
  wire.set_ended_unix_nanos(kEnd.time_since_epoch().count());
  auto& end = *wire.add_containers();
  end.set_container("train");
  end.set_exit_code(0);
  auto& device = *wire.add_devices();
  device.set_device("gpu-3");
  device.add_findings()->set_state("Splendid");
  wire.mutable_verdict()->set_kind("Platform");
  wire.mutable_verdict()->set_confidence(0.7);
  const history::PostMortem record = FromProto(wire);
  EXPECT_EQ(record.number, 2);
  EXPECT_EQ(record.end, history::PodEnd::kEvicted);
  EXPECT_EQ(record.ended, kEnd);
  EXPECT_EQ(record.containers.at(0).exit_code, 0);
  EXPECT_EQ(record.containers.at(0).signal, std::nullopt);
  EXPECT_EQ(record.containers.at(0).finished, std::nullopt);
  EXPECT_EQ(record.devices.at(0).findings.at(0).health.state, HealthState::kUnknown);
  EXPECT_EQ(record.verdict.kind, VerdictKind::kPlatform);
}

TEST(PostMortemFromNode, HasWhatTheNodesObjectHolds) {
  kube::NodeDeviceHealth node;
  node.node = "node-7";
  kube::NodePostMortem entry;
  entry.pod = {{"train", "trainer-0"}, "uid-1"};
  entry.end = "Crashed";
  entry.ended = kEnd;
  entry.container = "train";
  entry.exit_code = 139;
  entry.device = {"gpu.example.com", "node-7", "gpu-3"};
  entry.state = HealthState::kUnhealthy;
  entry.message = "XID 79";
  entry.verdict = "Hardware";
  entry.confidence = 0.98;
  entry.summary = "hardware (0.98): gpu-3 lost 2.7 s before the crash";
  const std::string text = PostMortemTable({FromNode(node, entry)}, true, kEnd).Text(false);
  for (const char* cell : {"Crashed", "139 SIGSEGV", "gpu-3", "hardware (0.98)", "XID 79"}) {
    EXPECT_THAT(text, HasSubstr(cell));
  }
  EXPECT_THAT(DrawPostMortem(FromNode(node, entry), Options(), kEnd),
              HasSubstr("verdict     hardware (0.98): gpu-3 lost 2.7 s before"));
}

// It said that nothing shows why, and of an evidence that was made up of the sentence.
TEST(PostMortemFromNode, SaysTheVerdictAsTheNodesObjectHasIt) {
  kube::NodePostMortem entry;
  entry.pod = {{"train", "trainer-0"}, "uid-1"};
  entry.end = "Crashed";
  entry.verdict = "Undetermined";
  entry.confidence = 0.3;
  entry.summary =
      "undetermined: for hardware: gpu-3 lost 2.7 s before the crash; for application: exit 1";
  const ShownPostMortem shown = FromNode({}, entry);
  EXPECT_THAT(DrawPostMortem(shown, Options(), kEnd), HasSubstr("verdict     " + entry.summary));
  EXPECT_THAT(PostMortemTable({shown}, false, kEnd).Text(false), HasSubstr(" undetermined"));
  const Json json = PostMortemJson({shown});
  const Json& verdict = json["items"][0]["verdict"];
  EXPECT_EQ(verdict["summary"].AsString(), entry.summary);
  EXPECT_EQ(verdict["kind"].AsString(), "Undetermined");
  EXPECT_THAT(verdict["supporting"].items(), SizeIs(0)) << "it has none to show";
  EXPECT_THAT(verdict["opposing"].items(), SizeIs(0));
}

}  // namespace
}  // namespace galen::cli
