#include "tests/e2e/fault_stage.h"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>

namespace galen::e2e {
namespace {

// Well beyond any retry of ours, on a machine that does other things as well.
constexpr Duration kPatience = std::chrono::seconds(30);

constexpr const char* kClass =
    "{{metadata: {{name: {0}}}, spec: {{selectors: [{{cel: {{expression: "
    "'device.driver == \"{0}\"'}}}}]}}}}";
constexpr const char* kTemplate =
    "{{metadata: {{name: {0}}}, spec: {{spec: {{devices: {{requests: "
    "[{{name: gpu, exactly: {{deviceClassName: {0}}}}}]}}}}}}}}";
constexpr const char* kPodWithOne =
    "{{metadata: {{name: {0}}}, spec: {{containers: [{{name: train, image: t, resources: "
    "{{claims: [{{name: gpu}}]}}}}], resourceClaims: [{{name: gpu, resourceClaimTemplateName: "
    "{1}}}]}}}}";

bool HasAll(const std::string& text, const std::vector<std::string>& parts) {
  return std::ranges::all_of(
      parts, [&](const std::string& part) { return text.find(part) != std::string::npos; });
}

}  // namespace

FaultStage::FaultStage() : fleet_({"--virtual-node", "node-7"}, "data") {}

bool FaultStage::Up() {
  if (!fleet_.serves()) return false;
  fleet_.InstallDefinitions();
  StartDriver();
  StartOtherDriver();
  StartAgent();
  MakePod(kTrainer, kDriver);
  MakePod(kBystander, kOtherDriver);
  for (const std::string pod : {kTrainer, kBystander}) {
    if (!stage().Until([&] { return LineOf(pod) == "gpu-0 Healthy" && HealthOf(pod) == "Healthy"; },
                       kPatience)) {
      return false;
    }
  }
  // One device of each Pod and a spare one, beside those of a story's own drivers; the node's
  // object is written after the Pods.
  const auto node_shows_all = [&] { return HealthyOnNode() >= 3; };
  if (!stage().Until(node_shows_all, kPatience)) return false;
  bystander_since_ = SinceOf(kBystander);
  bystander_changes_ = Steps(kBystander, "change");
  return true;
}

void FaultStage::MakePod(const std::string& pod, const std::string& driver) {
  fleet_.Create(kube::kDeviceClasses, "", fmt::format(kClass, driver));
  fleet_.Create(kube::kResourceClaimTemplates, "default", fmt::format(kTemplate, driver));
  fleet_.Create(kube::kPods, "default", fmt::format(kPodWithOne, pod, driver));
}

Program& FaultStage::StartAgent(const std::vector<std::string>& flags) {
  const std::string config = stage().Write(
      "agent.yaml",
      fmt::format("node: node-7\nrole: manager\nkubeletRoot: {}\nstateDir: {}\nsocket: {}\n"
                  "kubeconfig: {}\nmetricsAddress: ''\n{}",
                  Path("kubelet"), Path("agent"), Path("agent.sock"),
                  node_kubeconfig_.empty() ? fleet_.cluster().kubeconfig() : node_kubeconfig_,
                  agent_lines_));
  std::vector<std::string> arguments = {"--config", config};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  std::string program = ProgramPath("galen-agent");
  if (!agent_runner_.empty()) {
    program = agent_runner_.front();
    arguments.insert(arguments.begin(), ProgramPath("galen-agent"));
    arguments.insert(arguments.begin(), agent_runner_.begin() + 1, agent_runner_.end());
  }
  agent_ = &stage().Start(program, std::move(arguments));
  return *agent_;
}

std::string FaultStage::ProgramPath(const std::string& name) const {
  return programs_.empty() ? BuiltProgram(name) : programs_ + "/" + name;
}

std::vector<std::string> FaultStage::DriverCommand(const std::string& name,
                                                   const std::string& devices) {
  return {"gpu",
          "--name",
          name,
          "--devices",
          devices,
          "--node",
          "node-7",
          "--kubeconfig",
          node_kubeconfig_.empty() ? fleet_.cluster().kubeconfig() : node_kubeconfig_,
          "--kubelet-root",
          Path("kubelet"),
          "--cdi-root",
          Path("cdi"),
          "--poll",
          "200ms"};
}

Program& FaultStage::StartDriver(const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = DriverCommand(kDriver, "2");
  arguments.insert(arguments.end(), driver_flags_.begin(), driver_flags_.end());
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  driver_ = &stage().Start(ProgramPath("galen-driver"), std::move(arguments));
  return *driver_;
}

Program& FaultStage::StartOtherDriver() {
  other_driver_ = &stage().Start(ProgramPath("galen-driver"), DriverCommand(kOtherDriver, "1"));
  return *other_driver_;
}

void FaultStage::End(Program& program, int signal) {
  program.Signal(signal);
  ASSERT_TRUE(stage().Until([&] { return !program.running(); }, kPatience));
}

void FaultStage::Pause(Program& program) {
  program.Signal(SIGSTOP);
  // "(galen-agent) T" of /proc/PID/stat.
  const auto stopped = [&] {
    std::ifstream file(fmt::format("/proc/{}/stat", program.pid()));
    std::string stat;
    std::getline(file, stat);
    return stat.find(") T ") != std::string::npos;
  };
  ASSERT_TRUE(stage().Until(stopped, kPatience));
}

void FaultStage::StartApi(const std::vector<std::string>& more) {
  fleet_.ForgetSession();
  ASSERT_TRUE(fleet_.cluster().StartAgain(more));
}

Json FaultStage::Pod(const std::string& name) {
  const StatusOr<Json> pod = fleet_.session().Fetch(kube::Get(kube::kPods, "default", name));
  return pod.ok() ? *pod : Json();
}

std::string FaultStage::LineOf(const std::string& pod) {
  const Json found = Pod(pod);
  return found["metadata"]["annotations"]["galen.dev/devices"].AsString();
}

std::string FaultStage::HealthOf(const std::string& pod) {
  const Json found = Pod(pod);
  const Json& entry = found["status"]["containerStatuses"][0]["allocatedResourcesStatus"][0];
  return entry["resources"][0]["health"].AsString();
}

std::string FaultStage::ConditionOf(const std::string& pod) {
  const Json found = Pod(pod);
  for (const Json& condition : found["status"]["conditions"].items()) {
    if (condition["type"].AsString() != "galen.dev/DevicesHealthy") continue;
    return condition["status"].AsString() + " " + condition["reason"].AsString();
  }
  return "";
}

std::size_t FaultStage::HealthyOnNode() {
  const auto node = fleet_.session().Fetch(kube::Get(kube::kNodeDeviceHealths, "", "node-7"));
  if (!node.ok()) return 0;
  return static_cast<std::size_t>((*node)["status"]["summary"]["healthy"].AsInt());
}

void FaultStage::ExpectSays(const std::string& pod, const std::vector<std::string>& texts) {
  std::string line;
  EXPECT_TRUE(stage().Until(
      [&] {
        line = LineOf(pod);
        return HasAll(line, texts);
      },
      kPatience))
      << pod << " says: " << line << "\nwanted: " << ::testing::PrintToString(texts);
}

std::string FaultStage::Expect(const std::vector<std::string>& command,
                               const std::vector<std::string>& texts) {
  Outcome said;
  EXPECT_TRUE(stage().Until(
      [&] {
        said = Galen(command);
        return HasAll(said.output, texts);
      },
      kPatience))
      << said.output << said.error << "\nwanted: " << ::testing::PrintToString(texts);
  return said.output;
}

std::string FaultStage::ExpectWhy(const std::string& pod, const std::vector<std::string>& texts) {
  return Expect({"why", "default/" + pod}, texts);
}

std::string FaultStage::ExpectDoctor(const std::vector<std::string>& texts) {
  return Expect({"doctor", "--node", "node-7", "--kubelet-root", Path("kubelet"), "--state-dir",
                 Path("agent"), "--cdi-root", Path("cdi")},
                texts);
}

Json FaultStage::Why(const std::string& pod) {
  const Outcome said = Galen({"why", "default/" + pod, "-o", "json"});
  const StatusOr<Json> json = Json::Parse(said.output);
  return json.ok() ? *json : Json();
}

std::string FaultStage::SinceOf(const std::string& pod) {
  const Json why = Why(pod);
  return why["devices"][0]["since"].AsString();
}

void FaultStage::ExpectSince(const std::string& pod, const std::string& since) {
  const std::string now = SinceOf(pod);
  const StatusOr<WallTime> is = ParseRfc3339(now), was = ParseRfc3339(since);
  ASSERT_TRUE(is.ok() && was.ok()) << now << " and " << since;
  EXPECT_LT(std::chrono::abs(*is - *was), std::chrono::seconds(1)) << now << ", was " << since;
}

std::vector<std::string> FaultStage::Steps(const std::string& pod, const std::string& kind) {
  const Json why = Why(pod);
  std::vector<std::string> texts;
  for (const Json& step : why["steps"].items()) {
    if (step["kind"].AsString() == kind) texts.push_back(step["text"].AsString());
  }
  return texts;
}

void FaultStage::ExpectBystanderUntouched() {
  EXPECT_EQ(LineOf(kBystander), "gpu-0 Healthy");
  EXPECT_EQ(SinceOf(kBystander), bystander_since_);
  EXPECT_EQ(Steps(kBystander, "change"), bystander_changes_);
}

std::string FaultStage::LoseGpu(const std::string& socket) {
  const Outcome injected = Galen({"inject", "gpu-0", "xid=79", "--driver-socket",
                                  Path("kubelet/plugins/gpu.example.com/" + socket)});
  EXPECT_EQ(injected.exit_code, 0) << injected.error;
  // "gpu-0: xid=79 at 2026-11-21T23:38:25.065Z"
  const std::size_t at = injected.output.find(" at ");
  if (at == std::string::npos) return "";
  return injected.output.substr(at + 4, injected.output.find('\n', at) - at - 4);
}

void FaultStage::Let(Duration pass) {
  const Time end = stage().loop().Now() + pass;
  stage().Until([&] { return stage().loop().Now() >= end; }, pass + kPatience);
}

}  // namespace galen::e2e
