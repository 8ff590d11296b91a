// `galen dev-node` with real processes: Pods whose containers run here, crash, are killed and go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/data/yaml.h"
#include "cli/fleet/session.h"
#include "kube/request.h"
#include "tests/e2e/fleet_stage.h"

namespace galen::e2e {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace fs = std::filesystem;

std::string ReadAll(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Processes whose environment has this in it.
std::vector<std::string> ProcessesWith(const std::string& text) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    if (ReadAll(entry.path() / "environ").find(text) == std::string::npos) continue;
    found.push_back(entry.path().filename().string() + " " + ReadAll(entry.path() / "comm"));
  }
  return found;
}

std::vector<std::string> AsThisUser(std::vector<std::string> arguments, const std::string& flag) {
  if (::geteuid() == 0) arguments.push_back(flag);
  return arguments;
}

// Pods on a node that runs them, asked of the API server.
class RunningNode : public ::testing::Test {
 protected:
  void Open(const std::string& kubeconfig) {
    cli::Options options;
    options.cluster.path = kubeconfig;
    session_ = cli::Session::Open(stage_.loop(), options).value();
  }
  void CreatePod(const std::string& name, const std::string& spec) {
    const std::string yaml =
        "{apiVersion: v1, kind: Pod, metadata: {name: " + name + "}, spec: " + spec + "}";
    const StatusOr<Json> pod = ParseYaml(yaml);
    ASSERT_TRUE(pod.ok()) << ToString(pod.status()) << yaml;
    const auto made = session_->Fetch(kube::Create(kube::kPods, "default", *pod));
    ASSERT_TRUE(made.ok()) << ToString(made.status());
  }
  Json Pod(const std::string& name) {
    const auto pod = session_->Fetch(kube::Get(kube::kPods, "default", name));
    return pod.ok() ? *pod : Json();
  }
  Json Status(const std::string& name) { return Pod(name)["status"]["containerStatuses"][0]; }
  // Whether `holds` of the container's status, within a while.
  bool Becomes(const std::string& name, const std::function<bool(const Json&)>& holds,
               Duration within = 20s) {
    return stage_.Until([&] { return holds(Status(name)); }, within);
  }
  void Delete(const std::string& name) {
    const auto deleted = session_->Fetch(kube::Delete(kube::kPods, "default", name));
    ASSERT_TRUE(deleted.ok()) << ToString(deleted.status());
  }
  bool IsGone(const std::string& name, Duration within) {
    return stage_.Until([&] { return Pod(name).is_null(); }, within);
  }
  // What the container wrote.
  std::string Log(const std::string& agent_state, const std::string& pod) {
    for (const auto& entry : fs::directory_iterator(agent_state + "/pods")) {
      if (entry.path().filename().string().starts_with("default_" + pod + "_")) {
        return ReadAll(entry.path() / "main" / "log");
      }
    }
    return "";
  }

  Stage stage_;
  std::unique_ptr<cli::Session> session_;
};

class DevNodeTest : public RunningNode {
 protected:
  void SetUp() override {
    program_ = &stage_.Start(
        "galen", AsThisUser({"dev-node", "--dir", Directory(), "--driver-sim", "1"}, "--as-root"),
        {.environment = {Mark()}});
    ASSERT_TRUE(stage_.Until(
        [&] { return !program_->running() || Count(program_->Log(), "Ctrl-C ends it") > 0; }, 60s));
    ASSERT_TRUE(program_->running()) << program_->Log();
    Open(Directory() + "/kubeconfig");
  }
  // Killed, its programs would go on for a moment, and write into the directory that is removed.
  void TearDown() override {
    if (program_->running()) program_->Signal(SIGINT);
    EXPECT_TRUE(stage_.Until([&] { return !program_->running(); }, 10s)) << program_->Log();
  }
  std::string Directory() const { return stage_.Path("d"); }
  // All processes of the dev node inherit it, but not its containers: these have their own.
  std::string Mark() const { return "GALEN_E2E_DEV_NODE=" + stage_.directory(); }
  std::string ContainerMark() const { return "GALEN_CONTAINER_DIRECTORY=" + Directory() + "/"; }

  Program* program_ = nullptr;
};

TEST_F(DevNodeTest, APodThatExitsWithThreeIsInACrashLoop) {
  CreatePod("crash",
            "{containers: [{name: main, image: none, command: [sh, -c, "
            "'echo sorry > $GALEN_TERMINATION_LOG; exit 3']}]}");
  ASSERT_TRUE(Becomes("crash", [](const Json& status) {
    return status["state"]["waiting"]["reason"].AsString() == "CrashLoopBackOff";
  })) << Pod("crash").DumpPretty();
  const Json status = Status("crash");
  EXPECT_EQ(status["restartCount"].AsInt(), 1) << "the first restart comes at once";
  EXPECT_EQ(status["lastState"]["terminated"]["exitCode"].AsInt(), 3);
  EXPECT_EQ(status["lastState"]["terminated"]["reason"].AsString(), "Error");
  EXPECT_EQ(status["lastState"]["terminated"]["message"].AsString(), "sorry\n");
  EXPECT_EQ(Pod("crash")["status"]["phase"].AsString(), "Running");
}

