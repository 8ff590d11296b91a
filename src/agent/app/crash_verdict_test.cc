// Crashes on a whole agent with a cluster around it: whose fault each was, as `galen why` shows it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/app/fake_agent_node.h"
#include "api_sim/objects/fake_objects.h"
#include "protos/galen/inspect/v1/inspect.pb.h"
#include "rpc/typed.h"

namespace galen::agent {
namespace {

namespace wire = galen::inspect::v1;
using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class CrashVerdictTest : public ::testing::Test {
 protected:
  CrashVerdictTest() {
    driver_ = &node_.AddDriver({"gpu-0"});
    node_.AddPod("trainer-0");
    node_.StartAgent();
    Say({.device = "gpu-0"});
    node_.Pass(10min);
    node_.network.Listen("unix:/agent.sock", node_.app->inspect());
    dialling_ = node_.dialer->Dial({.target = "unix:/agent.sock"},
                                   [this](StatusOr<std::unique_ptr<net::Connection>> connection) {
                                     connection_ = std::move(connection).value();
                                   });
    node_.Pass(10ms);
    channel_.emplace(node_.cluster.loop(), *connection_);
  }
  ~CrashVerdictTest() override { channel_.reset(); }

  // Holds until another report, so that the driver need not repeat itself.
  void Say(FakeReport report) {
    report.timeout_seconds = 86'400;
    const WallTime now = node_.cluster.loop().WallNow();
    report.sign_unix_nanos = now.time_since_epoch().count();
    driver_->Report({report});
    node_.Pass(100ms);
  }

  // As a kubelet writes it: the container ended just now and runs again.
  void Crash(int code, const std::string& reason, const std::string& message = "") {
    const WallTime now = node_.cluster.loop().WallNow();
    Json ended = Json::MakeObject({{"exitCode", code},
                                   {"reason", reason},
                                   {"message", message},
                                   {"startedAt", FormatRfc3339(now - 5min)},
                                   {"finishedAt", FormatRfc3339(now)}});
    Json status = api_sim::Yaml("{name: main, image: pause, imageID: '', ready: false}");
    status["restartCount"] = 1;
    status["lastState"]["terminated"] = std::move(ended);
    // What hides the reason from who only looks at the present.
    status["state"]["waiting"]["reason"] = "CrashLoopBackOff";
    Json patch;
    patch["status"]["containerStatuses"] = Json::MakeArray({std::move(status)});
    ASSERT_TRUE(node_.cluster
                    .Do(kube::Patch(kube::kPods, "default", "trainer-0",
                                    kube::PatchType::kStrategic, patch, {.subresource = "status"}))
                    .ok());
    node_.Pass(10s);
  }

  // "Hardware: device lost …" of the newest record, "" when there is none.
  std::string Verdict() {
    wire::ExplainRequest request;
    request.set_namespace_("default");
    request.set_pod("trainer-0");
    std::optional<StatusOr<wire::ExplainResponse>> answer;
    const auto call = rpc::Unary<wire::ExplainResponse>(
        *channel_, "/galen.inspect.v1.Inspect/Explain", request, 1s,
        [&](StatusOr<wire::ExplainResponse> r) { answer = std::move(r); });
    node_.Pass(10ms);
    if (!answer || !answer->ok() || (*answer)->post_mortems_size() == 0) return "";
    const wire::Verdict& verdict = (*answer)->post_mortems(0).verdict();
    std::string text = verdict.kind() + ":";
    for (const wire::Evidence& one : verdict.supporting()) text += " " + one.sentence() + ";";
    for (const wire::Evidence& one : verdict.opposing()) text += " but " + one.sentence() + ";";
    return text;
  }

  AgentNode node_{Role::kObserver};
  FakePlugin* driver_;
  std::unique_ptr<net::Dialling> dialling_;
  std::unique_ptr<net::Connection> connection_;
  std::optional<rpc::Channel> channel_;
};

TEST_F(CrashVerdictTest, AGpuThatIsLostBeforeTheCrashIsTheHardwares) {
  Say({.device = "gpu-0",
       .health = 2,
       .message = "XID 79: GPU has fallen off the bus",
       .code = "XidGpuLost",
       .owner = "Hardware"});
  node_.Pass(3s);
  Crash(134, "Error");
  EXPECT_THAT(Verdict(), StartsWith("Hardware: device lost 2."));
}

TEST_F(CrashVerdictTest, ACrashOnAHealthyGpuIsTheApplications) {
  Crash(139, "Error");
  EXPECT_EQ(Verdict(),
            "Application: container main ended by exit 139 (SIGSEGV); its device was Healthy "
            "throughout;");
}

TEST_F(CrashVerdictTest, AProgramsOwnFaultIsHeardOfAHealthyGpu) {
  Say({.device = "gpu-0",
       .message = "XID 31: MMU page fault of the program",
       .code = "XidPageFault",
       .owner = "Application"});
  Crash(1, "Error");
  EXPECT_THAT(Verdict(), StartsWith("Application: the program's own fault"));
}

TEST_F(CrashVerdictTest, WantOfMemoryIsKnownThoughTheContainerWaits) {
  Crash(137, "OOMKilled");
  EXPECT_THAT(Verdict(), HasSubstr("container main exceeded its own memory limit"));
}

TEST_F(CrashVerdictTest, ADriverThatIsGoneIsNoFaultOfTheHardware) {
  driver_->Stop();
  node_.Pass(2s);
  Crash(137, "Error");
  EXPECT_THAT(Verdict(), StartsWith("Undetermined:"));
}

TEST_F(CrashVerdictTest, WhatIsReportedAfterTheCrashStillCounts) {
  Crash(1, "Error", "CUDA error: uncorrectable ECC error encountered");
  ASSERT_THAT(Verdict(), StartsWith("Application:")) << "so far";
  const WallTime sign = node_.cluster.loop().WallNow() - 11s;
  driver_->Report({{.device = "gpu-0",
                    .health = 2,
                    .message = "XID 48: uncorrectable memory error",
                    .timeout_seconds = 86'400,
                    .code = "EccUncorrectable",
                    .sign_unix_nanos = sign.time_since_epoch().count(),
                    .owner = "Hardware"}});
  node_.Pass(10s);
  EXPECT_THAT(Verdict(), StartsWith("Hardware:"));
}

}  // namespace
}  // namespace galen::agent
