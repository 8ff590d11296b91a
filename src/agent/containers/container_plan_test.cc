#include "agent/containers/container_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/data/yaml.h"
#include "base/files/fake_file_system.h"

namespace galen::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using namespace std::chrono_literals;

const PlanPlace kPlace{.node = "node-1", .directory = "/s/pods", .path = "/bin"};

PodPlan PlanOfSpec(const std::string& spec) {
  const Json pod = ParseYaml(
                       "metadata: {name: job, namespace: train, uid: u-1, labels: {app: x}}\n"
                       "spec:\n" +
                       spec)
                       .value();
  return PlanOf(pod, kPlace).value();
}

// The plan of a Pod's only container.
ContainerPlan PlanContainer(const std::string& container) {
  return PlanOfSpec("  containers: [" + container + "]").containers.at(0);
}

TEST(ContainerPlan, TakesCommandAndArgumentsAndKnowsThePodsPolicies) {
  const PodPlan plan = PlanOfSpec(R"(
  restartPolicy: OnFailure
  terminationGracePeriodSeconds: 5
  initContainers:
  - {name: prepare, command: [sh, -c, "true"]}
  - {name: proxy, restartPolicy: Always, command: [proxy]}
  containers:
  - {name: main, image: x, command: [run], args: [--fast]}
)");
  EXPECT_EQ(plan.restart, RestartPolicy::kOnFailure);
  EXPECT_EQ(plan.grace, 5s);
  ASSERT_EQ(plan.containers.size(), 3u);
  EXPECT_EQ(plan.containers[0].kind, kube::Container::Kind::kInit);
  EXPECT_EQ(plan.containers[1].kind, kube::Container::Kind::kSidecar);
  EXPECT_THAT(plan.containers[2].command, ElementsAre("run", "--fast"));
  EXPECT_EQ(plan.containers[2].fault, "");
  EXPECT_EQ(plan.containers[2].working_directory, "/s/pods/train_job_u-1/main");
}

TEST(ContainerPlan, AGraceIsADayAtMost) {
  const auto grace = [](const std::string& seconds) {
    return PlanOfSpec("  terminationGracePeriodSeconds: " + seconds +
                      "\n  containers: [{name: a, command: [x]}]")
        .grace;
  };
  EXPECT_EQ(grace("9223372036854775807"), 24h) << "never, as some write it";
  EXPECT_EQ(grace("-5"), 0s);
}

TEST(ContainerPlan, APodOfALongNameHasADirectoryAllTheSame) {
  const PodRef ref{{"train", std::string(253, 'a')}, "9d3c7f0e-1b5c-4a53-8a1e-2f7d7e3f4b55"};
  EXPECT_EQ(DirectoryOfPod("/s", ref), "/s/" + ref.uid);
}

TEST(ContainerPlan, SaysWhyAContainerWithoutACommandCannotRun) {
  const ContainerPlan plan = PlanContainer("{name: a, image: example.com/train:1, args: [x]}");
  EXPECT_THAT(plan.fault, HasSubstr("no command: this node runs processes, not images"));
  EXPECT_THAT(plan.fault, HasSubstr("example.com/train:1"));
}

TEST(ContainerPlan, ResolvesFieldsOfThePod) {
  const ContainerPlan plan = PlanContainer(R"Y({name: a, command: [x], env: [
    {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}},
    {name: ME, valueFrom: {fieldRef: {fieldPath: metadata.name}}},
    {name: WHERE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}},
    {name: APP, valueFrom: {fieldRef: {fieldPath: "metadata.labels['app']"}}},
    {name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}},
    {name: BOTH, value: "$(ME)@$(NODE) $(OTHER) $$(ME)"}]})Y");
  EXPECT_EQ(plan.fault, "");
  EXPECT_EQ(plan.environment.at("NODE"), "node-1");
  EXPECT_EQ(plan.environment.at("WHERE"), "train");
  EXPECT_EQ(plan.environment.at("APP"), "x");
  EXPECT_EQ(plan.environment.at("IP"), "127.0.0.1");
  EXPECT_EQ(plan.environment.at("BOTH"), "job@node-1 $(OTHER) $(ME)");
  EXPECT_EQ(plan.environment.at("HOSTNAME"), "job");
  EXPECT_EQ(plan.environment.at("PATH"), "/bin");
}