TEST_F(DevNodeTest, APodThatExceedsItsMemoryIsKilledForThatAlone) {
  // The agent's own log says what its machine lacks.
  if (Count(ReadAll(Directory() + "/galen-agent.log"), "memory limits are not enforced") > 0) {
    GTEST_SKIP() << "a Pod that runs out of its memory (this machine gives us no control group "
                    "that bounds it)";
  }
  CreatePod("greedy",
            "{containers: [{name: main, image: none, resources: {limits: {memory: 16Mi}}, "
            "command: [sh, -c, 'x=0123456789abcdef; while :; do x=$x$x; done']}]}");
  ASSERT_TRUE(Becomes("greedy", [](const Json& status) {
    return status["lastState"]["terminated"]["reason"].AsString() == "OOMKilled";
  })) << Pod("greedy").DumpPretty();
  EXPECT_EQ(Status("greedy")["lastState"]["terminated"]["exitCode"].AsInt(), 137);
}

TEST_F(DevNodeTest, APodWhoseProcessIsKilledShowsTheSignal) {
  CreatePod("fault",
            "{restartPolicy: Never, containers: [{name: main, image: none, "
            "command: [sh, -c, 'kill -SEGV $$$$']}]}");
  ASSERT_TRUE(Becomes("fault", [](const Json& status) {
    return status["state"].Has("terminated");
  })) << Pod("fault").DumpPretty();
  const Json ended = Status("fault")["state"]["terminated"];
  EXPECT_EQ(ended["exitCode"].AsInt(), 128 + SIGSEGV);
  EXPECT_EQ(ended["signal"].AsInt(), SIGSEGV);
  EXPECT_EQ(Pod("fault")["status"]["phase"].AsString(), "Failed");
}

TEST_F(DevNodeTest, ADeletedPodHasItsGraceAndLeavesNoProcess) {
  CreatePod("kind", "{containers: [{name: main, image: none, command: [sleep, '600']}]}");
  CreatePod("deaf",
            "{terminationGracePeriodSeconds: 2, containers: [{name: main, image: none, "
            "command: [sh, -c, 'trap : TERM; while :; do sleep 0.1; done']}]}");
  const auto runs = [](const Json& status) { return status["state"].Has("running"); };
  ASSERT_TRUE(Becomes("kind", runs) && Becomes("deaf", runs));
  EXPECT_EQ(ProcessesWith(ContainerMark() + "agent/pods/default_kind_").size(), 1u);
  Delete("kind");
  EXPECT_TRUE(IsGone("kind", 10s)) << "it ends by SIGTERM, long before its 30 s";
  const Time before = stage_.loop().Now();
  Delete("deaf");
  EXPECT_TRUE(IsGone("deaf", 15s));
  EXPECT_GE(stage_.loop().Now() - before, 2s) << "it had its grace";
  EXPECT_THAT(ProcessesWith(ContainerMark()), IsEmpty());
  // Behind the Pod, when the agent is notified that it is gone.
  EXPECT_TRUE(stage_.Until([&] { return fs::is_empty(Directory() + "/agent/pods"); }));
}

TEST_F(DevNodeTest, AProcessSeesItsDeviceByTheDriversCdiVariables) {
  CreatePod("user",
            "{restartPolicy: Never, resourceClaims: [{name: gpu, resourceClaimTemplateName: "
            "one-gpu}], containers: [{name: main, image: none, command: [env], resources: "
            "{claims: [{name: gpu}]}}]}");
  ASSERT_TRUE(
      stage_.Until([&] { return Pod("user")["status"]["phase"].AsString() == "Succeeded"; }, 30s))
      << Pod("user").DumpPretty();
  const std::string log = Log(Directory() + "/agent", "user");
  EXPECT_THAT(log, ::testing::ContainsRegex("GPU_0=[^\n]+"));
  EXPECT_THAT(log, ::testing::Not(HasSubstr(Mark()))) << "the agent's environment is its own";
}

TEST_F(DevNodeTest, ADriverThatIsKilledIsStartedAgainAndNothingElseEnds) {
  const auto drivers = [&] {
    std::vector<std::string> found = ProcessesWith(Mark());
    std::erase_if(found, [](const std::string& one) { return !one.ends_with(" galen-driver\n"); });
    return found;
  };
  ASSERT_TRUE(stage_.Until([&] { return drivers().size() == 1; })) << program_->Log();
  const std::string first = drivers().front();
  ASSERT_EQ(::kill(std::stoi(first), SIGKILL), 0);
  ASSERT_TRUE(
      stage_.Until([&] { return Count(program_->Log(), "it is started again in 5 s") == 1; }));
  EXPECT_TRUE(stage_.Until([&] { return drivers().size() == 1 && drivers().front() != first; }));
  EXPECT_TRUE(program_->running()) << program_->Log();
}

