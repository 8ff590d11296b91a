#include "agent/containers/container_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/data/yaml.h"

namespace galen::agent {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
  EXPECT_EQ(grace("9223372036854775807"), 24h) << "never, in the words of some";
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

}  // namespace
}  // namespace galen::agent