TEST(ContainerPlan, NamesAVariableThatItCannotKnow) {
  EXPECT_THAT(PlanContainer("{name: a, command: [x], env: [{name: K, valueFrom: {secretKeyRef: "
                            "{name: s, key: k}}}]}")
                  .fault,
              HasSubstr("variable K comes from a secretKeyRef"));
  EXPECT_THAT(PlanContainer("{name: a, command: [x], env: [{name: K, valueFrom: {fieldRef: "
                            "{fieldPath: status.color}}}]}")
                  .fault,
              HasSubstr("status.color"));
  EXPECT_THAT(PlanContainer("{name: a, command: [x], envFrom: [{configMapRef: {name: c}}]}").fault,
              HasSubstr("configMapRef"));
  EXPECT_EQ(PlanContainer("{name: a, command: [x], env: [{name: K, valueFrom: {secretKeyRef: "
                          "{name: s, key: k, optional: true}}}]}")
                .fault,
            "");
}

TEST(ContainerPlan, AContainerCannotGiveItselfAnothersDirectory) {
  const ContainerPlan plan = PlanContainer(
      "{name: a, command: [x], env: [{name: GALEN_CONTAINER_DIRECTORY, value: /s/pods/b/c}]}");
  EXPECT_EQ(plan.environment.at("GALEN_CONTAINER_DIRECTORY"), plan.directory);
}

TEST(ContainerPlan, NamesThatAreNoFilesAreRefused) {
  const Json pod = ParseYaml("metadata: {name: job, namespace: train, uid: ../x}").value();
  EXPECT_EQ(PlanOf(pod, kPlace).status().code(), Code::kInvalidArgument);
}

TEST(ContainerPlan, ReadsQuantitiesOfBytes) {
  EXPECT_EQ(BytesOf("64Mi"), 64u << 20);
  EXPECT_EQ(BytesOf("1.5k"), 1500u);
  EXPECT_EQ(BytesOf("1e6"), 1000000u);
  EXPECT_EQ(BytesOf(Json(512)), 512u);
  EXPECT_EQ(BytesOf("1500m"), 2u) << "rounded up";
  EXPECT_EQ(BytesOf("much"), std::nullopt);
  EXPECT_EQ(BytesOf("5Qi"), std::nullopt);
  EXPECT_EQ(BytesOf("-1"), std::nullopt);
  EXPECT_EQ(BytesOf(Json()), std::nullopt);
}

class CdiEnvironmentTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(files_.MakeDirectories(path.substr(0, path.rfind('/')), 0755).ok());
    ASSERT_TRUE(files_.WriteAtomically(path, text, 0644).ok());
  }
  StatusOr<std::map<std::string, std::string>> Of(const std::vector<std::string>& devices) {
    return CdiEnvironment(files_, {"/etc/cdi", "/var/run/cdi"}, devices);
  }

  FakeFileSystem files_;
};

constexpr const char* kSpec = R"({"cdiVersion": "0.6.0", "kind": "gpu.example.com/claim",
  "containerEdits": {"env": ["DRIVER=example"]},
  "devices": [{"name": "a", "containerEdits": {"env": ["GPU=0", "PATHS=/a=b"]}},
              {"name": "b", "containerEdits": {"env": ["GPU=1"]}}]})";

TEST_F(CdiEnvironmentTest, HasTheEditsOfTheFileAndOfEachDevice) {
  Write("/var/run/cdi/gpu.json", kSpec);
  const auto variables = Of({"gpu.example.com/claim=a"});
  ASSERT_TRUE(variables.ok()) << ToString(variables.status());
  EXPECT_THAT(*variables,
              ElementsAre(Pair("DRIVER", "example"), Pair("GPU", "0"), Pair("PATHS", "/a=b")));
}

TEST_F(CdiEnvironmentTest, OfTwoDevicesTheLaterOneCounts) {
  Write("/var/run/cdi/gpu.json", kSpec);
  EXPECT_EQ(Of({"gpu.example.com/claim=a", "gpu.example.com/claim=b"})->at("GPU"), "1");
}

TEST_F(CdiEnvironmentTest, ReadsYamlAndTheLaterDirectoryWins) {
  Write("/etc/cdi/gpu.yaml",
        "kind: gpu.example.com/claim\ndevices:\n- name: a\n  containerEdits: {env: [GPU=old]}\n");
  EXPECT_EQ(Of({"gpu.example.com/claim=a"})->at("GPU"), "old");
  Write("/var/run/cdi/gpu.json", kSpec);
  EXPECT_EQ(Of({"gpu.example.com/claim=a"})->at("GPU"), "0");
}

TEST_F(CdiEnvironmentTest, NamesADeviceThatNoFileHas) {
  Write("/var/run/cdi/broken.json", "{");
  const auto variables = Of({"gpu.example.com/claim=a"});
  EXPECT_EQ(variables.status().code(), Code::kNotFound);
  EXPECT_THAT(variables.status().message(), HasSubstr("gpu.example.com/claim=a"));
  EXPECT_THAT(variables.status().message(), HasSubstr("/etc/cdi, /var/run/cdi"));
  EXPECT_TRUE(Of({}).ok()) << "without devices nothing is looked for";
}

}  // namespace
}  // namespace galen::agent