TEST_F(DevNodeTest, EndsWithAllItHasAtASignal) {
  // One that has left its session, as daemons do.
  CreatePod("job",
            "{containers: [{name: main, image: none, command: [sh, -c, "
            "'setsid sleep 600 & exec sleep 600']}]}");
  ASSERT_TRUE(stage_.Until([&] { return ProcessesWith(ContainerMark()).size() == 2; }));
  program_->Signal(SIGINT);
  ASSERT_TRUE(stage_.Until([&] { return !program_->running(); }, 10s));
  EXPECT_EQ(program_->exit_code(), 0) << program_->Log();
  EXPECT_THAT(ProcessesWith(ContainerMark()), IsEmpty());
  EXPECT_THAT(ProcessesWith(Mark()), IsEmpty());
  EXPECT_FALSE(fs::exists(Directory()));
}

TEST_F(DevNodeTest, SaysThatADirectoryIsNotEmpty) {
  const Outcome second = stage_.Run(
      AsThisUser({BuiltProgram("galen"), "dev-node", "--dir", Directory()}, "--as-root"));
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_THAT(second.error, HasSubstr("is not empty"));
  EXPECT_TRUE(program_->running());
}

TEST(DevNode, AsksRootWhetherPodsMayRunAsRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root is asked";
  Stage stage;
  const Outcome refused = stage.Run({BuiltProgram("galen"), "dev-node", "--dir", stage.Path("d")});
  EXPECT_EQ(refused.exit_code, 64);
  EXPECT_THAT(refused.error, HasSubstr("--as-root"));
  EXPECT_FALSE(stage.HasFile("d"));
}

// The agent by itself, so that it can die and come back.
class ProcessesTest : public RunningNode {
 protected:
  void SetUp() override {
    Program& sim = stage_.Start(
        "galen-sim", {"--virtual-node", "node-1", "--kubeconfig-out", stage_.Path("kubeconfig")});
    ASSERT_TRUE(stage_.Until([&] { return !sim.running() || stage_.HasFile("kubeconfig"); }));
    Open(stage_.Path("kubeconfig"));
  }
  Program& StartAgent(std::vector<std::string> more) {
    more.insert(more.begin(),
                {"--role", "manager", "--node", "node-1", "--kubeconfig", stage_.Path("kubeconfig"),
                 "--kubelet-root", stage_.Path("k"), "--state-dir", stage_.Path("a"), "--socket",
                 stage_.Path("agent.sock"), "--metrics-address", "127.0.0.1:0", "--containers",
                 "processes"});
    return stage_.Start("galen-agent", std::move(more));
  }
};

TEST_F(ProcessesTest, OfAnAgentThatWasKilledGoWithItAndTheNextRunsThePodAgain) {
  Program& first = StartAgent(AsThisUser({}, "--processes-as-root"));
  CreatePod("job",
            "{containers: [{name: main, image: none, command: [sh, -c, "
            "'setsid sleep 600 & exec sleep 600']}]}");
  const std::string mark = "GALEN_CONTAINER_DIRECTORY=" + stage_.Path("a") + "/";
  ASSERT_TRUE(stage_.Until([&] { return ProcessesWith(mark).size() == 2; }));
  ASSERT_TRUE(Becomes("job", [](const Json& status) { return status["state"].Has("running"); }));
  const std::vector<std::string> before = ProcessesWith(mark);
  first.Signal(SIGKILL);
  ASSERT_TRUE(stage_.Until([&] { return !first.running() && ProcessesWith(mark).empty(); }))
      << "also what left its session, without a next agent";
  StartAgent(AsThisUser({}, "--processes-as-root"));
  ASSERT_TRUE(Becomes("job", [](const Json& status) {
    return status["restartCount"].AsInt() == 1 && status["state"].Has("running");
  })) << Pod("job").DumpPretty();
  EXPECT_EQ(Status("job")["lastState"]["terminated"]["reason"].AsString(),
            "ContainerStatusUnknown");
  ASSERT_TRUE(stage_.Until([&] { return ProcessesWith(mark).size() == 2; }));
  for (const std::string& process : before) {
    EXPECT_THAT(ProcessesWith(mark), ::testing::Not(::testing::Contains(process)));
  }
}

TEST_F(ProcessesTest, OfRootWantItSaid) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root is asked";
  Program& agent = StartAgent({});
  ASSERT_TRUE(stage_.Until([&] { return !agent.running(); }));
  EXPECT_EQ(agent.exit_code(), 64);
  EXPECT_THAT(agent.Log(), HasSubstr("every Pod could do anything to this machine"));
  EXPECT_FALSE(stage_.HasFile("a"));
}

}  // namespace
}  // namespace galen::e2e
